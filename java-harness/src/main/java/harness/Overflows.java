package harness;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.function.IntUnaryOperator;

/**
 * Overflows of the stack at random depths, in random code, each one caught.
 *
 * <p>Arguments: the number of overflows (100), a seed (1), and {@code platform} or {@code virtual}, the kind of thread
 * that runs them. After each overflow, and now and then on the way back from it, the program calls {@code marker}. It
 * prints the depths of these calls, so that this part of the tree is known although the rest depends on the JVM.
 */
public final class Overflows {
    private static final Way[] WAYS = {
        Overflows::direct,
        depth -> wide(depth, 1, 2, 3, 4, 5, 6, 7, 8, 9),
        depth -> (int) floating(depth, 1.5, 2.5),
        Overflows::one,
        Overflows::cleansUp,
        Overflows::callsCleanUp,
        Overflows::rethrows,
        Overflows::replaces,
        Overflows::locked,
        Overflows::block,
        Overflows::applies,
        Overflows::task,
        Overflows::reflects,
        Overflows::triesAgain,
        Overflows::loops,
        depth -> new Derived(depth).hashCode(),
        depth -> new Chained(depth).hashCode(),
        depth -> new Made(depth).hashCode(),
        depth -> new Elements(depth).hashCode(),
    };
    private static final IntUnaryOperator APPLIES = Overflows::applies;
    private static final Method REFLECTS = reflected();

    private static int limit = 20;
    private static int cleanups;
    private static int[] depths = new int[64];
    private static int markers;

    private final Random random;
    private final int rounds;

    private Overflows(long seed, int rounds) {
        this.random = new Random(seed);
        this.rounds = rounds;
    }

    public static void main(String[] args) throws Exception {
        int rounds = args.length > 0 ? Integer.parseInt(args[0]) : 100;
        long seed = args.length > 1 ? Long.parseLong(args[1]) : 1;
        boolean virtual = args.length > 2 && args[2].equals("virtual");
        // All classes are loaded and linked before the first overflow.
        for (int i = 0; i < 20; i++) {
            for (Way way : WAYS) {
                way.descend(0);
            }
        }
        limit = Integer.MAX_VALUE;
        depths = new int[2 * rounds];
        Worker worker = new Worker(new Overflows(seed, rounds));
        Thread thread;
        if (virtual) {
            Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
            thread = (Thread) start.invoke(null, worker);
        } else {
            thread = new Thread(worker);
            thread.start();
        }
        thread.join();
        StringBuilder line = new StringBuilder();
        for (int i = 0; i < markers; i++) {
            line.append(depths[i]).append(' ');
        }
        System.out.println(line.toString().trim());
    }

    private static Method reflected() {
        try {
            return Overflows.class.getDeclaredMethod("reflects", int.class);
        } catch (NoSuchMethodException error) {
            throw new ExceptionInInitializerError(error);
        }
    }

    /** The first frame of its thread, at depth 0. */
    private static final class Worker implements Runnable {
        private final Overflows overflows;

        Worker(Overflows overflows) {
            this.overflows = overflows;
        }

        @Override
        public void run() {
            overflows.run();
        }
    }

    private void run() {
        for (int round = 0; round < rounds; round++) {
            Way way = WAYS[random.nextInt(WAYS.length)];
            int pads = random.nextInt(100);
            int shape = random.nextInt();
            int catchAt = random.nextInt(4) == 0 ? random.nextInt(pads + 1) : -1;
            try {
                pad(pads, 2, shape, catchAt, way);
            } catch (StackOverflowError | IllegalStateException error) {
                cleanups++;
            }
            marker(round);
            depths[markers++] = 2;
        }
    }

    private static void marker(int round) {
        if (round < 0) {
            throw new IllegalArgumentException("round");
        }
    }

    /** Frames of several sizes before the overflow, this one at {@code depth}. */
    private static int pad(int left, int depth, int shape, int catchAt, Way way) {
        if (left != catchAt) {
            return shaped(left, depth + 1, shape, catchAt, way);
        }
        try {
            return shaped(left, depth + 1, shape, catchAt, way);
        } catch (StackOverflowError | IllegalStateException error) {
            cleanups++;
        }
        marker(left);
        depths[markers++] = depth + 1;
        return 0;
    }

    private static int shaped(int left, int depth, int shape, int catchAt, Way way) {
        if (left == 0) {
            return way.descend(0);
        }
        return (shape >> (left & 31) & 1) == 0
                ? pad(left - 1, depth + 1, shape, catchAt, way)
                : large(left - 1, depth + 1, shape, catchAt, way) - 1;
    }

