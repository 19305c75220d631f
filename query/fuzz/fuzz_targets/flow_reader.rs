//! See `query/tests/it/checks/flow_reader.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| flow_query_fuzz::check("flow_reader", bytes));
