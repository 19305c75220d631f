package harness;

/**
 * Plain recursion: one call per level, two calls per level, and calls in the arguments of calls.
 *
 * <p>Tree: under {@code main}, a chain of eleven {@code fact} (10 down to 0), the binary tree of 67 {@code fib} for
 * {@code fib(8)}, and the 27 {@code ackermann} of {@code ackermann(2, 2)}, where the inner call of {@code ackermann(m -
 * 1, ackermann(m, n - 1))} is complete before the outer one begins: both are siblings.
 */
public final class Recursion {
    private Recursion() {}

    public static void main(String[] args) {
        System.out.println("fact(10) = " + fact(10));
        System.out.println("fib(8) = " + fib(8));
        System.out.println("ackermann(2, 2) = " + ackermann(2, 2));
    }

    private static long fact(int n) {
        return n == 0 ? 1 : n * fact(n - 1);
    }

    private static int fib(int n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }

    private static int ackermann(int m, int n) {
        if (m == 0) {
            return n + 1;
        }
        if (n == 0) {
            return ackermann(m - 1, 1);
        }
        return ackermann(m - 1, ackermann(m, n - 1));
    }
}
