package bench;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Arrays;

/**
 * The smallest possible methods, called as often as possible: the least that a recorded call can cost.
 *
 * <p>{@code Fib N ITERATIONS} prints the nanoseconds of CPU time a call, of this thread only, in the median iteration.
 * This number contains neither the start of the JVM nor the work of its compilers; measurements of the whole process
 * do.
 */
public final class Fib {
    private Fib() {}

    public static void main(String[] args) {
        int n = Integer.parseInt(args[0]);
        int iterations = Integer.parseInt(args[1]);
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        // 5 % of an iteration, by whose end the method is compiled.
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
