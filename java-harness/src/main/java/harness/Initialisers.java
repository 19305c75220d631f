package harness;

/**
 * Classes, interfaces and enums at the moment they are initialised, with and without exceptions.
 *
 * <p>Tree: {@code main} calls one method for each case, in the order below; the comment of the method has its calls.
 */
public final class Initialisers {
    private static int order;

    private Initialisers() {}

    public static void main(String[] args) throws Exception {
        constants();
        nestedFailure();
        failingSuperclass();
        caughtInside();
        circular();
        interfaces();
        failingInterface();
        interfaceMethods();
        enums();
        failingEnum();
        byName();
        System.out.println("done");
    }

    private static int next() {
        return ++order;
    }

    private static int fail() {
        throw new IllegalStateException("initialiser");
    }

    private static void caught() {}

    /** A compile-time constant initialises nothing; a computed one does. */
    private static void constants() {
        use(Constants.COMPILED);
        use(Constants.COMPUTED);
        use(Constants.COMPUTED);
    }

    private static void use(int value) {
        if (value < 0) {
            throw new IllegalArgumentException("value");
        }
    }

    /** The initialiser of one class fails because that of another does; both are unusable from then on. */
    private static void nestedFailure() {
        try {
            use(Outer.VALUE);
        } catch (ExceptionInInitializerError error) {
            caught();
        }
        try {
            use(Inner.VALUE);
        } catch (NoClassDefFoundError error) {
            caught();
        }
        try {
            new Outer();
        } catch (NoClassDefFoundError error) {
            caught();
        }
    }

    /** The superclass is initialised first and fails, so the class's own initialiser and constructor never run. */
    private static void failingSuperclass() {
        for (int round = 0; round < 2; round++) {
            try {
                new Sub();
            } catch (ExceptionInInitializerError | NoClassDefFoundError error) {
                caught();
            }
        }
    }

    /** The initialiser catches what it throws. */
    private static void caughtInside() {
        use(Careful.value);
    }

    /** Two classes that use each other: the initialiser of the second one runs inside that of the first one. */
    private static void circular() {
        use(Ping.VALUE);
        use(Pong.VALUE);
    }

    /**
     * With a class, an interface that has a default method is initialised, too. An interface without one is initialised
     * when its field is read.
     */
    private static void interfaces() {
        new Implementation();
        use(WithoutDefault.FIELD);
    }

    private static void failingInterface() {
        try {
            new Unlucky();
        } catch (ExceptionInInitializerError error) {
            caught();
        }
    }

    /** Default, static and private methods of an interface; a default method that throws; one called by {@code super}. */
    private static void interfaceMethods() {
        Methods methods = new Methods() {
            @Override
            public int named(int value) {
                return Methods.super.named(value) + 1;
            }
        };
        use(methods.named(1));
        use(Methods.create().named(2));
        try {
            methods.failing();
        } catch (IllegalStateException failure) {
            caught();
        }
    }

    /** Constructors of constants, one with a body; {@code valueOf}; a switch, whose table is a class of its own. */
    private static void enums() {
        use(Colour.valueOf("GREEN").weight());
        use(Colour.RED.weight());
        use(chosen(Colour.GREEN));
        use(chosen(Colour.RED));
        try {
            Colour.valueOf("NONE");
        } catch (IllegalArgumentException unknown) {
            caught();
        }
    }

    private static int chosen(Colour colour) {
        switch (colour) {
            case RED:
                return next();
            case GREEN:
            default:
                return 0;
        }
    }

    private static void failingEnum() {
        for (int round = 0; round < 2; round++) {
            try {
                Broken.values();
            } catch (ExceptionInInitializerError | NoClassDefFoundError error) {
                caught();
            }
        }
    }

    /** {@code Class.forName} without and with initialisation. */
    private static void byName() throws ClassNotFoundException {
        ClassLoader loader = Initialisers.class.getClassLoader();
        Class.forName("harness.Initialisers$Named", false, loader);
        caught();
        Class.forName("harness.Initialisers$Named");
    }

    private static final class Constants {
        static final int COMPILED = 5;
        static final int COMPUTED = next();
    }

    private static final class Outer {
        static final int VALUE = Inner.VALUE + next();
    }

    private static final class Inner {
        static final int VALUE = next() + fail();
    }

    private static class Super {
        static {
            use(fail());
        }
    }

    private static final class Sub extends Super {
        static {
            next();
        }
    }

    private static final class Careful {
        static int value = next();

        static {
            try {
                value = fail();
            } catch (IllegalStateException failure) {
                caught();
            } finally {
                value += next();
            }
        }
    }

    private static final class Ping {
        static final int VALUE = Pong.VALUE + next();
    }

    private static final class Pong {
        static final int VALUE = Ping.VALUE + next();
    }

    private interface WithDefault {
        int FIELD = next();

        default int field() {
            return FIELD;
        }
    }

    private interface WithoutDefault {
        int FIELD = next();

        int field();
    }

    private static final class Implementation implements WithDefault, WithoutDefault {
        static {
            next();
        }

        @Override
        public int field() {
            return 0;
        }
    }

    private interface Failing {
        int FIELD = fail();

        default int field() {
            return FIELD;
        }
    }

    private static final class Unlucky implements Failing {}

    private interface Methods {
        static Methods create() {
            return new Methods() {};
        }

        default int named(int value) {
            return hidden(value) + shared();
        }

        default int failing() {
            return fail();
        }

        private int hidden(int value) {
            return value + next();
        }

        private static int shared() {
            return next();
        }
    }

    private enum Colour {
        RED(3),
        GREEN(4) {
            @Override
            int weight() {
                return super.weight() + next();
            }
        };

        private final int weight;

        Colour(int weight) {
            this.weight = weight;
            next();
        }

        int weight() {
            return weight;
        }
    }

    private enum Broken {
        ONE;

        Broken() {
            fail();
        }
    }

    private static final class Named {
        static {
            next();
        }
    }
}
