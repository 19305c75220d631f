//! Files of text: properties, JSON, and JSON objects one a line.

pub mod ids;
pub mod jsonl;
pub mod lines;
pub mod manifest;
pub mod methods;
pub mod roles;
pub mod thread_dump;
pub mod threads;
