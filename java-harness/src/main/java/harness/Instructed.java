package harness;

import java.util.ArrayList;
import java.util.List;

/**
 * Instructions of every kind that a compiler generates, and, in the class {@code harness/Opcodes}, most others. The argument says
 * how often the loop of {@link #work} runs.
 */
public final class Instructed {
    private static long total;
    private static Object last = "first";
    private final Object[] objects = new Object[3];
    private final int[] ints = {1, 2, 3};
    private int field;
    private long wide;
    private double real;

    Instructed(int field) {
        this.field = field;
    }

    /** A constructor that calls another one, with a condition among the arguments. */
    Instructed(boolean large) {
        this(large ? 1_000_000 : 2);
        field++;
    }

    public static void main(String[] args) throws Exception {
        int times = args.length > 0 ? Integer.parseInt(args[0]) : 2;
        for (int i = 0; i < times; i++) {
            work(i);
        }
        System.out.println(total);
        System.out.println(last);
    }

    static void work(int i) throws Exception {
        total += loop(3) + choose(i % 4) + text(i % 2 == 0 ? "b" : "x");
        total += new Instructed(i % 2 == 0).members(i);
        total += (long) numbers(i + 5, i + 7L, i + 0.5f, i + 0.25);
        total += arrays(i) + types(i % 2 == 0 ? (Object) "text" : List.of(i)) + caught(i) + finallyDone(i);
        total += nested(i) + new Derived(i).call() + lambdas(i) + locked(new Object(), i) + wideLocals(i);
        Opcodes.run();
        last = same(Opcodes.LAST, i);
    }

    static int loop(int n) {
        int sum = 0;
        for (int i = 0; i < n; i++) {
            sum += i;
        }
        return sum;
    }

    static int choose(int i) {
        switch (i) {
            case 0:
                return 5;
            case 1:
                i += 300;
                break;
            case 2:
                throwAway(i);
                break;
            default:
                i = -40_000;
        }
        switch (i) {
            case 100_000:
                return 1;
            case -40_000:
                return 2;
            default:
                return i;
        }
    }

    static long throwAway(int i) {
        throwAway((long) i);
        return i;
    }

    static double throwAway(long i) {
        return i;
    }

    static int text(String s) {
        switch (s) {
            case "a":
                return 1;
            case "b":
                return 2;
            default:
                return s.length();
        }
    }

    long members(int i) {
        int copy = field = i;
        long wideCopy = wide = i + 1L;
        real += 1.5;
        last = objects[1] = this;
        Object same = objects[1];
        long staticCopy = total = total + 1;
        Object again = last = same;
        if (again == this && last != null) {
            field += ints[copy % 3];
        }
        boolean differs = again != objects[2];
        return field + wideCopy + staticCopy + (long) real + (differs ? 1 : 0);
    }

    static Object same(Object o, int i) {
        if (i != 3) {
            return o;
        }
        return o.toString();
    }

    static float half(float f) {
        return f / 2;
    }

    static double numbers(int i, long l, float f, double d) {
        int a = ((i + 3) * 7 - 2) / 3 % 11;
        a = (a << 2 | i & 6) ^ (i >> 1) + (i >>> 2);
        a = -a + ~i;
        long b = ((l + 3L) * 7L - 2L) / 3L % 11L;
        b = (b << 2 | l & 6L) ^ (l >> 1) + (l >>> 2);
        b = -b;
        float c = -((half(f) + 3f) * 7f - 2f) / 3f % 11f;
        double e = -((d + 3.0) * 7.0 - 2.0) / 3.0 % 11.0;
        byte small = (byte) a;
        char letter = (char) a;
        short mid = (short) a;
        int ints = (int) b + (int) c + (int) e + small + letter + mid;
        long longs = (long) a + (long) c + (long) e;
        float floats = (float) a + (float) b + (float) e;
        double doubles = (double) a + (double) b + (double) c;
        int compared = (b < l ? 1 : 0) + (c < f ? 1 : 0) + (c > f ? 1 : 0) + (e < d ? 1 : 0) + (e > d ? 1 : 0);
        if (a >= 0 && a <= i || a < -5 || a > 100 || a == 7 || a != i && i < a && i != 0) {
            compared += i > 0 ? 1 : 2;
        }
        if (i == 9) {
            compared++;
        }
        if (i > a && i >= a && i <= 1000) {
            compared--;
        }
        return ints + longs + floats + doubles + compared;
    }

    static int arrays(int i) {
        boolean[] booleans = {true, false};
        byte[] bytes = new byte[2];
        char[] chars = new char[2];
        short[] shorts = new short[2];
        int[] ints = new int[2];
        long[] longs = new long[2];
        float[] floats = new float[2];
        double[] doubles = new double[2];
        String[] texts = {"a", null};
        int[][] grid = new int[2][3];
        bytes[1] = (byte) i;
        chars[0] = (char) i;
        shorts[1] = (short) i;
        int copy = ints[0] = i;
        long longCopy = longs[1] = i;
        longs[0] += 2;
        floats[1] = i;
        doubles[0] = i;
        grid[1][2] = 4;
        float sum = (booleans[0] ? 1 : 0) + bytes[1] + chars[0] + shorts[1] + ints[0] + longs[1] + floats[1];
        int failures = 0;
        try {
            ints[i - 2 * i - 1] = 1;
        } catch (ArrayIndexOutOfBoundsException expected) {
            failures++;
        }
        try {
            texts = null;
            texts[0] = "never";
        } catch (NullPointerException expected) {
            failures++;
        }
        return (int) (sum + doubles[0] + grid[1][2] + grid.length + copy + longCopy) + failures;
    }

