package harness;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** Reads and writes of fields and array elements, of which each is known; methods of `Cell` are not recorded. */
public final class Accessed {
    private static long total = 40;
    private static volatile double ratio = 0.5;
    private static String word = "first";
    private static int unnamed = 1;
    private static String password = "hunter2";
    private static char[] secret = "hunter3".toCharArray();

    private Accessed() {}

    public static void main(String[] args) throws ReflectiveOperationException {
        statics();
        System.out.println(instances(new Cell()));
        System.out.println(elements());
        System.out.println(failures());
        new Derived(5);
        constants(new Cell());
        ordered(1);
        secrets();
        unseen(new Cell());
        if (args.length > 0) {
            Runtime.getRuntime().halt(3);
        }
    }

    private static void statics() {
        total += 2;
        ratio = ratio * 2;
        word = word + unnamed;
    }

    private static String instances(Cell cell) {
        cell.z = true;
        cell.b = (byte) 300;
        cell.c = 'x';
        cell.s--;
        cell.i = cell.i++ + 5;
        cell.f = 1.5f;
        cell.j = 1L << 40;
        cell.d = cell.j;
        cell.text = "abcdefghijklmnop";
        cell.next = cell;
        cell.next.next = null;
        cell.numbers = new int[] {1, 2};
        return cell.text + cell.i + cell.numbers.length;
    }

    private static long elements() {
        boolean[] z = {true};
        byte[] b = {-1};
        char[] c = {'c'};
        short[] s = {3};
        int[] i = {4};
        float[] f = {5};
        long[] j = {6};
        double[] d = {7};
        Object[] o = {null};
        long[][] rows = {j};
        z[0] = !z[0];
        b[0]--;
        c[0]++;
        s[0] += 2;
        i[0] ^= 1;
        f[0] = -f[0];
        rows[0][0] *= 7;
        d[0] = rows[0][0];
        o[0] = "text";
        return i[0] + j[0];
    }

    /** The messages of the JVM are those of the program's own code. */
    private static String failures() {
        int[] none = null;
        Cell nobody = null;
        double[] few = new double[1];
        Object[] texts = new String[1];
        StringBuilder failed = new StringBuilder();
        try {
            failed.append(none[0]);
        } catch (NullPointerException expected) {
            failed.append(expected.getMessage()).append('\n');
        }
        try {
            none[1] = 2;
        } catch (NullPointerException expected) {
            failed.append(expected.getMessage()).append('\n');
        }
        try {
            failed.append(nobody.next.i);
        } catch (NullPointerException expected) {
            failed.append(expected.getMessage()).append('\n');
        }
        try {
            nobody.j = 3L;
        } catch (NullPointerException expected) {
            failed.append(expected.getMessage()).append('\n');
        }
        try {
            few[-1] = 4;
        } catch (ArrayIndexOutOfBoundsException expected) {
            failed.append(expected.getMessage()).append('\n');
        }
        try {
            texts[0] = 5;
        } catch (ArrayStoreException expected) {
            failed.append(expected.getMessage());
        }
        return failed.toString();
    }

    private static int constants(Cell cell) {
        return cell.fixed + Limits.LOWEST + Limits.COMPUTED.length();
    }

    private static int ordered(int more) {
        unnamed += more;
        int[] grown = {unnamed};
        return twice(grown[0]);
    }

    private static int twice(int number) {
        return 2 * number;
    }

    private static int secrets() {
        String copy = password;
        secret[0] = copy.charAt(0);
        try {
            fail(copy);
        } catch (IllegalStateException expected) {
            return secret.length;
        }
        return 0;
    }

    private static void fail(String password) {
        throw new IllegalStateException("not " + password);
    }

    /** None of this is an instruction that accesses the field. */
    private static void unseen(Cell cell) throws ReflectiveOperationException {
        VarHandle handle = MethodHandles.lookup().findVarHandle(Cell.class, "i", int.class);
        handle.set(cell, 9);
        Cell.class.getDeclaredField("i").setInt(cell, 8);
    }

    /** Its fields. */
    static final class Cell {
        boolean z;
        byte b;
        char c;
        short s;
        int i;
        float f;
        long j;
        double d;
        String text;
        Cell next;
        int[] numbers;
        final int fixed = Integer.parseInt("12");
    }

    /** A constant of the compiler, and one that is a field of an interface. */
    interface Limits {
        int LOWEST = 1;
        String COMPUTED = String.valueOf(2);
    }

    private abstract static class Base {
        protected final int kept;

        Base(int kept) {
            this.kept = kept + early();
        }

        abstract int early();
    }

    /** An inner class: javac has it write the object around it before it calls the other constructor. */
    private static final class Derived extends Base {
        private final long own;

        Derived(int number) {
            super(number);
            own = kept;
            new Inner().get();
        }

        @Override
        int early() {
            return (int) own;
        }

        private final class Inner {
            long get() {
                return own;
            }
        }
    }
}
