package harness;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.time.Duration;
import org.junit.jupiter.api.Disabled;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A test class that is recorded: tests in which exceptions are thrown, tests that are not run, none that fails.
 *
 * <p>Calls of {@code Calculator.check} left by an exception: 1 in {@code dividesByZero}, 3 in {@code
 * dividesAnythingByZero}, 1 in {@code dividesByZeroInAnotherThread}: 5.
 */
class CalculatorFailureTest {
    private final Calculator calculator = new Calculator();

    @Test
    void dividesByZero() {
        ArithmeticException exception =
                assertThrows(ArithmeticException.class, () -> calculator.divide(1, 0));
        assertEquals("division by zero", exception.getMessage());
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, 0, 1})
    void dividesAnythingByZero(int dividend) {
        assertThrows(ArithmeticException.class, () -> calculator.divide(dividend, 0));
    }

    @Test
    void dividesByZeroInAnotherThread() {
        assertTimeoutPreemptively(
                Duration.ofMinutes(1),
                () -> assertThrows(ArithmeticException.class, () -> calculator.divide(2, 0)));
    }

    @Test
    void isAbortedByAnAssumption() {
        assumeTrue(calculator.recall() != 0, "the memory is empty at first");
        throw new AssertionError("not reached");
    }

    @Test
    @Disabled("shows that a disabled test is not called")
    void isDisabled() {
        throw new AssertionError("not called");
    }
}
