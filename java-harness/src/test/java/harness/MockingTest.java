package harness;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.mockito.ArgumentMatchers.anyInt;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.mockConstruction;
import static org.mockito.Mockito.mockStatic;
import static org.mockito.Mockito.spy;
import static org.mockito.Mockito.times;
import static org.mockito.Mockito.verify;
import static org.mockito.Mockito.when;

import org.junit.jupiter.api.Test;
import org.mockito.MockedConstruction;
import org.mockito.MockedStatic;

/** A test class that is recorded: Mockito changes loaded classes, even final ones, with an agent of its own. */
class MockingTest {
    @Test
    void mocksAFinalClass() {
        Calculator mocked = mock(Calculator.class);
        when(mocked.add(1, 2)).thenReturn(42);
        assertEquals(42, mocked.add(1, 2));
        assertEquals(0, mocked.add(2, 2));
        assertEquals(4, new Calculator().add(2, 2));
    }

    @Test
    void spiesOnAnObject() {
        Calculator spied = spy(new Calculator());
        assertEquals(6, spied.multiply(2, 3));
        verify(spied, times(3)).add(anyInt(), anyInt());
        assertThrows(ArithmeticException.class, () -> spied.divide(1, 0));
    }

    @Test
    void mocksStaticMethods() {
        assertEquals(3, Dice.roll());
        try (MockedStatic<Dice> dice = mockStatic(Dice.class)) {
            dice.when(Dice::roll).thenReturn(6);
            assertEquals(6, Dice.roll());
        }
        assertEquals(3, Dice.roll());
    }

    @Test
    void mocksConstructors() {
        try (MockedConstruction<Dice> dice = mockConstruction(Dice.class)) {
            assertEquals(0, new Dice(5).value());
            assertEquals(1, dice.constructed().size());
        }
        assertEquals(5, new Dice(5).value());
    }

    /** The mocked class, whose constructor calls one that is recorded, too. */
    private static final class Dice extends Die {
        Dice(int value) {
            super(value);
        }

        static int roll() {
            return 3;
        }
    }

    private static class Die {
        private final int value;

        Die(int value) {
            this.value = value;
        }

        int value() {
            return value;
        }
    }
}
