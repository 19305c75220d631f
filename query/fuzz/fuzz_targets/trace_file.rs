//! See `query/tests/it/checks/trace_file.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| flow_query_fuzz::check("trace_file", bytes));
