package com.example.shop;

import java.math.BigDecimal;

record Purchase(int id, int customer, BigDecimal amount, String discount) {}
