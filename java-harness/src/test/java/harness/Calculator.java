package harness;

/** The class that {@link CalculatorTest} and {@link CalculatorFailureTest} test. */
final class Calculator {
    private int memory;

    int add(int left, int right) {
        return left + right;
    }

    int multiply(int left, int right) {
        int product = 0;
        for (int i = 0; i < right; i++) {
            product = add(product, left);
        }
        return product;
    }

    int divide(int dividend, int divisor) {
        check(divisor);
        return dividend / divisor;
    }

    void store(int value) {
        memory = value;
    }

    int recall() {
        return memory;
    }

    private static void check(int divisor) {
        if (divisor == 0) {
            throw new ArithmeticException("division by zero");
        }
    }
}
