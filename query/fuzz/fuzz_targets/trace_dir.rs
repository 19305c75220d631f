//! See `query/tests/it/checks/trace_dir.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| flow_query_fuzz::check("trace_dir", bytes));
