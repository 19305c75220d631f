package harness;

/**
 * Runs a thread whose id is larger than that of {@code main} by a given number.
 *
 * <p>Arguments: the number (1000), a power of two. Tree of {@code main}: {@code main > before, find, after}; of the other thread:
 * {@code Neighbour.run > intrude > step} a thousand times. Prints {@code done} and the number.
 */
public final class Neighbour implements Runnable {
    private static final int CALLS = 1000;
    private static volatile int sum;

    private Neighbour() {}

    public static void main(String[] args) throws InterruptedException {
        long own = Thread.currentThread().getId();
        long distance = args.length > 0 ? Long.parseLong(args[0]) : 1000;
        before();
        Thread neighbour = find(own + distance);
        neighbour.start();
        neighbour.join();
        after();
        System.out.println("done " + (neighbour.getId() - own));
    }

    private static void before() {
        sum++;
    }

    private static void after() {
        sum++;
    }

    /** Threads get consecutive ids, even if they are never started. */
    private static Thread find(long id) {
        Runnable body = new Neighbour();
        Thread thread = new Thread(body);
        while (thread.getId() < id) {
            thread = new Thread(body);
        }
        return thread;
    }

    @Override
    public void run() {
        for (int i = 0; i < CALLS; i++) {
            intrude(i);
        }
    }

    private static void intrude(int number) {
        step(number);
    }

    private static void step(int number) {
        sum += number;
    }
}
