package harness;

/**
 * A thread that works and waits by turns, and ends.
 *
 * <p>Tree of {@code worker}: ten times {@code turn > (work > step…, spin, pause)}, every second time with {@code spin} first,
 * because on a busy machine what comes right after a pause gets most of the processor. {@code work} and {@code spin} last
 * 20 ms each, {@code pause} 50 ms. With an argument: five times {@code spin}.
 */
public final class Turns {
    private static volatile int result;

    private Turns() {}

    public static void main(String[] args) throws InterruptedException {
        Thread worker = new Thread(args.length == 0 ? Turns::worker : Turns::spinner, "worker");
        worker.start();
        worker.join();
    }

    private static void worker() {
        for (int number = 0; number < 10; number++) {
            turn(number % 2 == 1);
        }
    }

    private static void spinner() {
        for (int number = 0; number < 5; number++) {
            spin();
        }
    }

    private static void turn(boolean spinsFirst) {
        if (spinsFirst) {
            spin();
            work();
        } else {
            work();
            spin();
        }
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

    /** Makes no calls that are recorded. */
    private static void spin() {
        long start = System.nanoTime();
        while (System.nanoTime() - start < 20_000_000) {
            result++;
        }
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
