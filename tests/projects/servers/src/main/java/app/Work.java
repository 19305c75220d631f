package app;

import java.util.concurrent.CountDownLatch;
import java.util.function.Consumer;

/** What requests do. */
final class Work {
    /** How many requests each program makes. */
    static final int REQUESTS = 40;

    private static final CountDownLatch ENDED = new CountDownLatch(REQUESTS);

    private Work() {}

    /** Makes all requests at once, and ends the program when {@link #lastStep} was called for each. */
    static void make(Consumer<String> request) throws InterruptedException {
        for (int id = 0; id < REQUESTS; id++) {
            request.accept(Integer.toString(id));
        }
        ENDED.await();
        System.exit(0);
    }

    /** A request does this. */
    static void step(String id, String what) {}

    /** A request does this, and has ended. */
    static void lastStep(String id, String what) {
        step(id, what);
        ENDED.countDown();
    }

    /** A request does this. Returns its id. */
    static String stepOf(String id, String what) {
        step(id, what);
        return id;
    }
}
