package harness;

/**
 * Methods that call nothing: some cannot fail, others look like that but can.
 *
 * <p>Tree: {@code main} calls one method for each case, in the order below; the comment of the method has its calls.
 * The thread {@code Finalizer} has one {@code Closing.finalize > closed}, and nothing of {@code Empty}: the JVM never
 * calls a finalizer without code.
 */
public final class Leaves {
    private static int shared;
    private static volatile boolean closed;

    private int number;
    private long wide;
    private Leaves other;

    private Leaves() {}

    private Leaves(int number, Leaves other) {
        this.number = number;
        this.other = other;
    }

    public static void main(String[] args) throws InterruptedException {
        accessors();
        arithmetic();
        nullReceivers();
        failing();
        constructors();
        finalizers();
        System.out.println("done");
    }

    private static void caught() {}

    /** Ten rounds of getters and setters, of objects and static, narrow and wide. */
    private static void accessors() {
        Leaves leaves = new Leaves(1, null);
        for (int i = 0; i < 10; i++) {
            leaves.setNumber(leaves.getNumber() + i);
            leaves.setWide(leaves.getWide() + i);
            leaves.setOther(leaves);
            setShared(getShared() + 1);
            leaves.getOther().nothing();
        }
    }

    /** Leaves of each result type. */
    private static void arithmetic() {
        long sum = 0;
        for (int i = 1; i <= 3; i++) {
            sum += add(i, 2) + shift(i) + (long) half(i) + (long) mixed(i, 2.5) + character(i) + (isOdd(i) ? 1 : 0);
            sum += constant().length() + (nothingAtAll() == null ? 1 : 0);
        }
        if (sum != 87) {
            throw new AssertionError("sum " + sum);
        }
    }

    /** A call on null enters nothing; the access to a field of a null argument is left by an exception. */
    private static void nullReceivers() {
        Leaves none = nothingAtAll();
        try {
            none.getNumber();
        } catch (NullPointerException expected) {
            caught();
        }
        try {
            numberOf(none);
        } catch (NullPointerException expected) {
            caught();
        }
        try {
            setNumberOf(none, 1);
        } catch (NullPointerException expected) {
            caught();
        }
    }

    /** Leaves that an exception of the JVM ends once each; and the same without an exception. */
    private static void failing() {
        for (int divisor = 1; divisor >= 0; divisor--) {
            try {
                divide(5, divisor);
            } catch (ArithmeticException byZero) {
                caught();
            }
            try {
                remainder(5L, divisor);
            } catch (ArithmeticException byZero) {
                caught();
            }
            try {
                element(new int[divisor], 0);
            } catch (ArrayIndexOutOfBoundsException outside) {
                caught();
            }
            try {
                length(divisor == 1 ? new int[1] : null);
            } catch (NullPointerException none) {
                caught();
            }
            try {
                text(divisor == 1 ? "" : Integer.valueOf(1));
            } catch (ClassCastException notText) {
                caught();
            }
            try {
                array(divisor - 1);
            } catch (NegativeArraySizeException negative) {
                caught();
            }
            try {
                store(divisor == 1 ? new Object[1] : new String[1]);
            } catch (ArrayStoreException otherType) {
                caught();
            }
            try {
                thrown(divisor == 1 ? null : new IllegalStateException());
            } catch (IllegalStateException | NullPointerException failure) {
                caught();
            }
        }
    }

    /** Constructors that only set fields, of three levels; and one whose field access fails. */
    private static void constructors() {
        new Three(1, 2, 3);
        try {
            new Three(null);
        } catch (NullPointerException none) {
            caught();
        }
    }

    /** Waits until the finalizer of {@code Closing} has run; that of {@code Empty} would have run by then, too. */
    private static void finalizers() throws InterruptedException {
        Thread finalizer = finalizer();
        make();
        while (!closed || finalizer.getState() != Thread.State.WAITING) {
            System.gc();
            Thread.sleep(10);
        }
    }

    private static Thread finalizer() {
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            if (thread.getName().equals("Finalizer")) {
                return thread;
            }
        }
        throw new AssertionError("no finalizer");
    }

    private static void make() {
        for (int i = 0; i < 3; i++) {
            new Empty();
        }
        new Closing();
    }

    private int getNumber() {
        return number;
    }

    private void setNumber(int number) {
        this.number = number;
    }

    private long getWide() {
        return wide;
    }

    private void setWide(long wide) {
        this.wide = wide;
    }

    private Leaves getOther() {
        return other;
    }

    private void setOther(Leaves other) {
        this.other = other;
    }

    private void nothing() {}

    private static int getShared() {
        return shared;
    }

    private static void setShared(int value) {
        shared = value;
    }

    private static int add(int left, int right) {
        return left + right;
    }

    private static long shift(long value) {
        return value << 2;
    }

    private static float half(float value) {
        return value / 2;
    }

    private static double mixed(int left, double right) {
        return left * right;
    }

    private static char character(int offset) {
        return (char) offset;
    }

    private static boolean isOdd(int value) {
        return (value & 1) == 1;
    }

    private static String constant() {
        return "constant";
    }

    private static Leaves nothingAtAll() {
        return null;
    }

    private static int numberOf(Leaves leaves) {
        return leaves.number;
    }

    private static void setNumberOf(Leaves leaves, int number) {
        leaves.number = number;
    }

    private static int divide(int dividend, int divisor) {
        return dividend / divisor;
    }

    private static long remainder(long dividend, long divisor) {
        return dividend % divisor;
    }

    private static int element(int[] array, int index) {
        return array[index];
    }

    private static int length(int[] array) {
        return array.length;
    }

    private static String text(Object object) {
        return (String) object;
    }

    private static int[] array(int length) {
        return new int[length];
    }

    private static void store(Object[] array) {
        array[0] = Boolean.TRUE;
    }

    private static void thrown(RuntimeException failure) {
        throw failure;
    }

    private static class One {
        private final int one;

        One(int one) {
            this.one = one;
        }
    }

    private static class Two extends One {
        private final int two;

        Two(int one, int two) {
            super(one);
            this.two = two;
        }
    }

    private static final class Three extends Two {
        private final int three;

        Three(int one, int two, int three) {
            super(one, two);
            this.three = three;
        }

        Three(Three other) {
            this(1, other.three, 3);
        }
    }

    @SuppressWarnings({"deprecation", "removal"})
    private static final class Closing {
        @Override
        protected void finalize() {
            closed();
        }

        private static void closed() {
            closed = true;
        }
    }

    @SuppressWarnings({"deprecation", "removal"})
    private static final class Empty {
        @Override
        protected void finalize() {}
    }
}
