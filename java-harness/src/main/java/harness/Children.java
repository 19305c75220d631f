package harness;

import java.nio.file.Path;

/**
 * Starts JVMs that run {@link Recursion}, in the same environment, two at a time, and calls methods at the same time.
 *
 * <p>Arguments: the number of JVMs (4). Tree: {@code main > start, step} for each, and {@code await} for each. Prints
 * their exit codes.
 */
public final class Children {
    private static int steps;

    private Children() {}

    public static void main(String[] args) throws Exception {
        int count = args.length > 0 ? Integer.parseInt(args[0]) : 4;
        for (int i = 0; i < count; i += 2) {
            Process first = start();
            step();
            Process second = start();
            step();
            await(first);
            await(second);
        }
    }

    private static Process start() throws Exception {
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        ProcessBuilder builder =
                new ProcessBuilder(java, "-cp", System.getProperty("java.class.path"), "harness.Recursion");
        builder.redirectErrorStream(true);
        return builder.start();
    }

    private static void step() {
        steps++;
    }

    private static void await(Process child) throws Exception {
        child.getInputStream().readAllBytes();
        System.out.println(child.waitFor());
    }
}