    private static int large(int left, int depth, int shape, int catchAt, Way way) {
        long a = left * 3L, b = a ^ shape, c = b + depth, d = c * a, e = d ^ b, f = e + c, g = f * 5, h = g ^ a;
        int result = pad(left, depth + 1, shape, catchAt, way);
        return result + (int) (a + b + c + d + e + f + g + h);
    }

    private static int direct(int depth) {
        return depth > limit ? 0 : direct(depth + 1) + 1;
    }

    private static int wide(int depth, long a, long b, long c, long d, long e, long f, long g, long h, long i) {
        return depth > limit ? 0 : wide(depth + 1, b, c, d, e, f, g, h, i, a) + (int) a;
    }

    private static double floating(int depth, double a, double b) {
        double c = a * b, d = a + b, e = c / d, f = c - d;
        return depth > limit ? 0 : floating(depth + 1, d, b) + c + d + e * f;
    }

    private static int one(int depth) {
        return depth > limit ? 0 : two(depth, depth, depth) + 1;
    }

    private static int two(int depth, long a, long b) {
        return three(depth, "text", a, b) + (int) (a ^ b);
    }

    private static int three(int depth, String text, long a, long b) {
        int length = text.length();
        return one(depth + length) + length;
    }

    private static int cleansUp(int depth) {
        try {
            return depth > limit ? 0 : cleansUp(depth + 1) + 1;
        } finally {
            cleanups++;
        }
    }

    private static int callsCleanUp(int depth) {
        try {
            return depth > limit ? 0 : callsCleanUp(depth + 1) + 1;
        } finally {
            cleanUp(depth, depth + 1);
        }
    }

    private static void cleanUp(int depth, long more) {
        cleanups += Math.max(depth, (int) more);
    }

    private static int rethrows(int depth) {
        try {
            return depth > limit ? 0 : rethrows(depth + 1) + 1;
        } catch (StackOverflowError error) {
            throw error;
        }
    }

    private static int replaces(int depth) {
        try {
            return depth > limit ? 0 : replaces(depth + 1) + 1;
        } catch (StackOverflowError error) {
            throw new IllegalStateException("overflow");
        }
    }

    private static synchronized int locked(int depth) {
        return depth > limit ? 0 : locked(depth + 1) + 1;
    }

    private static int block(int depth) {
        synchronized (WAYS) {
            return depth > limit ? 0 : block(depth + 1) + 1;
        }
    }

    private static int applies(int depth) {
        return depth > limit ? 0 : APPLIES.applyAsInt(depth + 1) + 1;
    }

    /** The JDK catches what its callee throws, with the stack still full. */
    private static int task(int depth) {
        if (depth > limit) {
            return 0;
        }
        FutureTask<Integer> task = new FutureTask<>(new Task(depth + 1));
        task.run();
        return 1;
    }

    private static final class Task implements Callable<Integer> {
        private final int depth;

        Task(int depth) {
            this.depth = depth;
        }

        @Override
        public Integer call() {
            return task(depth);
        }
    }

    private static int reflects(int depth) {
        try {
            return depth > limit ? 0 : (Integer) REFLECTS.invoke(null, depth + 1);
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }

    /** Some frames catch the overflow and call again. */
    private static int triesAgain(int depth) {
        if (depth > limit) {
            return 0;
        }
        if ((depth & 63) != 0) {
            return triesAgain(depth + 1) + 1;
        }
        try {
            return triesAgain(depth + 1) + 1;
        } catch (StackOverflowError error) {
            cleanUp(depth, 1);
            throw error;
        }
    }

    private static int loops(int depth) {
        int sum = 0;
        for (int i = 0; i < 50 + (depth & 31); i++) {
            sum += i ^ depth;
        }
        return depth > limit ? sum : loops(depth + 1) + sum;
    }

    /** A recursion. */
    private interface Way {
        int descend(int depth);
    }

    /** Its super constructor creates another one. */
    private static final class Derived extends Base {
        Derived(int depth) {
            super(depth);
        }
    }

    private static class Base {
        Base(int depth) {
            if (depth <= limit) {
                new Derived(depth + 1);
            }
        }
    }

    /** The constructor that it calls by {@code this(…)} creates another one. */
    private static final class Chained {
        Chained(int depth) {
            this(depth, depth);
        }

        Chained(int depth, long ignored) {
            if (depth <= limit) {
                new Chained(depth + 1);
            }
        }
    }

    private static final class Made {
        private final Made next;

        Made(int depth) {
            next = depth > limit ? null : new Made(depth + 1);
        }
    }

    /** A constructor of the JDK between every two recorded ones. */
    private static final class Elements extends ArrayList<Integer> {
        private static final long serialVersionUID = 1;

        Elements(int depth) {
            super(List.of(depth));
            if (depth <= limit) {
                add(new Elements(depth + 1).size());
            }
        }
    }
}
