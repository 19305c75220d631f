//! See `query/tests/it/checks/methods.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| flow_query_fuzz::check("methods", bytes));
