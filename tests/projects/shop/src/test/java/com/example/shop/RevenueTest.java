package com.example.shop;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.math.BigDecimal;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.boot.test.web.client.TestRestTemplate;

/** All tests but the first fail, because of two exceptions that the shop swallows. */
@SpringBootTest(webEnvironment = WebEnvironment.RANDOM_PORT)
class RevenueTest {
    @Autowired
    private TestRestTemplate client;

    private BigDecimal revenue(String path) {
        return client.getForObject(path, BigDecimal.class);
    }

    @Test
    void ofTheFirstCustomer() {
        // 120, 240 and 360, a tenth less, with tax.
        assertEquals(new BigDecimal("771.12"), revenue("/revenue/1"));
    }

    @Test
    void ofACustomerWithADiscountInPercent() {
        // 50, 170 and 290, a tenth less, with tax.
        assertEquals(new BigDecimal("546.21"), revenue("/revenue/6"));
    }

    @Test
    void ofACustomerWithoutARegion() {
        // 60, 180 and 300, a tenth less, with tax.
        assertEquals(new BigDecimal("578.34"), revenue("/revenue/7"));
    }

    @Test
    void ofAll() {
        assertEquals(new BigDecimal("7132.86"), revenue("/revenue"));
    }
}
