package harness;

import java.util.AbstractCollection;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.FutureTask;

/**
 * Constructors that are left because the {@code super(…)} or {@code this(…)} they call throws: the verifier allows no
 * exception handler around that call, so a recorder cannot see such an exit where it happens.
 *
 * <p>Tree: {@code main} calls one method for each case, in the order below; the comment of the method has its calls.
 * After each case {@code after} is directly under {@code main}.
 */
public final class SuperThrows {
    private SuperThrows() {}

    public static void main(String[] args) throws Exception {
        nestedChain();
        after();
        thisChain();
        after();
        inArguments();
        after();
        throughCallers();
        after();
        inFinally();
        after();
        synchronizedCallers();
        after();
        reflection();
        after();
        constructorReferences();
        after();
        jdkSuperclassThrows();
        after();
        jdkSuperclassCallsBack();
        after();
        caughtInside();
        after();
        recursion();
        after();
        initialisers();
        after();
        System.out.println("done");
    }

    /** Marks the end of a case. */
    private static void after() {}

    /** Marks a handler. */
    private static void caught() {}

    private static void cleanup() {}

    private static void failIf(boolean fails) {
        if (fails) {
            throw new Failure();
        }
    }

    /** Level 0 fails in the innermost constructor of three, levels 1 and 2 in the ones around it, level 3 not at all. */
    private static void nestedChain() {
        for (int level = 0; level <= 3; level++) {
            try {
                new Leaf(level);
            } catch (Failure failure) {
                caught();
            }
        }
    }

    /** Two {@code this(…)} and a {@code super(…)}; fails at the same four levels, from the inside out. */
    private static void thisChain() {
        for (int level = 0; level <= 3; level++) {
            try {
                new Chained(level);
            } catch (Failure failure) {
                caught();
            }
        }
    }

    /**
     * The arguments throw: the first, the second, none. Then the argument is an object whose own constructor is left by
     * its {@code super(…)}.
     */
    private static void inArguments() {
        for (int failing = 0; failing <= 2; failing++) {
            try {
                new Arguments(failing);
            } catch (Failure failure) {
                caught();
            }
        }
        try {
            new Arguments();
        } catch (Failure failure) {
            caught();
        }
    }

    /** The exception passes two more frames, one of which has a handler for something else. */
    private static void throughCallers() {
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
        try {
            new Leaf(0);
        } catch (IllegalStateException other) {
            cleanup();
        }
    }

    /**
     * {@code cleanup} runs on the way out; then a {@code finally} block creates the object that fails; then one
     * swallows the exception.
     */
    private static void inFinally() {
        try {
            beforeCleanup();
        } catch (Failure failure) {
            caught();
        }
        try {
            failingCleanup();
        } catch (Failure failure) {
            caught();
        }
        swallowed();
    }

    private static void beforeCleanup() {
        try {
            new Leaf(0);
        } finally {
            cleanup();
        }
    }

    private static void failingCleanup() {
        try {
            failIf(true);
        } finally {
            new Leaf(1);
        }
    }

    @SuppressWarnings("finally")
    private static int swallowed() {
        try {
            return new Leaf(0).hashCode();
        } finally {
            return 1;
        }
    }

    /** The exception leaves a synchronised method, and a synchronised block; both can be entered again. */
    private static void synchronizedCallers() {
        for (int round = 0; round < 2; round++) {
            try {
                locked();
            } catch (Failure failure) {
                caught();
            }
            try {
                synchronized (SuperThrows.class) {
                    new Leaf(1);
                }
            } catch (Failure failure) {
                caught();
            }
        }
    }

    private static synchronized void locked() {
        new Leaf(0);
    }

    /** The JDK's reflection catches the exception and wraps it. */
    private static void reflection() throws ReflectiveOperationException {
        for (int level = 0; level <= 3; level++) {
            try {
                Leaf.class.getDeclaredConstructor(int.class).newInstance(level);
            } catch (java.lang.reflect.InvocationTargetException wrapped) {
                caught();
            }
        }
    }

    /** Code of the JDK calls the constructor and catches its exception; then recorded code continues. */
    private static void constructorReferences() {
        CompletableFuture.completedFuture(0).thenApply(Leaf::new);
        caught();
        CompletableFuture.completedFuture(1).thenApply(Leaf::new).exceptionally(SuperThrows::recovered).join();
        new Task(Unnumbered::new).run();
        CompletableFuture.completedFuture(3).thenApply(Leaf::new).join();
    }

    private static Leaf recovered(Throwable ignored) {
        return new Leaf(3);
    }

    /** The superclass is one of the JDK and throws; then it does not. */
    private static void jdkSuperclassThrows() {
        for (int capacity = -1; capacity <= 0; capacity++) {
            try {
                new Sized(capacity);
            } catch (IllegalArgumentException negative) {
                caught();
            }
        }
        try {
            new Described();
        } catch (Failure failure) {
            caught();
        }
    }

