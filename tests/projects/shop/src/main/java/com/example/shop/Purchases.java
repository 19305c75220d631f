package com.example.shop;

import java.util.List;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.stereotype.Repository;

@Repository
class Purchases {
    private final JdbcTemplate sql;

    Purchases(JdbcTemplate sql) {
        this.sql = sql;
    }

    List<Customer> customers() {
        return sql.query(
                "select * from customer order by id",
                (row, at) -> new Customer(row.getInt("id"), row.getString("name"), row.getString("region")));
    }

    List<Purchase> of(int customer) {
        return sql.query(
                "select * from purchase where customer = ? order by id",
                (row, at) -> new Purchase(
                        row.getInt("id"), row.getInt("customer"), row.getBigDecimal("amount"), row.getString("discount")),
                customer);
    }
}