    static int types(Object o) {
        if (o instanceof String) {
            return ((String) o).length();
        }
        List<?> list = (List<?>) o;
        Class<?> type = List.class;
        Object other = null;
        return list.size() + (other == null ? 1 : 0) + type.getName().length();
    }

    static int caught(int i) {
        try {
            return 10 / (i - 1) + fail(i);
        } catch (ArithmeticException e) {
            return -1;
        } catch (IllegalStateException e) {
            return -2;
        }
    }

    static int fail(int i) {
        if (i % 3 == 2) {
            throw new IllegalStateException("two, three");
        }
        return i;
    }

    static int finallyDone(int i) {
        int done = 0;
        try {
            done += nested(i);
        } finally {
            done++;
        }
        return done;
    }

    static int nested(int i) {
        try {
            try {
                return deep(i % 5);
            } finally {
                total++;
            }
        } catch (IllegalStateException e) {
            return 7;
        }
    }

    static int deep(int i) {
        return i <= 0 ? fail(2) : i == 1 ? 0 : deep(i - 2);
    }

    static int lambdas(int i) {
        List<Integer> list = new ArrayList<>();
        Runnable add = () -> list.add(i);
        add.run();
        return list.get(0);
    }

    static int locked(Object lock, int i) {
        synchronized (lock) {
            i++;
        }
        try {
            synchronized (lock) {
                return fail(i);
            }
        } catch (IllegalStateException e) {
            return both(lock);
        }
    }

    private static synchronized int both(Object lock) {
        return lock.hashCode() == lock.hashCode() ? 1 : 0;
    }

    /** More than 256 slots of local variables. */
    static int wideLocals(int i) {
        long a0 = i, a1 = a0, a2 = a1, a3 = a2, a4 = a3, a5 = a4, a6 = a5, a7 = a6, a8 = a7, a9 = a8;
        long b0 = i, b1 = b0, b2 = b1, b3 = b2, b4 = b3, b5 = b4, b6 = b5, b7 = b6, b8 = b7, b9 = b8;
        long c0 = i, c1 = c0, c2 = c1, c3 = c2, c4 = c3, c5 = c4, c6 = c5, c7 = c6, c8 = c7, c9 = c8;
        long d0 = i, d1 = d0, d2 = d1, d3 = d2, d4 = d3, d5 = d4, d6 = d5, d7 = d6, d8 = d7, d9 = d8;
        long e0 = i, e1 = e0, e2 = e1, e3 = e2, e4 = e3, e5 = e4, e6 = e5, e7 = e6, e8 = e7, e9 = e8;
        long f0 = i, f1 = f0, f2 = f1, f3 = f2, f4 = f3, f5 = f4, f6 = f5, f7 = f6, f8 = f7, f9 = f8;
        long g0 = i, g1 = g0, g2 = g1, g3 = g2, g4 = g3, g5 = g4, g6 = g5, g7 = g6, g8 = g7, g9 = g8;
        long h0 = i, h1 = h0, h2 = h1, h3 = h2, h4 = h3, h5 = h4, h6 = h5, h7 = h6, h8 = h7, h9 = h8;
        long i0 = i, i1 = i0, i2 = i1, i3 = i2, i4 = i3, i5 = i4, i6 = i5, i7 = i6, i8 = i7, i9 = i8;
        long j0 = i, j1 = j0, j2 = j1, j3 = j2, j4 = j3, j5 = j4, j6 = j5, j7 = j6, j8 = j7, j9 = j8;
        long k0 = i, k1 = k0, k2 = k1, k3 = k2, k4 = k3, k5 = k4, k6 = k5, k7 = k6, k8 = k7, k9 = k8;
        long l0 = i, l1 = l0, l2 = l1, l3 = l2, l4 = l3, l5 = l4, l6 = l5, l7 = l6, l8 = l7, l9 = l8;
        long m0 = i, m1 = m0, m2 = m1, m3 = m2, m4 = m3, m5 = m4, m6 = m5, m7 = m6, m8 = m7, m9 = m8;
        int far = i;
        far += 3;
        far++;
        Object object = "far";
        float f = far;
        double d = f;
        for (int n = 0; n < 2; n++) {
            far += 1000;
        }
        return far + (int) m9 + (int) l9 + (int) d + (object == null ? 1 : 0);
    }

    /** The base of {@link Derived}; fails in its constructor now and then. */
    static class Base {
        final int number;

        Base(int number) {
            this.number = fail(number);
        }

        int call() {
            return number;
        }
    }

    /** Its methods run with `this` of a class that is not theirs. */
    static class Derived extends Base {
        static int made;
        private final String name;

        Derived(int number) {
            super(number % 3 == 2 ? 0 : number);
            name = "made" + made++;
        }

        @Override
        int call() {
            int more = super.call();
            try {
                new Base(2);
            } catch (IllegalStateException e) {
                more++;
            }
            return more + name.length();
        }
    }
}
