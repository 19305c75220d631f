package harness;

import java.util.concurrent.CountDownLatch;

/**
 * Hangs for ever: two threads wait for each other's monitor, and a third one sleeps. Each makes a thousand calls before, so
 * that its last calls are some of many.
 */
public final class Deadlocked {
    private static final CountDownLatch BOTH = new CountDownLatch(2);

    private Deadlocked() {}

    public static void main(String[] args) {
        Object first = new Object();
        Object second = new Object();
        new Thread(() -> both(first, second), "first").start();
        new Thread(() -> both(second, first), "second").start();
        new Thread(Deadlocked::sleeps, "sleeper").start();
    }

    private static void both(Object mine, Object other) {
        synchronized (mine) {
            works();
            BOTH.countDown();
            await();
            synchronized (other) {
                throw new AssertionError("the other thread has it");
            }
        }
    }

    private static void await() {
        try {
            BOTH.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static void sleeps() {
        works();
        try {
            Thread.sleep(Long.MAX_VALUE);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static void works() {
        for (int round = 0; round < 1_000; round++) {
            work(round);
        }
    }

    private static int work(int round) {
        return round + 1;
    }
}
