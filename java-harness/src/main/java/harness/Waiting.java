package harness;

import java.util.concurrent.CountDownLatch;

/**
 * Daemon threads that have made some calls and wait when the JVM ends.
 *
 * <p>Arguments: the number of threads (1000). Tree of each {@code waiting-N}: {@code Waiting.run > step} ten times, and
 * {@code run} never ends. Prints {@code ready} and returns.
 */
public final class Waiting implements Runnable {
    private final CountDownLatch ready;

    private Waiting(CountDownLatch ready) {
        this.ready = ready;
    }

    public static void main(String[] args) throws InterruptedException {
        int count = args.length > 0 ? Integer.parseInt(args[0]) : 1000;
        CountDownLatch ready = new CountDownLatch(count);
        Runnable body = new Waiting(ready);
        for (int i = 0; i < count; i++) {
            Thread thread = new Thread(body, "waiting-".concat(Integer.toString(i)));
            thread.setDaemon(true);
            thread.start();
        }
        ready.await();
        System.out.println("ready");
    }

    @Override
    public void run() {
        for (int i = 0; i < 10; i++) {
            step(i);
        }
        ready.countDown();
        try {
            new CountDownLatch(1).await();
        } catch (InterruptedException unexpected) {
            throw new IllegalStateException(unexpected);
        }
    }

    private static int step(int number) {
        return number * 31;
    }
}
