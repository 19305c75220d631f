package harness;

/**
 * The smallest program with a tree: a static method that calls an instance method.
 *
 * <p>Tree: {@code main} calls {@code greet}, which constructs a {@code Hello} and calls {@code name} on it.
 */
public final class Hello {
    private Hello() {}

    public static void main(String[] args) {
        greet();
    }

    private static void greet() {
        System.out.println(new Hello().name());
    }

    private String name() {
        return "hello";
    }
}
