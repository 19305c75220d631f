package harness;

import java.util.function.IntUnaryOperator;

/**
 * Methods whose lines run in a known order. The test of lines has the order; the letters at the ends of lines are their
 * names there.
 */
public final class Lined {
    private static int total = 0; // @a

    private Lined() {}

    public static void main(String[] args) throws Exception {
        add(count(2));
        add(whileLoop(2));
        add(oneLine(3));
        add(choose(1) + choose(2) + choose(3));
        add(caught(false) + caught(true));
        add(locked(new Object(), false));
        try {
            locked(new Object(), true);
        } catch (IllegalStateException expected) {
            add(1);
        }
        add(new Derived(4).value);
        try {
            new Derived(-1);
        } catch (IllegalArgumentException expected) {
            add(1);
        }
        add(apply(5));
        add(spread(1, 2));
        add(deep(2));
        add(unnamed(7));
        System.out.println(total);
    }

    private static void add(int more) {
        total += more; // @b
    } // @c

    private static int count(int n) {
        int sum = 0; // @d
        for (int i = 0; i < n; i++) { // @e
            sum += unnamed(i); // @f
        }
        return sum; // @g
    }

    private static int whileLoop(int n) {
        int i = 0; // @h
        while (i < n) { // @i
            i++; // @j
        }
        return i; // @k
    }

    private static int oneLine(int n) {
        int sum = 0; for (int i = 0; i < n; i++) { sum += i; } return sum; // @l
    }

    private static int choose(int n) {
        if (n == 1) { // @m
            return 10; // @n
        }
        switch (n) { // @o
            case 2:
                return 20; // @p
            default:
                return 30; // @q
        }
    }

    private static int caught(boolean fails) {
        int result = 0; // @r
        try {
            result = mayFail(fails); // @s
        } catch (IllegalStateException e) { // @t
            result = 100; // @u
        } finally {
            result++; // @v
        } // @1
        return result; // @w
    }

    private static int mayFail(boolean fails) {
        if (fails) { // @x
            throw new IllegalStateException("as it should"); // @y
        }
        return 5; // @z
    }

    private static int locked(Object lock, boolean fails) {
        synchronized (lock) { // @A
            return mayFail(fails); // @B
        } // @C
    }

    private static int apply(int n) {
        IntUnaryOperator twice = x -> { // @D
            return 2 * x; // @E
        };
        return twice.applyAsInt(n); // @F
    }

    private static int spread(int a, int b) {
        return unnamed( // @G
                unnamed(a) // @H
                        + unnamed(b)); // @I
    }

    private static int deep(int n) {
        if (n == 0) { // @J
            return 0; // @K
        }
        return deep(n - 1) // @L
                + 1;
    }

    private static int unnamed(int n) {
        return n;
    }

    /** Its constructor refuses negative numbers. */
    static class Base {
        final int value;

        Base(int value) { // @O
            if (value < 0) { // @P
                throw new IllegalArgumentException("negative"); // @Q
            }
            this.value = value; // @R
        } // @S
    }

    /** Calls it with an argument that has lines of its own. */
    static final class Derived extends Base {
        final int twice;

        Derived(int value) {
            super( // @U
                    unnamed(value)); // @V
            this.twice = 2 * value; // @W
        } // @X
    }
}
