package harness;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Method;
import java.util.concurrent.locks.LockSupport;

/**
 * Virtual threads that work and sleep in turns, and the processor time that this took.
 *
 * <p>Arguments: the number of threads, how often each of them works and then sleeps, for how many microseconds it works (roughly:
 * on a usual machine, once compiled), and for how many it sleeps. Tree of each thread: {@code turns > work, nap, work, nap, …}.
 * Prints {@code cpu NANOSECONDS}: what the whole process used meanwhile, which is an upper limit for these threads.
 * If the JDK has no virtual threads, the program prints that and exits with 0.
 */
public final class VirtualChores {
    /** Results go here, so that no work is optimised away. */
    private static volatile long result;

    private VirtualChores() {}

    public static void main(String[] args) throws Exception {
        Thread[] threads = new Thread[Integer.parseInt(args[0])];
        int times = Integer.parseInt(args[1]);
        int workMicros = Integer.parseInt(args[2]);
        int napMicros = Integer.parseInt(args[3]);
        Method start;
        try {
            start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        } catch (NoSuchMethodException missing) {
            System.out.println("no virtual threads");
            return;
        }
        OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        long before = system.getProcessCpuTime();
        for (int i = 0; i < threads.length; i++) {
            threads[i] = (Thread) start.invoke(null, (Runnable) () -> turns(times, workMicros, napMicros));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("cpu " + (system.getProcessCpuTime() - before));
    }

    private static void turns(int times, int workMicros, int napMicros) {
        for (int i = 0; i < times; i++) {
            work(workMicros);
            nap(napMicros);
        }
    }

    private static void work(int micros) {
        long sum = 0;
        for (long i = 0; i < micros * 700L; i++) {
            sum = sum * 31 + (sum >>> 7) + i;
        }
        result += sum;
    }

    private static void nap(int micros) {
        LockSupport.parkNanos(micros * 1000L);
    }
}
