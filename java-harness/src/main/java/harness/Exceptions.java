package harness;

/**
 * Frames that are left by an exception, in every way the language has.
 *
 * <p>Tree: {@code main} calls one method for each case, in the order below; the comment of the method has its calls.
 */
public final class Exceptions {
    private Exceptions() {}

    public static void main(String[] args) {
        throughFrames();
        finallyBlocks();
        wrapped();
        inLoop();
        staticInitializer();
        outOfSuper();
        inConstructorArguments();
        inSynchronized();
        afterwards();
        System.out.println("done");
    }

    /** Marks a handler or the end of a case: a leaf. */
    private static void caught() {}

    private static void afterwards() {}

    /** Three frames are left by one exception: {@code first > second > third > Failure.<init>}, then {@code caught}. */
    private static void throughFrames() {
        try {
            first();
        } catch (Failure failure) {
            caught();
        }
    }

    private static void first() {
        second();
    }

    private static void second() {
        third();
    }

    private static void third() {
        throw new Failure("through frames");
    }

    /** Each frame calls {@code cleanup} on the way out: the inner one before the outer one, then {@code caught}. */
    private static void finallyBlocks() {
        try {
            outerFinally();
        } catch (Failure failure) {
            caught();
        }
    }

    private static void outerFinally() {
        try {
            innerFinally();
        } finally {
            cleanup();
        }
    }

    private static void innerFinally() {
        try {
            throw new Failure("finally");
        } finally {
            cleanup();
        }
    }

    private static void cleanup() {}

    /**
     * The exception is caught, wrapped in another one and thrown again: two {@code Failure.<init>} in different frames.
     */
    private static void wrapped() {
        try {
            wrap();
        } catch (Failure failure) {
            caught();
        }
    }

    private static void wrap() {
        try {
            third();
        } catch (Failure failure) {
            throw new Failure(failure);
        }
    }

    /** Five iterations, of which 1 and 3 are left by an exception that the loop catches. */
    private static void inLoop() {
        for (int turn = 0; turn < 5; turn++) {
            try {
                oddFails(turn);
            } catch (Failure failure) {
                caught();
            }
        }
    }

    private static void oddFails(int turn) {
        if (turn % 2 == 1) {
            throw new Failure("odd");
        }
    }

    /**
     * A static initialiser fails: the first use has {@code touch > Broken.<clinit> > Broken.fail > Failure.<init>}, the
     * second use has {@code touch} alone, because the class is marked erroneous.
     */
    private static void staticInitializer() {
        try {
            touch();
        } catch (ExceptionInInitializerError error) {
            caught();
        }
        try {
            touch();
        } catch (NoClassDefFoundError error) {
            caught();
        }
    }

    private static void touch() {
        Broken.use();
    }

    /** The base constructor throws, so {@code Derived.<init>} is left while its object is not yet initialised. */
    private static void outOfSuper() {
        try {
            new Derived(true).use();
        } catch (Failure failure) {
            caught();
        }
        new Derived(false).use();
    }

    /** The arguments of {@code this(…)} and of {@code super(…)} throw: the called constructor is never entered. */
    private static void inConstructorArguments() {
        try {
            new Derived().use();
        } catch (Failure failure) {
            caught();
        }
        try {
            new Derived(1).use();
        } catch (Failure failure) {
            caught();
        }
    }

    /** A synchronised method is left by an exception and can be entered again. */
    private static void inSynchronized() {
        for (int round = 0; round < 2; round++) {
            try {
                locked();
            } catch (Failure failure) {
                caught();
            }
        }
    }

    private static synchronized void locked() {
        throw new Failure("locked");
    }

    /** The exception of this program. */
    private static final class Failure extends RuntimeException {
        private static final long serialVersionUID = 1;

        Failure(String message) {
            super(message);
        }

        Failure(Throwable cause) {
            super(cause);
        }
    }

    /** A class that can never be initialised. */
    private static final class Broken {
        static final int VALUE = fail();

        private static int fail() {
            throw new Failure("static initializer");
        }

        static void use() {}
    }

    private static class Base {
        Base(boolean fails) {
            if (fails) {
                throw new Failure("super");
            }
        }
    }

    private static final class Derived extends Base {
        Derived(boolean fails) {
            super(fails);
            afterSuper();
        }

        Derived() {
            this(argument());
        }

        Derived(int ignored) {
            super(argument());
        }

        private static boolean argument() {
            throw new Failure("argument");
        }

        private void afterSuper() {}

        void use() {}
    }
}
