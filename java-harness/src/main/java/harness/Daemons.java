package harness;

import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Daemon threads that are still calling methods when the JVM ends.
 *
 * <p>Tree of each of {@code daemon-0}, {@code daemon-1}, {@code daemon-2}: {@code loop}, which never ends, and under it
 * at least 1000 {@code spin}. Tree of {@code main}: {@code main > start} three times, {@code await} three times.
 */
public final class Daemons {
    private static final int THREADS = 3;
    private static final int CALLS = 1000;
    private static final AtomicLongArray COUNTS = new AtomicLongArray(THREADS);

    private Daemons() {}

    public static void main(String[] args) {
        for (int i = 0; i < THREADS; i++) {
            start(i);
        }
        for (int i = 0; i < THREADS; i++) {
            await(i);
        }
        System.out.println("main done");
    }

    private static void start(int number) {
        Thread thread = new Thread(() -> loop(number), "daemon-" + number);
        thread.setDaemon(true);
        thread.start();
    }

    private static void await(int number) {
        while (COUNTS.get(number) < CALLS) {
            Thread.yield();
        }
    }

    private static void loop(int number) {
        while (true) {
            spin(number);
        }
    }

    private static void spin(int number) {
        COUNTS.incrementAndGet(number);
    }
}
