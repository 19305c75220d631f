package harness;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.invoke.MutableCallSite;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.zip.CRC32;

/**
 * Everything that makes stacks hard to walk, at the same time, a thread for each kind: classes that come and go, exceptions
 * out of deep stacks, compiled code that becomes invalid, garbage, virtual threads, code of the JVM that copies arrays and
 * selects methods, signals.
 *
 * <p>Arguments: seconds (5), then the kinds (all). Prints {@code storm KIND TIMES} for each kind.
 */
public final class Storms {
    private static final int DEPTH = 300;
    private static final int ROUNDS = 2000;
    private static final MutableCallSite SITE = new MutableCallSite(MethodType.methodType(long.class, long.class));
    private static final MethodHandle INVOKER = SITE.dynamicInvoker();

    /** Results go here, so that no work is optimised away. */
    private static volatile long result;

    private static volatile Object garbage;

    private Storms() {}

    /** A kind of work, which is done again and again. */
    private interface Storm {
        void blow(int round) throws Exception;
    }

    /** A method that calls select among many. */
    private interface Step {
        long step(long value);
    }

    private enum Kind {
        CLASSES(Storms::classes),
        EXCEPTIONS(round -> exceptions()),
        INVALID(Storms::invalid),
        GARBAGE(round -> garbage()),
        VIRTUAL(round -> virtual()),
        COPIES(Storms::copies),
        TABLES(round -> tables()),
        SIGNALS(round -> signals());

        private final Storm storm;

        Kind(Storm storm) {
            this.storm = storm;
        }
    }

