package harness;

import java.io.PrintStream;

/**
 * Runs until it is killed, and prints how far it got.
 *
 * <p>Tree: {@code main > tick > tock}, endlessly. Once the line {@code n} has been printed, the calls of {@code
 * tick(0)} to {@code tick(n)} are complete and must be in the trace, however the process ends.
 */
public final class Kill {
    private static long sum;

    private Kill() {}

    public static void main(String[] args) {
        PrintStream out = System.out;
        for (long n = 0; ; n++) {
            tick(n);
            out.println(n);
            out.flush();
        }
    }

    private static void tick(long n) {
        tock(n);
    }

    private static void tock(long n) {
        sum += n;
    }
}
