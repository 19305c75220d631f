package harness;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Arrays;
import java.util.Random;
import java.util.zip.Deflater;

/**
 * A program that knows which share of its processor time each of its kinds of work takes.
 *
 * <p>The main thread does all kinds in turns of 2 to 10 milliseconds, for the number of seconds in the first argument, and
 * measures the time of each turn outside it. In the end it prints, for each kind, {@code share NAME NANOSECONDS}. Each
 * kind is a static method of this name: {@code counted} is a loop without a point at which the JVM can stop it, {@code
 * inlined} calls small methods, {@code deep} calls itself 500 times and works there, {@code packed} is in native code,
 * {@code allocated} makes garbage, {@code copied} is in code that the JVM generates to copy arrays, {@code rare} takes one
 * percent. Further arguments are other shares, in this order, in percent. In between, {@code waited} sleeps, which takes no
 * processor time: its line has the time that passed.
 */
public final class Shares {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final int FRAMES = 500;
    private static final byte[] INPUT = new byte[4096];
    private static final byte[] OUTPUT = new byte[8192];
    private static final byte[] COPY = new byte[16_384];
    private static final Deflater DEFLATER = new Deflater(6);

    /** Results go here, so that no work is optimised away. */
    private static volatile long result;

    private Shares() {}

    private enum Kind {
        COUNTED(24),
        INLINED(18),
        DEEP(14),
        PACKED(22),
        ALLOCATED(10),
        COPIED(11),
        RARE(1);

        private int share;
        /** How often the work is done in a nanosecond, about. */
        private double rate = 0.001;

        private long times;
        private long spentNs;

        Kind(int share) {
            this.share = share;
        }

        void run() {
            switch (this) {
                case COUNTED:
                    result += counted(times);
                    break;
                case INLINED:
                    result += inlined(times);
                    break;
                case DEEP:
                    result += deep(FRAMES, times);
                    break;
                case PACKED:
                    result += packed(times);
                    break;
                case ALLOCATED:
                    result += allocated(times);
                    break;
                case COPIED:
                    result += copied(times);
                    break;
                default:
                    result += rare(times);
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        double seconds = args.length > 0 ? Double.parseDouble(args[0]) : 2;
        for (int i = 1; i < args.length; i++) {
            Kind.values()[i - 1].share = Integer.parseInt(args[i]);
        }
        for (int i = 0; i < INPUT.length; i++) {
            INPUT[i] = (byte) (i * i >> 3);
        }
        turns(1, false);
        Arrays.stream(Kind.values()).forEach(kind -> kind.spentNs = 0);
        // What was sampled before is left out.
        System.out.println("measured");
        System.out.flush();
        long waitedNs = turns(seconds, true);
        for (Kind kind : Kind.values()) {
            System.out.println("share " + kind.name().toLowerCase() + " " + kind.spentNs);
        }
        System.out.println("share waited " + waitedNs);
    }

    private static long turns(double seconds, boolean waits) throws InterruptedException {
        long waitedNs = 0;
        Random random = new Random(7);
        long end = THREADS.getCurrentThreadCpuTime() + (long) (seconds * 1e9);
        for (int turn = 0; THREADS.getCurrentThreadCpuTime() < end; turn++) {
            // Turns of different lengths, because equal ones might be in step with the samples.
            double onePercentNs = 20_000 + random.nextInt(80_000);
            for (Kind kind : Kind.values()) {
                kind.times = Math.max(1, (long) (kind.rate * kind.share * onePercentNs));
                long start = THREADS.getCurrentThreadCpuTime();
                kind.run();
                long spentNs = THREADS.getCurrentThreadCpuTime() - start;
                kind.spentNs += spentNs;
                double rate = kind.times / (double) Math.max(spentNs, 1000);
                kind.rate += (Math.min(2 * kind.rate, rate) - kind.rate) / 8;
            }
            if (waits && turn % 4 == 0) {
                long start = System.nanoTime();
                waited();
                waitedNs += System.nanoTime() - start;
            }
        }
        return waitedNs;
    }

    private static void waited() throws InterruptedException {
        Thread.sleep(2);
    }

    private static long counted(long times) {
        int sum = 0;
        int count = (int) Math.min(times * 16, Integer.MAX_VALUE / 2);
        for (int i = 0; i < count; i++) {
            sum = sum * 31 + (sum >>> 7) + i;
        }
        return sum;
    }

    private static long inlined(long times) {
        long sum = 0;
        for (long i = 0; i < times; i++) {
            sum = first(sum, i) ^ second(sum);
        }
        return sum;
    }

    private static long first(long sum, long i) {
        return (sum + i) * 6364136223846793005L + third(i);
    }

    private static long second(long sum) {
        return sum >>> 13 | sum << 7;
    }

    private static long third(long i) {
        return i * 1442695040888963407L % 1000003;
    }

    private static long deep(int frames, long times) {
        if (frames > 0) {
            return deep(frames - 1, times) + 1;
        }
        long sum = 0;
        for (long i = 0; i < times; i++) {
            sum = sum * 31 + i % 7;
        }
        return sum;
    }

    private static long packed(long times) {
        long sum = 0;
        for (long i = 0; i < Math.max(1, times / 64); i++) {
            DEFLATER.reset();
            DEFLATER.setInput(INPUT);
            DEFLATER.finish();
            sum += DEFLATER.deflate(OUTPUT);
        }
        return sum;
    }

    private static long allocated(long times) {
        long sum = 0;
        for (long i = 0; i < Math.max(1, times / 16); i++) {
            Object[] garbage = new Object[16 + (int) (i & 63)];
            garbage[0] = new long[8];
            sum += garbage.length + garbage.hashCode();
        }
        return sum;
    }

    private static long copied(long times) {
        for (long i = 0; i < Math.max(1, times / 256); i++) {
            System.arraycopy(COPY, 0, COPY, 8 + (int) (i & 7), COPY.length - 16);
        }
        return COPY[COPY.length / 2];
    }

    private static long rare(long times) {
        long sum = 1;
        for (long i = 1; i < times; i++) {
            sum = Long.rotateLeft(sum, 5) ^ i / (sum | 1);
        }
        return sum;
    }
}
