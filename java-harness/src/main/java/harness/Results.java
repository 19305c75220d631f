package harness;

/**
 * Returns many large objects that become garbage at once: 100 MB in all, so with a heap of 32 MB the program fails if
 * anything keeps the results of methods reachable.
 *
 * <p>Tree: {@code main} calls {@code make} 100,000 times.
 */
public final class Results {
    private Results() {
    }

    public static void main(String[] args) {
        long bytes = 0;
        for (int i = 0; i < 100_000; i++) {
            bytes += make(1000).length;
        }
        System.out.println("made " + bytes);
    }

    private static byte[] make(int length) {
        return new byte[length];
    }
}
