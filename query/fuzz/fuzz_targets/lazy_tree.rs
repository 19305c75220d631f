//! See `query/tests/it/checks/lazy_tree.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| flow_query_fuzz::check("lazy_tree", bytes));
