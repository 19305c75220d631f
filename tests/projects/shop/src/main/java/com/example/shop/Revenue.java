package com.example.shop;

import java.math.BigDecimal;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;

@RestController
class Revenue {
    private final Purchases purchases;
    private final Prices prices;

    Revenue(Purchases purchases, Prices prices) {
        this.purchases = purchases;
        this.prices = prices;
    }

    /** Reads the purchases of each customer with a statement of its own. */
    @GetMapping("/revenue")
    BigDecimal all() {
        BigDecimal sum = BigDecimal.ZERO;
        for (Customer customer : purchases.customers()) sum = sum.add(of(customer));
        return sum;
    }

    @GetMapping("/revenue/{id}")
    BigDecimal one(@PathVariable("id") int id) {
        return of(purchases.customers().get(id - 1));
    }

    private BigDecimal of(Customer customer) {
        BigDecimal sum = BigDecimal.ZERO;
        for (Purchase purchase : purchases.of(customer.id())) sum = sum.add(prices.discounted(purchase));
        return prices.withTax(customer, sum);
    }
}
