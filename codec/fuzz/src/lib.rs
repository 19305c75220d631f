//! The checks of `codec/tests`, for a fuzzer to break. See `scripts/fuzz.sh`.

#[path = "../../tests/checks/mod.rs"]
mod checks;

/// Runs the check of this name.
///
/// # Panics
/// Something does not hold that should, or there is no such check.
pub fn check(name: &str, bytes: &[u8]) {
    let found = checks::CHECKS.iter().find(|(other, _)| *other == name);
    let (_, check) = found.expect("a check for each target");
    check(bytes);
}
