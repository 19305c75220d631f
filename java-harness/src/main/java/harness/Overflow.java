package harness;

/**
 * Recursion until the stack overflows, caught, several times over.
 *
 * <p>Arguments: the number of rounds (5). Tree: {@code main} calls, for each round, {@code plain}, {@code after},
 * {@code withFinally} and {@code after}. Under {@code plain} is one chain of {@code descend}; under {@code withFinally}
 * one chain of {@code descendFinally}, each of whose frames may call {@code cleanup} on the way out. The depth of the
 * chains depends on the JVM; {@code after} is always directly under {@code main}.
 */
public final class Overflow {
    private static int cleanups;

    private Overflow() {}

    public static void main(String[] args) {
        int rounds = args.length > 0 ? Integer.parseInt(args[0]) : 5;
        int overflows = 0;
        for (int round = 0; round < rounds; round++) {
            if (plain()) {
                overflows++;
            }
            after(round);
            if (withFinally()) {
                overflows++;
            }
            after(round);
        }
        System.out.println("overflows " + overflows);
        System.out.println(cleanups > 0 ? "cleaned up" : "never cleaned up");
    }

    private static boolean plain() {
        try {
            descend(0);
            return false;
        } catch (StackOverflowError error) {
            return true;
        }
    }

    private static int descend(int depth) {
        return descend(depth + 1) + 1;
    }

    private static boolean withFinally() {
        try {
            descendFinally(0);
            return false;
        } catch (StackOverflowError error) {
            return true;
        }
    }

    private static int descendFinally(int depth) {
        try {
            return descendFinally(depth + 1) + 1;
        } finally {
            cleanup();
        }
    }

    private static void cleanup() {
        cleanups++;
    }

    private static void after(int round) {
        if (round < 0) {
            throw new IllegalArgumentException("round");
        }
    }
}
