package harness;

/**
 * Control flow that is hard for a rewriter: switches, whose operands are aligned, jumps to the first instruction of a
 * method, nested {@code try} and {@code finally}.
 *
 * <p>Tree: {@code main} calls one method for each case, in the order below; the comment of the method has its calls.
 */
public final class Switches {
    private Switches() {}

    public static void main(String[] args) {
        tables();
        lookups();
        texts();
        loops();
        labels();
        nests();
        System.out.println("done");
    }

    private static void leaf() {}

    private static void caught() {}

    private static int fail(int number) {
        throw new IllegalStateException("number " + number);
    }

    /** Three switches over five values each, whose operands are aligned differently. */
    private static void tables() {
        for (int value = -1; value <= 3; value++) {
            int other = value;
            table(value);
            shifted(value, other);
        }
    }

    /** For 0 one leaf, for 1 two, for 2 three by falling through to 0's; else none. */
    @SuppressWarnings("fallthrough")
    private static int table(int value) {
        switch (value) {
            case 2:
                leaf();
                // Falls through.
            case 1:
                leaf();
                // Falls through.
            case 0:
                leaf();
                return value;
            default:
                return -1;
        }
    }

    /**
     * For 0 three leaves, one in each switch and one after them; for 1 two; for 3 a failure that is caught and one
     * leaf; else none.
     */
    private static void shifted(int value, int ignored) {
        int sum = ignored;
        switch (value) {
            case 0:
            case 1:
                leaf();
                break;
            default:
                break;
        }
        sum++;
        try {
            switch (sum - ignored + value) {
                case 1:
                    leaf();
                    break;
                case 2:
                    sum = 0;
                    break;
                case 4:
                    fail(sum);
                    break;
                default:
                    return;
            }
        } catch (IllegalStateException failure) {
            caught();
        }
        leaf();
    }

    /** Cases far apart; negative ones; the largest. */
    private static void lookups() {
        int[] values = {Integer.MIN_VALUE, -1000, 0, 77, 1_000_000, Integer.MAX_VALUE, 5};
        for (int value : values) {
            lookup(value);
        }
    }

    private static boolean lookup(int value) {
        switch (value) {
            case Integer.MIN_VALUE:
            case Integer.MAX_VALUE:
                leaf();
                return true;
            case -1000:
                leaf();
                leaf();
                return true;
            case 77:
                return false;
            case 1_000_000:
                break;
            default:
                return value > 0;
        }
        leaf();
        return false;
    }

    /** Two texts of the same hash code, one that is no case, and null, on which the switch itself throws. */
    private static void texts() {
        text("Aa");
        text("BB");
        text("C");
        try {
            text(null);
        } catch (NullPointerException none) {
            caught();
        }
    }

    private static void text(String text) {
        switch (text) {
            case "Aa":
                leaf();
                break;
            case "BB":
                leaf();
                leaf();
                break;
            default:
                break;
        }
    }

    /** Loops whose head is the first instruction of the method: entered once, three iterations. */
    private static void loops() {
        whileLoop(3);
        doLoop(3);
        try {
            endless(3);
        } catch (IllegalStateException end) {
            caught();
        }
        guarded(3);
    }

    private static int whileLoop(int left) {
        while (left > 0) {
            leaf();
            left--;
        }
        return left;
    }

    private static void doLoop(int left) {
        do {
            leaf();
        } while (--left > 0);
    }

    private static void endless(int left) {
        for (;;) {
            leaf();
            if (--left == 0) {
                fail(left);
            }
        }
    }

    /** The handler jumps back to the first instruction, which it covers. */
    private static void guarded(int left) {
        while (true) {
            try {
                if (left == 0) {
                    return;
                }
                fail(left);
            } catch (IllegalStateException failure) {
                caught();
                left--;
            }
        }
    }

    /** {@code continue} and {@code break} out of two loops and a {@code finally}. */
    private static void labels() {
        int turns = 0;
        outer:
        for (int i = 0; i < 4; i++) {
            for (int j = 0; j < 4; j++) {
                try {
                    if (j == 1) {
                        continue outer;
                    }
                    if (i == 2) {
                        break outer;
                    }
                    turns++;
                } finally {
                    leaf();
                }
            }
        }
        if (turns != 2) {
            throw new AssertionError("turns " + turns);
        }
    }

    /** Level 0 throws nowhere; levels 1 to 3 in the body, in a handler, in a {@code finally}. */
    private static void nests() {
        for (int level = 0; level <= 3; level++) {
            try {
                nest(level);
            } catch (IllegalStateException failure) {
                caught();
            }
        }
    }

    private static int nest(int level) {
        try {
            try {
                if (level > 0) {
                    return fail(1);
                }
                leaf();
            } catch (IllegalStateException failure) {
                caught();
                if (level == 2) {
                    return fail(2);
                }
            } finally {
                leaf();
                try {
                    if (level == 3) {
                        fail(3);
                    }
                } finally {
                    leaf();
                }
            }
            return level;
        } finally {
            caught();
        }
    }
}
