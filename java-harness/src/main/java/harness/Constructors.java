package harness;

/**
 * The order in which classes, interfaces and objects are initialised.
 *
 * <p>Tree: {@code Constructors.<clinit>} comes before {@code main}. Then, in {@code main}: {@code superChain} (static
 * initialisers from the top class down at the first object only; the constructors nested, {@code Bottom > Middle > Top},
 * each followed by its own field initialisers and blocks), {@code thisChain} (three constructors of one class, nested),
 * {@code interfaceFields} (an interface with a default method is initialised with the class that implements it, one
 * without only when its field is read) and {@code constants} (reading a constant initialises nothing).
 */
public final class Constructors {
    private static final int FIRST = staticField();

    static {
        staticBlock();
    }

    private Constructors() {}

    public static void main(String[] args) {
        superChain();
        superChain();
        thisChain();
        interfaceFields();
        constants();
        System.out.println("done " + FIRST);
    }

    private static int staticField() {
        return 1;
    }

    private static void staticBlock() {}

    private static void superChain() {
        new Bottom();
    }

    private static void thisChain() {
        new Chained();
    }

    private static void interfaceFields() {
        new Implementation().use();
        use(WithoutDefault.VALUE);
    }

    private static void constants() {
        use(Untouched.CONSTANT);
    }

    private static void use(int value) {}

    private static int argument(int value) {
        return value;
    }

    private static class Top {
        static final int STATIC = argument(1);

        private final int field = argument(10);

        Top(int value) {
            use(value + field);
        }
    }

    private static class Middle extends Top {
        static final int STATIC = argument(2);

        {
            use(20);
        }

        Middle(int value) {
            super(argument(value));
            inMiddle();
        }

        private void inMiddle() {}
    }

    private static final class Bottom extends Middle {
        static final int STATIC = argument(3);

        private final int field = argument(30);

        {
            use(31);
        }

        Bottom() {
            super(argument(300));
            inBottom();
        }

        private void inBottom() {
            use(field);
        }
    }

    private static final class Chained {
        private final int value;

        {
            use(40);
        }

        Chained() {
            this(argument(41));
            after();
        }

        Chained(int value) {
            this(value, argument(42));
            after();
        }

        Chained(int left, int right) {
            value = left + right;
            after();
        }

        private void after() {
            use(value);
        }
    }

    private interface WithDefault {
        int VALUE = argument(50);

        default void use() {}
    }

    private interface WithoutDefault {
        int VALUE = argument(51);
    }

    private static final class Implementation implements WithDefault, WithoutDefault {}

    private static final class Untouched {
        static final int CONSTANT = 60;
        static final int FIELD = argument(61);
    }
}
