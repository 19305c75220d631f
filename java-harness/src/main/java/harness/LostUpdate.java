package harness;

import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;

/**
 * Two threads, {@code first} and {@code second}, which count up {@code taken}: both read it before one of them writes it, so
 * one of the updates is lost.
 *
 * <p>Tree of each: {@code LostUpdate.run > count > read, meet, write}. Prints {@code taken=1}.
 */
public final class LostUpdate implements Runnable {
    private static final CyclicBarrier BOTH_HAVE_READ = new CyclicBarrier(2);
    private static volatile int taken;

    public static void main(String[] args) throws InterruptedException {
        Thread[] threads = {new Thread(new LostUpdate(), "first"), new Thread(new LostUpdate(), "second")};
        for (Thread thread : threads) {
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("taken=" + taken);
    }

    @Override
    public void run() {
        count();
    }

    private static void count() {
        int before = read();
        meet();
        write(before + 1);
    }

    private static int read() {
        return taken;
    }

    private static void meet() {
        try {
            BOTH_HAVE_READ.await();
        } catch (InterruptedException | BrokenBarrierException unexpected) {
            throw new IllegalStateException(unexpected);
        }
    }

    private static void write(int number) {
        taken = number;
    }
}
