package com.example.orders;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class OrderTest {
    @Test
    void nothingCostsNothing() {
        assertEquals(0, new Order().total());
    }

    @Test
    void itemsAddUp() {
        assertEquals(30, new Order().add(10).add(20).total());
    }

    @ParameterizedTest
    @CsvSource({"99, 99", "100, 90", "205, 184"})
    void manyItemsAreCheaper(int price, int total) {
        assertEquals(total, new Order().add(price).total());
    }

    @Test
    void pricesAreNotNegative() {
        assertThrows(IllegalArgumentException.class, () -> new Order().add(-1));
    }
}
