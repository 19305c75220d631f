package harness;

/**
 * Calls of native methods of the JDK, a known number of times.
 *
 * <p>Tree: {@code main > callNatives > once} ten times. Each {@code once} calls {@code System.nanoTime},
 * {@code System.arraycopy}, {@code Object.hashCode}, {@code Thread.currentThread} and {@code String.intern} once: ten calls
 * of each, which only a recording of natives shows.
 */
public final class Natives {
    private static final int CALLS = 10;

    private Natives() {}

    public static void main(String[] args) {
        System.out.println(callNatives() > 0 ? "done" : "failed");
    }

    private static int callNatives() {
        int[] from = {1, 2, 3};
        int[] to = new int[from.length];
        int done = 0;
        for (int i = 0; i < CALLS; i++) {
            done += once(from, to);
        }
        return done;
    }

    private static int once(int[] from, int[] to) {
        long time = System.nanoTime();
        System.arraycopy(from, 0, to, 0, from.length);
        int hash = new Object().hashCode();
        Thread thread = Thread.currentThread();
        String text = "text".intern();
        return time == hash && thread == null && text == null ? 0 : to[2];
    }
}
