package harness;

import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;

/**
 * Calls whose values are known. None of the code of these objects may run because values are recorded: their methods
 * throw, and count that they were called.
 */
public final class Valued {
    private static int disturbed = 0;

    private Valued() {}

    public static void main(String[] args) {
        primitives(true, (byte) -3, '\u00e9', (short) 300, -7, 1.5f, 1L << 40, -0.25);
        System.out.println(boxes(5, -6L, 'x', false, 2.5, (byte) 7, (short) 8, 0.5f));
        text("abc", "", null, "\ud83d\ude00\ud800", "0123456789".repeat(100));
        arrays(new int[] {1, -2}, new byte[1 << 20], new boolean[0], new String[][] {{"a"}}, new double[] {0.5});
        for (int length = 0; length < 140; length += length < 20 ? 1 : length < 126 ? 53 : 1) {
            lengths("a".repeat(length), "\u00e9".repeat(length), "\u20ac".repeat(length));
        }
        constant(Colour.GREEN);
        new Hostile(1).instance(2);
        try {
            new Hostile(-1);
        } catch (IllegalArgumentException expected) {
            wide(1L, 2.0, 3L, "end");
        }
        try {
            fail("no such order");
        } catch (Silent expected) {
            fail();
        }
        List<Object> cyclic = new ArrayList<>();
        cyclic.add(cyclic);
        objects(cyclic, proxy(), new Hostile(3), () -> 4);
        System.out.println(secrets("user", "hunter2"));
        System.out.println(disturbed);
        if (args.length > 0) {
            Runtime.getRuntime().halt(3);
        }
    }

    private static int primitives(boolean z, byte b, char c, short s, int i, float f, long j, double d) {
        return i;
    }

    private static Object boxes(
            Integer i, Long j, Character c, Boolean z, Double d, Byte b, Short s, Float f) {
        return j;
    }

    private static String text(String some, String empty, String none, String odd, String tall) {
        return tall;
    }

    private static long arrays(int[] ints, byte[] large, boolean[] none, String[][] texts, double[] doubles) {
        return large.length;
    }

    private static void lengths(String ascii, String latin, String other) {}

    private static Colour constant(Colour colour) {
        return colour;
    }

    private static double wide(long first, double second, long third, String last) {
        return first + second + third;
    }

    private static void fail(String why) {
        throw new Silent(why);
    }

    private static void fail() {
        try {
            throw new Silent(null);
        } catch (Silent expected) {
            return;
        }
    }

    private static Object objects(Object cyclic, Object proxy, Object hostile, java.util.function.IntSupplier lambda) {
        return null;
    }

    private static String secrets(String user, String password) {
        String known = check(password);
        return user + known.length();
    }

    private static String check(Object anything) {
        return (String) anything;
    }

    private static Object proxy() {
        Class<?>[] interfaces = {Runnable.class};
        return Proxy.newProxyInstance(Valued.class.getClassLoader(), interfaces, (self, method, args) -> {
            disturbed++;
            throw new IllegalStateException();
        });
    }

    enum Colour {
        RED, GREEN
    }

    /** The exception has its own idea of its message. */
    private static final class Silent extends RuntimeException {
        private static final long serialVersionUID = 1;

        Silent(String why) {
            super(why);
        }

        @Override
        public String getMessage() {
            disturbed++;
            throw new IllegalStateException();
        }
    }

    private static final class Hostile implements Comparable<Hostile>, CharSequence {
        private final int number;

        Hostile(int number) {
            this.number = positive(number, this);
        }

        private static int positive(int number, Hostile half) {
            if (number < 0) {
                throw new IllegalArgumentException("negative");
            }
            return number;
        }

        int instance(int more) {
            return number + more;
        }

        @Override
        public String toString() {
            return String.valueOf(length());
        }

        @Override
        public int hashCode() {
            return length();
        }

        @Override
        public boolean equals(Object other) {
            return length() > 0;
        }

        @Override
        public int compareTo(Hostile other) {
            return length();
        }

        @Override
        public int length() {
            disturbed++;
            throw new IllegalStateException();
        }

        @Override
        public char charAt(int index) {
            return (char) length();
        }

        @Override
        public CharSequence subSequence(int from, int to) {
            return String.valueOf(length());
        }
    }
}
