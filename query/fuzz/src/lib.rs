//! The checks of `query/tests`, for a fuzzer to break. See `scripts/fuzz.sh`.

#[path = "../../tests/it/checks/mod.rs"]
mod checks;
#[allow(dead_code, reason = "the tests use more of it")]
#[path = "../../tests/it/support/mod.rs"]
mod support;

/// Runs the check of this name.
///
/// # Panics
/// Something does not hold that should, or there is no such check.
pub fn check(name: &str, bytes: &[u8]) {
    let found = checks::CHECKS.iter().find(|(other, _)| *other == name);
    let (_, check) = found.expect("a check for each target");
    check(bytes);
}
