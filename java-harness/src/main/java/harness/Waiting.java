package harness;

/**
 * A thread that works and waits by turns, and ends.
 *
 * <p>Tree of {@code worker}: ten times {@code turn > (work > step…, pause)}. {@code pause} sleeps for 50 ms.
 */
public final class Waiting {
    private static volatile int result;

    private Waiting() {}

    public static void main(String[] args) throws InterruptedException {
        Thread worker = new Thread(Waiting::worker, "worker");
        worker.start();
        worker.join();
    }

    private static void worker() {
        for (int number = 0; number < 10; number++) {
            turn();
        }
    }

    private static void turn() {
        work();
        try {
            pause();
        } catch (InterruptedException never) {
            throw new IllegalStateException(never);
        }
    }

    private static void work() {
        int sum = result;
        long start = System.nanoTime();
        while (System.nanoTime() - start < 20_000_000) {
            sum = step(sum);
        }
        result = sum;
    }

    private static int step(int sum) {
        for (int number = 0; number < 1_000; number++) {
            sum = sum * 31 + number;
        }
        return sum;
    }

    private static void pause() throws InterruptedException {
        Thread.sleep(50);
    }
}
