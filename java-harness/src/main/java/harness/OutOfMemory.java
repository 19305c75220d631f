package harness;

import java.util.ArrayList;
import java.util.List;

/**
 * Fills the heap until an {@code OutOfMemoryError}, catches it and continues. Run it with {@code -Xmx32m}.
 *
 * <p>Tree: {@code <clinit>}; {@code main > exhaust > fill > allocate}, as often as fits, of which the last {@code
 * allocate} and the {@code fill} are left by the error; then {@code main > recover > step} 100 times.
 */
public final class OutOfMemory {
    private static final int CHUNK_BYTES = 1 << 20;
    private static final int STEPS = 100;

    /**
     * Fills the heap, and is cleared explicitly: under an agent that requests method events, a JDK 25 kept the local
     * variables of the frame that the error had left reachable for some time, so that the next allocation failed.
     */
    private static final List<byte[]> CHUNKS = new ArrayList<>();

    private OutOfMemory() {}

    public static void main(String[] args) {
        boolean exhausted = exhaust();
        recover();
        System.out.println(exhausted ? "survived" : "never exhausted");
    }

    private static boolean exhaust() {
        try {
            fill();
            return false;
        } catch (OutOfMemoryError error) {
            CHUNKS.clear();
            return true;
        }
    }

    private static void fill() {
        while (true) {
            CHUNKS.add(allocate());
        }
    }

    private static byte[] allocate() {
        return new byte[CHUNK_BYTES];
    }

    private static void recover() {
        for (int i = 0; i < STEPS; i++) {
            step(i);
        }
    }

    private static int step(int number) {
        return number * 31;
    }
}
