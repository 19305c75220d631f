package harness;

/**
 * Threads that end by an uncaught exception: first another one, then the main thread. Exit code 1.
 *
 * <p>Tree of {@code doomed}: {@code fail}. Tree of {@code main}: {@code main > startDoomed, first > second > third}.
 */
public final class Uncaught {
    private Uncaught() {}

    public static void main(String[] args) throws InterruptedException {
        startDoomed();
        first();
    }

    private static void startDoomed() throws InterruptedException {
        Thread thread = new Thread(Uncaught::fail, "doomed");
        thread.start();
        thread.join();
    }

    private static void fail() {
        throw new IllegalStateException("doomed");
    }

    private static void first() {
        second();
    }

    private static void second() {
        third();
    }

    private static void third() {
        throw new IllegalStateException("uncaught in main");
    }
}
