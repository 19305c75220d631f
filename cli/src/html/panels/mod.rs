//! Lists of the page from which calls are chosen: the tests that ran, and the requests that were served.

pub(super) mod ran_tests;
pub(super) mod requests;
