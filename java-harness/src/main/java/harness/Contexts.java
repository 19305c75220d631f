package harness;

import dev.flow.Flow;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Two threads work for one order after the other, and hand a part of each to a pool. */
public final class Contexts {
    private static final ExecutorService POOL = Executors.newFixedThreadPool(2);

    private Contexts() {
    }

    static int step(int order) {
        return order;
    }

    static void fail(int order) {
        throw new IllegalStateException("order " + order);
    }

    static void work(int order) throws InterruptedException {
        Flow.context("order", String.valueOf(order));
        Flow.context("user", order % 2 == 0 ? "even" : "odd");
        step(order);
        CountDownLatch done = new CountDownLatch(1);
        POOL.execute(() -> {
            step(order);
            step(order);
            done.countDown();
        });
        done.await();
        if (order == 3) {
            try {
                fail(order);
            } catch (IllegalStateException expected) {
                step(order);
            }
        }
        Flow.context("order", null);
        step(-1);
    }

    private static void all(int from, int to) {
        try {
            for (int order = from; order < to; order++) {
                work(order);
            }
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread other = new Thread(() -> all(4, 8), "other");
        other.start();
        all(0, 4);
        other.join();
        POOL.shutdown();
    }
}
