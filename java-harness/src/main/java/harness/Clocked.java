package harness;

/**
 * Calls of known duration, which the program also measures.
 *
 * <p>Tree of {@code main}: {@code sleep}, {@code spin > step…}, {@code wait1 > sleep}, {@code fail} ten deep, left by
 * an exception, {@code sleep}. Prints the name of each call except {@code fail}, and its duration in nanoseconds as
 * measured inside and outside of it: the true duration is between these.
 */
public final class Clocked {
    private static final long MILLISECOND = 1_000_000;

    private static long inside;

    private Clocked() {}

    public static void main(String[] args) throws InterruptedException {
        long start = System.nanoTime();
        sleep(300);
        System.out.println("sleep " + inside + " " + (System.nanoTime() - start));
        start = System.nanoTime();
        spin(200);
        System.out.println("spin " + inside + " " + (System.nanoTime() - start));
        start = System.nanoTime();
        wait1(250);
        System.out.println("wait1 " + inside + " " + (System.nanoTime() - start));
        try {
            fail(10);
        } catch (IllegalStateException expected) {
            start = System.nanoTime();
        }
        sleep(100);
        System.out.println("sleep " + inside + " " + (System.nanoTime() - start));
    }

    private static void sleep(long milliseconds) throws InterruptedException {
        long start = System.nanoTime();
        Thread.sleep(milliseconds);
        inside = System.nanoTime() - start;
    }

    /** Spins without a call. */
    private static void wait1(long milliseconds) throws InterruptedException {
        long start = System.nanoTime();
        while (System.nanoTime() - start < milliseconds * MILLISECOND / 2) {
            Thread.onSpinWait();
        }
        sleep(milliseconds / 2);
        inside = System.nanoTime() - start;
    }

    /** Spins with as many calls as fit. */
    private static void spin(long milliseconds) {
        long start = System.nanoTime();
        int sum = 0;
        while (System.nanoTime() - start < milliseconds * MILLISECOND) {
            sum += step(sum);
        }
        inside = System.nanoTime() - start;
    }

    private static int step(int number) {
        return (int) (number * 31L + System.nanoTime() % 7);
    }

    private static void fail(int depth) {
        if (depth == 0) {
            throw new IllegalStateException("expected");
        }
        fail(depth - 1);
    }
}
