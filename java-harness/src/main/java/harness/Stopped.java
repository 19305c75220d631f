package harness;

/**
 * A thread is stopped many times, catches that, and continues. Then nobody stops it any more: it calls for a while, and at last
 * {@code late}, ten times, two frames below the first one. Up to JDK 19. Argument: how often it is stopped.
 */
public final class Stopped extends Thread {
    private static volatile boolean isOn = true;
    private static volatile boolean isReady;
    private static volatile int stops;
    private static volatile int sink;

    private Stopped() {
        super("victim");
    }

    @Override
    public void run() {
        while (isOn) {
            work();
        }
        calm();
    }

    private static void work() {
        try {
            isReady = true;
            while (true) {
                sink += top(sink);
            }
        } catch (ThreadDeath death) {
            stops++;
        }
    }

    private static int top(int x) {
        try {
            return middle(x) + middle(x + 1);
        } finally {
            sink += x;
        }
    }

    private static int middle(int x) {
        int sum = 0;
        for (int i = 0; i < 3; i++) {
            sum += bottom(x + i);
        }
        return sum;
    }

    private static int bottom(int x) {
        return x + sink;
    }

    private static void calm() {
        // A stop also interrupts.
        interrupted();
        for (int round = 0; round < 200; round++) {
            for (int i = 0; i < 300; i++) {
                sink += top(i);
            }
            try {
                Thread.sleep(5);
            } catch (InterruptedException e) {
                return;
            }
        }
        for (int i = 0; i < 10; i++) {
            late();
        }
    }

    private static void late() {
        sink += Integer.bitCount(sink);
    }

    @SuppressWarnings({"deprecation", "removal"})
    public static void main(String[] args) throws InterruptedException {
        int wanted = Integer.parseInt(args[0]);
        Stopped victim = new Stopped();
        victim.start();
        while (!isReady) {
            Thread.onSpinWait();
        }
        for (int i = 1; i <= wanted; i++) {
            int before = stops;
            isReady = false;
            isOn = i < wanted;
            victim.stop();
            while (stops == before || isOn && !isReady) {
                Thread.onSpinWait();
            }
            for (int k = 0; k < i % 50 * 200; k++) {
                Thread.onSpinWait();
            }
        }
        victim.join();
        System.out.println("stopped " + stops + " times");
    }
}
