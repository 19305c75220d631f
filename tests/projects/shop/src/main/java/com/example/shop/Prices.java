package com.example.shop;

import java.math.BigDecimal;
import java.math.RoundingMode;
import org.springframework.stereotype.Service;

/** Two mistakes: a customer without a region pays no tax, and a discount with a percent sign is none. */
@Service
class Prices {
    int percent(String discount) {
        try {
            return Integer.parseInt(discount);
        } catch (NumberFormatException e) {
            return 0;
        }
    }

    BigDecimal discounted(Purchase purchase) {
        BigDecimal part = BigDecimal.valueOf(100 - percent(purchase.discount()));
        return purchase.amount().multiply(part).divide(BigDecimal.valueOf(100), 2, RoundingMode.HALF_UP);
    }

    BigDecimal rate(Customer customer) {
        return customer.region().equals("north") ? new BigDecimal("1.19") : BigDecimal.ONE;
    }

    BigDecimal withTax(Customer customer, BigDecimal amount) {
        try {
            return amount.multiply(rate(customer)).setScale(2, RoundingMode.HALF_UP);
        } catch (NullPointerException e) {
            return amount;
        }
    }
}