    public static void main(String[] args) throws Exception {
        long seconds = args.length > 0 ? Long.parseLong(args[0]) : 5;
        long end = System.nanoTime() + seconds * 1_000_000_000L;
        List<Kind> kinds = new ArrayList<>();
        for (String kind : Arrays.asList(args).subList(Math.min(1, args.length), args.length)) {
            kinds.add(Kind.valueOf(kind.toUpperCase()));
        }
        List<Thread> threads = new ArrayList<>();
        for (Kind kind : kinds.isEmpty() ? Arrays.asList(Kind.values()) : kinds) {
            Thread thread = new Thread(() -> run(kind, end), kind.name().toLowerCase());
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    private static void run(Kind kind, long end) {
        int round = 0;
        try {
            for (; System.nanoTime() < end; round++) {
                kind.storm.blow(round);
            }
        } catch (Exception failed) {
            throw new IllegalStateException(kind.name(), failed);
        }
        synchronized (System.out) {
            System.out.println("storm " + kind.name().toLowerCase() + " " + round);
        }
    }

    private static void classes(int round) throws Exception {
        byte[] template = Templates.read("Template0000");
        for (int number = 0; number < 20; number++) {
            int name = (round * 20 + number) % 10_000;
            Templates.Loader loader = new Templates.Loader();
            Runnable object = (Runnable) loader.instantiate(Templates.numbered(template, name));
            for (int i = 0; i < 200; i++) {
                object.run();
            }
        }
        if (round % 20 == 0) {
            System.gc();
        }
    }

    private static void exceptions() {
        for (int i = 0; i < 50; i++) {
            try {
                result += fails(DEPTH, i);
            } catch (IllegalArgumentException expected) {
                result += expected.getMessage().length();
            }
        }
        try {
            result += overflows(1);
        } catch (StackOverflowError expected) {
            result++;
        }
    }

    private static long fails(int depth, int i) {
        if (depth == 0) {
            throw new IllegalArgumentException("at " + i);
        }
        try {
            return fails(depth - 1, i) + 1;
        } finally {
            result += depth;
        }
    }

    private static long overflows(long depth) {
        return overflows(depth + 1) + depth;
    }

    /** The compiler relies on the target, so that each change makes its code invalid. */
    private static void invalid(int round) throws Exception {
        MethodHandles.Lookup lookup = MethodHandles.lookup();
        MethodType type = MethodType.methodType(long.class, long.class);
        SITE.setTarget(lookup.findStatic(Storms.class, round % 2 == 0 ? "even" : "odd", type));
        long sum = 0;
        for (int i = 0; i < 20 * ROUNDS; i++) {
            sum += through(i);
        }
        result += sum;
    }

    private static long through(long value) throws Exception {
        try {
            return (long) INVOKER.invokeExact(value);
        } catch (Error | RuntimeException failed) {
            throw failed;
        } catch (Throwable impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    private static long even(long value) {
        return value * 31 + 2;
    }

    private static long odd(long value) {
        return value * 33 + 1;
    }

    private static void garbage() {
        garbage = null;
        List<Object> kept = new ArrayList<>();
        for (int i = 0; i < ROUNDS; i++) {
            Object[] more = new Object[16 + (i & 255)];
            more[0] = garbage;
            kept.add(more);
            if (i % 100 == 0) {
                garbage = null;
            } else if (i % 7 == 0) {
                garbage = more;
            }
        }
        garbage = kept;
    }

    private static void virtual() throws Exception {
        Method start;
        try {
            start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        } catch (NoSuchMethodException missing) {
            Thread.sleep(100);
            return;
        }
        List<Thread> threads = new ArrayList<>();
        for (int number = 0; number < 50; number++) {
            threads.add((Thread) start.invoke(null, (Runnable) Storms::yields));
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    private static void yields() {
        for (int i = 0; i < 10; i++) {
            result += deep(i * 10);
            Thread.yield();
        }
        try {
            Thread.sleep(1);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private static long deep(int depth) {
        return depth == 0 ? result : deep(depth - 1) + 1;
    }

    private static void copies(int round) {
        byte[] bytes = new byte[4096 + round % 100];
        Object[] objects = new Object[1000 + round % 100];
        Arrays.fill(objects, "x");
        CRC32 crc = new CRC32();
        long sum = 0;
        for (int i = 0; i < ROUNDS / 10; i++) {
            byte[] copy = bytes.clone();
            System.arraycopy(copy, 1, copy, 2, copy.length - 3);
            String[] strings = Arrays.copyOf(objects, objects.length, String[].class);
            Arrays.fill(copy, (byte) i);
            crc.update(copy);
            sum += crc.getValue() + strings.length + (long) (Math.sin(i) * Math.pow(i, 1.5) + Math.exp(1.0 / (i + 1)));
            sum += Arrays.equals(bytes, copy) ? 1 : Arrays.hashCode(copy);
        }
        result += sum;
    }

    private static void tables() {
        Step[] steps = {v -> v + 1, v -> v * 3, v -> v ^ 5, v -> v >>> 1, v -> v - 7};
        Number[] numbers = {1, 2L, 3.0, 4f, (short) 5, (byte) 6};
        long sum = result;
        for (int i = 0; i < 100 * ROUNDS; i++) {
            sum = steps[i % steps.length].step(sum) + numbers[i % numbers.length].intValue();
        }
        result = sum;
    }

    private static void signals() throws Exception {
        Class<?> signal;
        try {
            signal = Class.forName("sun.misc.Signal");
        } catch (ClassNotFoundException missing) {
            Thread.sleep(100);
            return;
        }
        Class<?> handler = Class.forName("sun.misc.SignalHandler");
        Object winch = signal.getConstructor(String.class).newInstance("WINCH");
        Object ignores = java.lang.reflect.Proxy.newProxyInstance(
                Storms.class.getClassLoader(), new Class<?>[] {handler}, (proxy, method, args) -> {
                    result++;
                    return null;
                });
        signal.getMethod("handle", signal, handler).invoke(null, winch, ignores);
        for (int i = 0; i < 100; i++) {
            signal.getMethod("raise", signal).invoke(null, winch);
            Thread.sleep(1);
        }
    }
}
