package harness;

/**
 * {@code System.exit(3)} from nested frames, with a shutdown hook.
 *
 * <p>Tree of {@code main}: {@code main > outer > inner}, none of which ever ends. Tree of {@code exit-hook}:
 * {@code hook > hookStep}.
 */
public final class Exit {
    private Exit() {}

    public static void main(String[] args) {
        Runtime.getRuntime().addShutdownHook(new Thread(Exit::hook, "exit-hook"));
        outer();
    }

    private static void outer() {
        inner();
    }

    private static void inner() {
        System.exit(3);
    }

    private static void hook() {
        hookStep();
    }

    private static void hookStep() {
        System.out.println("hook");
    }
}
