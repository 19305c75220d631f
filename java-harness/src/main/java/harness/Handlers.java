package harness;

import java.util.function.Supplier;

/**
 * Exceptions that reach handlers, in every way that javac compiles: thrown by the method itself, by the JDK, by the JVM, and by
 * recorded methods; caught, caught and thrown again, and passed by {@code finally}, {@code synchronized} and {@code try} with
 * resources.
 *
 * <p>The comment of each method has the exceptions that reach its handlers, in order.
 */
public final class Handlers {
    private static final Object LOCK = new Object();

    private Handlers() {}

    public static void main(String[] args) {
        int sum = parsed("x") + parsed("7") + own(3) + own(0) + many(0) + many(1) + many(2);
        sum += length(null) + swallowed("z") + loop() + nested() + inLambda() + wide() + ignored();
        caughtBy(() -> passed("finally"));
        caughtBy(() -> locked("locked"));
        caughtBy(Handlers::closed);
        caughtBy(() -> again("again"));
        caughtBy(() -> wrapped("wrapped"));
        caughtBy(() -> new Built("built"));
        caughtBy(() -> deep(40));
        caughtBy(Handlers::silent);
        System.out.println("sum " + sum);
    }

    /** Of each supplier: what it throws. */
    private static void caughtBy(Supplier<Object> body) {
        try {
            body.get();
        } catch (RuntimeException caught) {
            System.out.println(caught.getMessage());
        }
    }

    /** NumberFormatException of the JDK. */
    private static int parsed(String text) {
        try {
            return Integer.parseInt(text);
        } catch (NumberFormatException caught) {
            return -1;
        }
    }

    /** Failure. */
    private static int own(int number) {
        try {
            if (number > 0) {
                throw new Failure("own " + number);
            }
            return number;
        } catch (Failure caught) {
            return -2;
        }
    }

    /** IllegalStateException, IllegalArgumentException, ArithmeticException of the JVM. */
    private static int many(int number) {
        try {
            if (number == 0) {
                throw new IllegalStateException("state");
            }
            if (number == 1) {
                throw new IllegalArgumentException("argument");
            }
            return 1 / (number - 2);
        } catch (IllegalStateException | IllegalArgumentException caught) {
            return -3;
        } catch (ArithmeticException caught) {
            return -4;
        }
    }

    /** NullPointerException of the JVM. */
    private static int length(String nameThatMakesTheMessageLong) {
        try {
            return nameThatMakesTheMessageLong.length();
        } catch (NullPointerException caught) {
            return -5;
        }
    }

    /** NumberFormatException, which {@code finally} swallows. */
    @SuppressWarnings("finally")
    private static int swallowed(String text) {
        try {
            return Integer.parseInt(text);
        } finally {
            return -6;
        }
    }

    /** NumberFormatException three times. */
    private static int loop() {
        int sum = 0;
        for (int i = 0; i < 3; i++) {
            try {
                sum += Integer.parseInt("loop " + i);
            } catch (NumberFormatException caught) {
                sum--;
            }
        }
        return sum;
    }

    /** Failure, in the inner handler; another Failure, in the outer one. */
    private static int nested() {
        try {
            try {
                throw new Failure("inner");
            } catch (Failure caught) {
                throw new Failure("outer");
            }
        } catch (Failure caught) {
            return -7;
        }
    }

    /** NumberFormatException, in the body of a lambda. */
    private static int inLambda() {
        Supplier<Integer> body = () -> {
            try {
                return Integer.parseInt("lambda");
            } catch (NumberFormatException caught) {
                return -8;
            }
        };
        return body.get();
    }

    /** Failure; the handler has long variables around its own. */
    private static int wide() {
        long before = 1;
        double number = 2;
        try {
            throw new Failure("wide");
        } catch (Failure caught) {
            long after = caught.getMessage().length();
            return (int) (before + number + after);
        } finally {
            before = 3;
        }
    }

    /** NumberFormatException, in an empty handler that ends a {@code synchronized} block. */
    private static int ignored() {
        int result = -9;
        synchronized (LOCK) {
            try {
                result = Integer.parseInt("ignored");
            } catch (NumberFormatException caught) {
                // Nothing.
            }
        }
        return result;
    }

    /** NumberFormatException, which continues after {@code finally}. */
    private static Object passed(String text) {
        try {
            return Integer.parseInt(text);
        } finally {
            nothing();
        }
    }

    /** NumberFormatException, which continues after the lock is released. */
    private static Object locked(String text) {
        synchronized (LOCK) {
            return Integer.parseInt(text);
        }
    }

    /** Failure of the body; Failure of {@code close}, which the first one suppresses. */
    @SuppressWarnings("try")
    private static Object closed() {
        try (Resource resource = new Resource()) {
            throw new Failure("body");
        }
    }

    /** Failure, which is thrown again. */
    private static Object again(String text) {
        try {
            throw new Failure(text);
        } catch (Failure caught) {
            throw caught;
        }
    }

    /** NumberFormatException, in place of which another exception continues. */
    private static Object wrapped(String text) {
        try {
            return Integer.parseInt(text);
        } catch (NumberFormatException caught) {
            throw new IllegalStateException(text, caught);
        }
    }

    /** None: recursion that ends by an exception. */
    private static Object deep(int depth) {
        if (depth == 0) {
            throw new Failure("deep");
        }
        return deep(depth - 1);
    }

    /** An exception without a stack trace and without a message. */
    private static Object silent() {
        try {
            throw new Silent();
        } catch (Silent caught) {
            return null;
        }
    }

    private static void nothing() {}

    /** The superclass's constructor throws Failure. */
    private static class Base {
        Base(String text) {
            throw new Failure(text);
        }
    }

    private static final class Built extends Base {
        Built(String text) {
            super(text);
        }
    }

    private static final class Resource implements AutoCloseable {
        @Override
        public void close() {
            throw new Failure("close");
        }
    }

    private static final class Failure extends RuntimeException {
        private static final long serialVersionUID = 1;

        Failure(String message) {
            super(message);
        }
    }

    private static final class Silent extends RuntimeException {
        private static final long serialVersionUID = 1;

        Silent() {
            super(null, null, false, false);
        }
    }
}
