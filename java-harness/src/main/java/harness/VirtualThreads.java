package harness;

import java.lang.reflect.Method;
import java.util.concurrent.locks.LockSupport;

/**
 * Virtual threads that are parked in between and so may change their carrier.
 *
 * <p>Arguments: the number of threads (200), and how many at once (all). Tree of each virtual thread, named or not: {@code Body.run > body > step,
 * park, step, step}. Every tenth thread (0, 10, …) is named {@code virtual-N}. If the JDK has no virtual threads, the
 * program prints that and exits with 0.
 */
public final class VirtualThreads {
    private VirtualThreads() {}

    public static void main(String[] args) throws Exception {
        int count = args.length > 0 ? Integer.parseInt(args[0]) : 200;
        int atOnce = args.length > 1 ? Integer.parseInt(args[1]) : count;
        Method startVirtualThread;
        try {
            startVirtualThread = Thread.class.getMethod("startVirtualThread", Runnable.class);
        } catch (NoSuchMethodException missing) {
            System.out.println("no virtual threads");
            return;
        }
        Thread[] threads = new Thread[count];
        for (int i = 0; i < count; i++) {
            Runnable body = new Body(i);
            threads[i] = i % 10 == 0
                    ? startNamed("virtual-" + i, body)
                    : (Thread) startVirtualThread.invoke(null, body);
            if (i >= atOnce) {
                threads[i - atOnce].join();
            }
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("done " + count);
    }

    /** {@code Thread.ofVirtual().name(name).start(body)}, by reflection, because older compilers do not know it. */
    private static Thread startNamed(String name, Runnable body) throws ReflectiveOperationException {
        Class<?> builderType = Class.forName("java.lang.Thread$Builder");
        Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
        builder = builderType.getMethod("name", String.class).invoke(builder, name);
        return (Thread) builderType.getMethod("start", Runnable.class).invoke(builder, body);
    }

    private static int body(int number) {
        int sum = step(number);
        park(number);
        return sum + step(number) + step(number);
    }

    private static int step(int number) {
        return number * 31;
    }

    private static void park(int number) {
        if (number % 2 == 0) {
            LockSupport.parkNanos(1_000_000);
        } else {
            try {
                Thread.sleep(1);
            } catch (InterruptedException unexpected) {
                throw new IllegalStateException(unexpected);
            }
        }
    }

    private static final class Body implements Runnable {
        private final int number;

        Body(int number) {
            this.number = number;
        }

        @Override
        public void run() {
            body(number);
        }
    }
}
