package com.example.orders;

import java.util.ArrayList;
import java.util.List;

/** Something to be bought. */
public final class Order {
    private final List<Integer> prices = new ArrayList<>();

    /** Adds an item. */
    public Order add(int price) {
        prices.add(checked(price));
        return this;
    }

    /** What all items cost, less the discount. */
    public int total() {
        int sum = 0;
        for (int price : prices) {
            sum += price;
        }
        return sum - discount(sum);
    }

    private static int checked(int price) {
        if (price < 0) {
            throw new IllegalArgumentException("a price of " + price);
        }
        return price;
    }

    private static int discount(int sum) {
        return sum >= 100 ? rounded(sum / 10.0) : 0;
    }

    private static int rounded(double amount) {
        return (int) Math.round(amount);
    }
}
