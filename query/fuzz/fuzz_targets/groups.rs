//! See `query/tests/it/checks/groups.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| flow_query_fuzz::check("groups", bytes));
