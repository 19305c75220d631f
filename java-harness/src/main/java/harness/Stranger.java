package harness;

import java.lang.reflect.Method;

/**
 * Calls the methods that probes call, by reflection. Its threads have recorded nothing if no method of this class is
 * recorded.
 *
 * <p>Prints {@code called N} with the number of calls, or {@code no probes} if there is no probe class.
 */
public final class Stranger implements Runnable {
    private static final int THREADS = 20;
    private static final int CALLS = 100;
    private final Method[] probes;
    private int called;

    private Stranger(Method... probes) {
        this.probes = probes;
    }

    public static void main(String[] args) throws Exception {
        Stranger body;
        try {
            Class<?> probe = Class.forName("java.lang.FlowProbe");
            body = new Stranger(probe.getMethod("exit"), probe.getMethod("timedExit"));
        } catch (ClassNotFoundException missing) {
            System.out.println("no probes");
            return;
        }
        body.run();
        for (int i = 0; i < THREADS; i++) {
            Thread thread = new Thread(body);
            thread.start();
            thread.join();
            startVirtual(body).join();
        }
        System.out.println("called " + body.called);
    }

    private static Thread startVirtual(Runnable body) throws ReflectiveOperationException {
        try {
            return (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, body);
        } catch (NoSuchMethodException missing) {
            Thread thread = new Thread(body);
            thread.start();
            return thread;
        }
    }

    @Override
    public void run() {
        try {
            for (int i = 0; i < CALLS; i++) {
                for (Method probe : probes) {
                    probe.invoke(null);
                    called++;
                }
            }
        } catch (ReflectiveOperationException unexpected) {
            throw new IllegalStateException(unexpected);
        }
    }
}
