package harness;

/**
 * Threads that call at a given rate for a given time.
 *
 * <p>Arguments: the number of threads (2), calls per second on each (5,000,000), seconds (2). Tree of each {@code
 * busy-N}: {@code Busy.run > batch > call > leaf}; each {@code batch} has 500 {@code call} of one {@code leaf} each.
 * Prints the number of calls of all threads, without {@code main} and the constructors, and their duration in
 * milliseconds.
 */
public final class Busy implements Runnable {
    private static final int CALLS = 500;
    private static final int CALLS_OF_BATCH = 1 + 2 * CALLS;
    private static final long SECOND_NS = 1_000_000_000L;

    private final long batches;
    private final long rate;
    private long sum;

    private Busy(long batches, long rate) {
        this.batches = batches;
        this.rate = rate;
    }

    public static void main(String[] args) throws InterruptedException {
        int count = args.length > 0 ? Integer.parseInt(args[0]) : 2;
        long rate = args.length > 1 ? Long.parseLong(args[1]) : 5_000_000;
        long seconds = args.length > 2 ? Long.parseLong(args[2]) : 2;
        long batches = rate * seconds / CALLS_OF_BATCH;
        long begun = System.nanoTime();
        Thread[] threads = new Thread[count];
        for (int i = 0; i < count; i++) {
            threads[i] = new Thread(new Busy(batches, rate), "busy-".concat(Integer.toString(i)));
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("calls " + count * (1 + batches * CALLS_OF_BATCH));
        System.out.println("ms " + (System.nanoTime() - begun) / 1_000_000);
    }

    @Override
    public void run() {
        long begun = System.nanoTime();
        for (long i = 0; i < batches; i++) {
            batch();
            // Spins: a sleep takes longer than a batch.
            while ((System.nanoTime() - begun) * (rate / 1000) < i * CALLS_OF_BATCH * (SECOND_NS / 1000)) {
                Thread.onSpinWait();
            }
        }
    }

    private void batch() {
        for (int i = 0; i < CALLS; i++) {
            call(i);
        }
    }

    private void call(int number) {
        sum += leaf(number);
    }

    private static long leaf(int number) {
        return number * 31L;
    }
}
