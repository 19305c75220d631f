package harness;

/**
 * Twenty shutdown hooks, which run at the same time while the JVM ends.
 *
 * <p>With an argument, {@code main} does not return. With a second one, the name of a signal, the program handles this signal,
 * and does nothing then. Tree of {@code main}: {@code main > add} 20 times. Tree of each {@code hook-N}: {@code hook > step} 50 times.
 */
public final class Hooked {
    private static final int HOOKS = 20;
    private static final int STEPS = 50;

    private Hooked() {}

    public static void main(String[] args) throws Exception {
        if (args.length > 1) {
            handle(args[1]);
        }
        for (int i = 0; i < HOOKS; i++) {
            add(i);
        }
        System.out.println("hooked " + HOOKS);
        if (args.length > 0) {
            Thread.sleep(Long.MAX_VALUE);
        }
    }

    private static void add(int number) {
        Runtime.getRuntime().addShutdownHook(new Thread(Hooked::hook, "hook-" + number));
    }

    private static void handle(String name) throws Exception {
        Class<?> signal = Class.forName("sun.misc.Signal");
        Class<?> handler = Class.forName("sun.misc.SignalHandler");
        Object own = java.lang.reflect.Proxy.newProxyInstance(
                Hooked.class.getClassLoader(), new Class<?>[] {handler}, (proxy, method, args) -> null);
        signal.getMethod("handle", signal, handler)
                .invoke(null, signal.getConstructor(String.class).newInstance(name), own);
    }

    private static void hook() {
        for (int i = 0; i < STEPS; i++) {
            step(i);
        }
    }

    private static int step(int number) {
        return number * 31;
    }
}
