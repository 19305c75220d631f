//! Flags that are given and do not apply to what a verb is asked to show: they are refused by name.

use crate::failure::Failure;

/// The name of a flag that is given.
pub(super) type Given = &'static str;

/// The names of the flags that are given.
pub(super) fn given(flags: &[(Given, bool)]) -> Vec<Given> {
    flags.iter().filter(|(_, is_given)| *is_given).map(|(flag, _)| *flag).collect()
}

/// Refuses given flags that are not among those of what is shown.
pub(super) fn expect(what: &str, given: &[Given], flags: &[&str]) -> Result<(), Failure> {
    match given.iter().find(|flag| !flags.contains(flag)) {
        Some(flag) => Err(Failure::Usage(format!("{flag} does not apply to {what}"))),
        None => Ok(()),
    }
}
