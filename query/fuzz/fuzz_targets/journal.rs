//! See `query/tests/it/checks/journal.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| flow_query_fuzz::check("journal", bytes));
