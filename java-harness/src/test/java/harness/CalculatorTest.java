package harness;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTimeout;

import java.time.Duration;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A test class that is recorded: every kind of JUnit test, all of which pass.
 *
 * <p>Calls of {@code Calculator.add} in all: 1 in {@code adds}, 4 in {@code addsParameterized}, 5 in {@code multiplies}
 * (2 and 3), 6 in {@code repeats} (3 times 2), 3 in {@code dynamic}, 0 elsewhere: 19.
 */
class CalculatorTest {
    private Calculator calculator;

    @BeforeEach
    void setUp() {
        calculator = new Calculator();
    }

    @AfterEach
    void tearDown() {
        calculator = null;
    }

    @Test
    @DisplayName("1 + 2 = 3")
    void adds() {
        assertEquals(3, calculator.add(1, 2));
    }

    @ParameterizedTest(name = "{0} + {1} = {2}")
    @CsvSource({"0, 0, 0", "1, 1, 2", "-1, 1, 0", "2147483647, 1, -2147483648"})
    void addsParameterized(int left, int right, int sum) {
        assertEquals(sum, calculator.add(left, right));
    }

    @ParameterizedTest
    @MethodSource("products")
    void multiplies(int left, int right, int product) {
        assertEquals(product, calculator.multiply(left, right));
    }

    static Stream<Arguments> products() {
        return Stream.of(Arguments.of(3, 2, 6), Arguments.of(5, 3, 15));
    }

    @RepeatedTest(3)
    void repeats() {
        assertEquals(8, calculator.multiply(4, 2));
    }

    @Test
    void dividesInTime() {
        assertTimeout(Duration.ofMinutes(1), () -> assertEquals(4, calculator.divide(8, 2)));
    }

    @TestFactory
    Stream<DynamicTest> dynamic() {
        return Stream.of(1, 2, 3)
                .map(number -> DynamicTest.dynamicTest(
                        "doubles " + number, () -> assertEquals(2 * number, calculator.add(number, number))));
    }

    @Nested
    class Memory {
        @BeforeEach
        void store() {
            calculator.store(42);
        }

        @Test
        void recalls() {
            assertEquals(42, calculator.recall());
        }

        @Nested
        class Overwritten {
            @BeforeEach
            void storeAgain() {
                calculator.store(43);
            }

            @Test
            void recallsTheLast() {
                assertEquals(43, calculator.recall());
            }
        }
    }
}
