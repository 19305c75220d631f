//! See `query/tests/it/checks/jsonl_reader.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| flow_query_fuzz::check("jsonl_reader", bytes));
