package bench;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Arrays;

/**
 * The smallest methods there are, called as often as a program can: what one recorded call costs at the least.
 *
 * <p>{@code Fib N ITERATIONS} prints the nanoseconds of CPU time a call, of this thread only, in the iteration of the
 * median. The start of the JVM and the work of the compilers are not in that number; they are in the figures taken
 * from outside.
 */
public final class Fib {
    private Fib() {}

    public static void main(String[] args) {
        int n = Integer.parseInt(args[0]);
        int iterations = Integer.parseInt(args[1]);
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        // A twentieth of an iteration: by its end the method is compiled.
        fib(n - 6);
        double[] nsPerCall = new double[iterations];
        for (int i = 0; i < iterations; i++) {
            long startNs = threads.getCurrentThreadCpuTime();
            int result = fib(n);
            long elapsedNs = threads.getCurrentThreadCpuTime() - startNs;
            // fib(n) is also the number of calls that return 1, and there are fib(n) - 1 others that add.
            nsPerCall[i] = elapsedNs / (2.0 * result - 1);
        }
        Arrays.sort(nsPerCall);
        System.out.println(nsPerCall[iterations / 2]);
    }

    private static int fib(int n) {
        return n < 2 ? 1 : fib(n - 1) + fib(n - 2);
    }
}
