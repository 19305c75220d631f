package bench;

/** The shortest program: what recording adds to the start and the end of a JVM. */
public final class Hello {
    private Hello() {}

    public static void main(String[] args) {
        System.out.println("hello");
    }
}
