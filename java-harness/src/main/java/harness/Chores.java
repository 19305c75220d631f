package harness;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.locks.LockSupport;

/**
 * A program that knows for how long each of its chores ran, whatever samples show.
 *
 * <p>Each of the threads in the second argument does all chores in rounds, until it has used the seconds of processor time in the
 * first argument. It reads its own clock around each chore. In the end the program prints, for each chore, {@code cpu NAME
 * NANOSECONDS}. Each chore is a static method of this name: {@code hum} and {@code dash} are loops without calls, {@code chatter}
 * calls an empty method often, {@code sink} works 200 frames deeper, {@code toggle} runs and waits in turns that are shorter than
 * the time between two samples may be, {@code doze} calls a short method and then sleeps.
 */
public final class Chores {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final String[] NAMES = {"hum", "dash", "chatter", "sink", "toggle", "doze"};
    private static final int FRAMES = 200;

    /** Results go here, so that no work is optimised away. */
    private static volatile long result;

    private Chores() {}

    public static void main(String[] args) throws InterruptedException {
        double seconds = args.length > 0 ? Double.parseDouble(args[0]) : 2;
        Thread[] threads = new Thread[args.length > 1 ? Integer.parseInt(args[1]) : 1];
        long[][] spent = new long[threads.length][NAMES.length];
        for (int i = 0; i < threads.length; i++) {
            long[] ofThread = spent[i];
            threads[i] = new Thread(() -> work(seconds, ofThread), "chores-" + i);
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        for (int i = 0; i < NAMES.length; i++) {
            long all = 0;
            for (long[] ofThread : spent) {
                all += ofThread[i];
            }
            System.out.println("cpu " + NAMES[i] + " " + all);
        }
    }

    private static void work(double seconds, long[] spent) {
        long last = THREADS.getCurrentThreadCpuTime();
        long end = last + (long) (seconds * 1e9);
        while (last < end) {
            for (int i = 0; i < NAMES.length; i++) {
                result += chore(i);
                long now = THREADS.getCurrentThreadCpuTime();
                spent[i] += now - last;
                last = now;
            }
        }
    }

    private static long chore(int number) {
        switch (number) {
            case 0:
                return hum(1_400_000);
            case 1:
                return dash(450_000);
            case 2:
                return chatter(2_000);
            case 3:
                return sink(FRAMES, 300_000);
            case 4:
                return toggle(6);
            default:
                return doze();
        }
    }

    private static long hum(int times) {
        return spin(times);
    }

    private static long dash(int times) {
        long sum = 1;
        for (int i = 0; i < times; i++) {
            sum = Long.rotateLeft(sum, 5) ^ i * 31L;
        }
        return sum;
    }

    private static long chatter(int times) {
        for (int i = 0; i < times; i++) {
            empty();
        }
        return times;
    }

    private static void empty() {}

    private static long sink(int frames, int times) {
        return frames > 0 ? sink(frames - 1, times) + 1 : spin(times);
    }

    private static long toggle(int times) {
        long sum = 0;
        for (int i = 0; i < times; i++) {
            sum += brief(60_000);
            LockSupport.parkNanos(100_000L << i);
        }
        return sum;
    }

    private static long brief(int times) {
        return spin(times);
    }

    private static long doze() {
        empty();
        LockSupport.parkNanos(3_000_000);
        return 0;
    }

    private static long spin(int times) {
        long sum = 0;
        for (int i = 0; i < times; i++) {
            sum = sum * 31 + (sum >>> 7) + i;
        }
        return sum;
    }
}