    /** The superclass is one of the JDK and calls {@code Source.toArray} back, which fails the first time. */
    private static void jdkSuperclassCallsBack() {
        for (int round = 0; round < 2; round++) {
            try {
                new Copy(new Source(round == 0));
            } catch (Failure failure) {
                caught();
            }
        }
    }

    /** The super constructor catches its own exception, so the program continues normally. */
    private static void caughtInside() {
        new CarefulDerived();
    }

    /** The super constructor creates an object of the same class, up to the third one, which fails. */
    private static void recursion() {
        try {
            new Nesting(2, -1);
        } catch (Failure failure) {
            caught();
        }
        new Nesting(2, 1);
        try {
            new Ring(2);
        } catch (Failure failure) {
            caught();
        }
    }

    /** A field's initialiser throws, an initialiser block throws, an anonymous class has a super constructor that throws. */
    private static void initialisers() {
        for (int failing = 0; failing <= 2; failing++) {
            Initialised.failing = failing;
            try {
                new Initialised();
            } catch (Failure failure) {
                caught();
            }
        }
        try {
            new Root(0) {};
        } catch (Failure failure) {
            caught();
        }
    }

    /** The exception of this program. Each is made by one recorded constructor. */
    private static final class Failure extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    private static class Root {
        Root(int level) {
            failIf(level == 0);
        }
    }

    private static class Branch extends Root {
        Branch(int level) {
            super(level);
            failIf(level == 1);
        }
    }

    private static final class Leaf extends Branch {
        Leaf(int level) {
            super(level);
            failIf(level == 2);
        }
    }

    private static final class Unnumbered extends Root {
        Unnumbered() {
            super(0);
        }
    }

    private static final class Chained extends Root {
        Chained(int level) {
            this(level, 0);
            failIf(level == 2);
        }

        private Chained(int level, int ignored) {
            super(level);
            failIf(level == 1);
        }
    }

    private static final class Arguments extends Root {
        Arguments(int failing) {
            super(argument(failing == 0) + argument(failing == 1));
        }

        Arguments() {
            super(new Leaf(0).hashCode());
        }

        private static int argument(boolean fails) {
            failIf(fails);
            return 1;
        }
    }

    private static final class Sized extends ArrayList<String> {
        private static final long serialVersionUID = 1;

        Sized(int capacity) {
            super(capacity);
            cleanup();
        }
    }

    /** Its super constructor, {@code Throwable}'s, calls {@code fillInStackTrace}, which throws. */
    private static final class Described extends RuntimeException {
        private static final long serialVersionUID = 1;

        Described() {
            super("described");
            cleanup();
        }

        @Override
        public synchronized Throwable fillInStackTrace() {
            throw new Failure();
        }
    }

    private static final class Copy extends ArrayList<Integer> {
        private static final long serialVersionUID = 1;

        Copy(Collection<Integer> source) {
            super(source);
            cleanup();
        }
    }

    private static final class Source extends AbstractCollection<Integer> {
        private final boolean fails;

        Source(boolean fails) {
            this.fails = fails;
        }

        @Override
        public Object[] toArray() {
            failIf(fails);
            return new Object[] {1, 2};
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

    private static final class Task extends FutureTask<Object> {
        Task(Callable<Object> callable) {
            super(callable);
        }

        @Override
        protected void done() {
            cleanup();
        }
    }

    private static class Careful {
        Careful() {
            try {
                new Leaf(0);
            } catch (Failure failure) {
                caught();
            }
            try {
                failIf(true);
            } catch (Failure failure) {
                caught();
            }
        }
    }

    private static final class CarefulDerived extends Careful {
        CarefulDerived() {
            super();
            cleanup();
        }
    }

    private static class Nest {
        Nest(int depth, int catchingDepth) {
            if (depth == 0) {
                throw new Failure();
            }
            try {
                new Nesting(depth - 1, catchingDepth);
            } catch (Failure failure) {
                if (depth != catchingDepth) {
                    throw failure;
                }
                caught();
            }
        }
    }

    private static final class Nesting extends Nest {
        Nesting(int depth, int catchingDepth) {
            super(depth, catchingDepth);
            cleanup();
        }
    }

    /** Creates another one in the argument of {@code this(…)}. */
    private static final class Ring {
        Ring(int depth) {
            this(depth == 0 ? failed() : new Ring(depth - 1));
        }

        Ring(Ring inner) {
            cleanup();
        }

        private static Ring failed() {
            throw new Failure();
        }
    }

    private static final class Initialised extends Branch {
        private static int failing;

        private final int field = initial();

        {
            failIf(failing == 1);
        }

        Initialised() {
            super(3);
        }

        private static int initial() {
            failIf(failing == 0);
            return failing;
        }
    }
}
