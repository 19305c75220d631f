//! Runs the binary `flow`: one module per subject, in one test binary, so that it is linked once.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod affected;
mod analysing;
mod asking;
mod attaching;
mod columns;
mod combining;
mod common;
mod comparing;
mod converting;
mod damage;
mod exporting;
mod finding;
mod following;
mod html;
mod looks;
mod manual;
mod one_file;
mod own;
mod page_calls;
mod profiling;
mod readers;
mod reading;
mod recording;
mod recordings;
mod repair;
mod shapes;
mod starting;
mod tables;

mod testing;
mod timing;
mod values;
mod viewing;
