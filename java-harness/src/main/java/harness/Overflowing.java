package harness;

import java.util.AbstractCollection;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;

/**
 * Recursion through constructors and handlers until the stack overflows, caught, several times over.
 *
 * <p>Arguments: the number of rounds (3). Tree: {@code main} calls, for each round and each {@link Way}, {@code
 * overflow} and then {@code after}. The calls under {@code overflow} depend on the JVM; {@code after} is always
 * directly under {@code main}.
 */
public final class Overflowing {
    private static int cleanups;

    private Overflowing() {}

    public static void main(String[] args) {
        int rounds = args.length > 0 ? Integer.parseInt(args[0]) : 3;
        Way[] ways = {
            () -> new Derived(0),
            () -> new Chained(0),
            () -> make(0),
            () -> rethrows(0),
            () -> replaces(0),
            () -> cleansUp(0),
            () -> new Elements(0),
            () -> new Copy(0),
        };
        int overflows = 0;
        for (int round = 0; round < rounds; round++) {
            for (Way way : ways) {
                if (overflow(way)) {
                    overflows++;
                }
                after(round);
            }
        }
        System.out.println("overflows " + overflows);
    }

    private static boolean overflow(Way way) {
        try {
            way.descend();
            return false;
        } catch (StackOverflowError | IllegalStateException error) {
            return true;
        }
    }

    private static void after(int round) {
        if (round < 0) {
            throw new IllegalArgumentException("round");
        }
    }

    private static Made make(int depth) {
        return new Made(depth + 1);
    }

    private static int rethrows(int depth) {
        try {
            return rethrows(depth + 1) + 1;
        } catch (StackOverflowError error) {
            throw error;
        }
    }

    private static int replaces(int depth) {
        try {
            return replaces(depth + 1) + 1;
        } catch (StackOverflowError error) {
            throw new IllegalStateException("overflow");
        }
    }

    private static int cleansUp(int depth) {
        try {
            return cleansUp(depth + 1) + 1;
        } finally {
            cleanups++;
        }
    }

    /** One kind of recursion. */
    private interface Way {
        void descend();
    }

    /** Its super constructor creates another one. */
    private static final class Derived extends Base {
        Derived(int depth) {
            super(depth);
        }
    }

    private static class Base {
        Base(int depth) {
            new Derived(depth + 1);
        }
    }

    /** Creates another one in the constructor that it calls by {@code this(…)}. */
    private static final class Chained {
        Chained(int depth) {
            this(depth, depth);
        }

        Chained(int depth, int ignored) {
            new Chained(depth + 1);
        }
    }

    private static final class Made {
        private final Made next;

        Made(int depth) {
            next = make(depth + 1);
        }
    }

    /** A constructor of the JDK between every two recorded ones. */
    private static final class Elements extends ArrayList<Integer> {
        private static final long serialVersionUID = 1;

        Elements(int depth) {
            super(4);
            add(new Elements(depth + 1).size());
        }
    }

    /** The JDK's super constructor calls a method that creates another one. */
    private static final class Copy extends ArrayList<Integer> {
        private static final long serialVersionUID = 1;

        Copy(int depth) {
            super(new Source(depth));
        }
    }

    private static final class Source extends AbstractCollection<Integer> {
        private final int depth;

        Source(int depth) {
            this.depth = depth;
        }

        @Override
        public Object[] toArray() {
            Collection<Integer> copy = new Copy(depth + 1);
            return copy.toArray();
        }

        @Override
        public Iterator<Integer> iterator() {
            return List.<Integer>of().iterator();
        }

        @Override
        public int size() {
            return 0;
        }
    }
}
