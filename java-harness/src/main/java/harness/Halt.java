package harness;

/**
 * {@code Runtime.halt(4)} from nested frames; the shutdown hook must not run.
 *
 * <p>Tree of {@code main}: {@code main > outer > before, inner}, where {@code before} ends and the others never do.
 */
public final class Halt {
    private Halt() {}

    public static void main(String[] args) {
        Runtime.getRuntime().addShutdownHook(new Thread(Halt::neverCalled, "halt-hook"));
        outer();
    }

    private static void outer() {
        before();
        inner();
    }

    private static void before() {
        System.out.println("before");
        System.out.flush();
    }

    private static void inner() {
        Runtime.getRuntime().halt(4);
    }

    private static void neverCalled() {
        System.out.println("hook");
    }
}
