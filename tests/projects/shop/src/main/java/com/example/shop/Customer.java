package com.example.shop;

record Customer(int id, String name, String region) {}
