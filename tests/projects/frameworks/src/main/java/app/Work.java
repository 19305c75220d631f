package app;

/** Each test calls `step` a number of times that only it has. */
public class Work {
    public static void steps(int n) {
        for (int i = 0; i < n; i++) {
            step(i);
        }
    }

    /** Takes long enough for parallel tests to run at the same time. */
    public static void slow(int n) throws InterruptedException {
        for (int i = 0; i < n; i++) {
            step(i);
            Thread.sleep(1);
        }
    }

    public static void inThread(int n) throws InterruptedException {
        Thread thread = new Thread(() -> steps(n));
        thread.start();
        thread.join();
    }

    private static int step(int i) {
        return i + 1;
    }
}
