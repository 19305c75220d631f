//! Folded stacks, the text format of flame graph tools: one line for each path, with its methods separated by
//! semicolons, and its self weight.

use std::io::{self, Write};

use flow_codec::read::Trace;

use super::super::names::ExportNames;
use super::path_format::PathFormat;
use super::stacks::Stacks;

/// Writes stacks as text.
pub(in crate::export) struct Collapsed;

impl PathFormat for Collapsed {
    fn size(&self, stacks: &Stacks<'_>, trace: &Trace) -> u64 {
        let mut names = ExportNames::new(trace.methods(), form);
        let weight = if stacks.tree().axis().is_some() { " 1000000\n" } else { " 1000\n" };
        stacks.size(weight.len() as u64, |method| names.get(method).len() as u64 + 1)
    }

    fn write(&self, stacks: &Stacks<'_>, trace: &Trace, to: &mut dyn Write) -> io::Result<()> {
        let mut outcome = Ok(());
        lines(stacks, trace, form, |stack, calls| {
            if outcome.is_ok() {
                outcome = writeln!(to, "{stack} {calls}");
            }
        });
        outcome
    }
}

/// Passes each stack that has a self weight to `each`, as text. `form` renders the names of methods.
pub(in crate::export) fn lines(
    stacks: &Stacks<'_>,
    trace: &Trace,
    form: fn(&str) -> String,
    mut each: impl FnMut(&str, u64),
) {
    let mut names = ExportNames::new(trace.methods(), form);
    let mut line = String::new();
    // The end of each frame in the line.
    let mut ends: Vec<usize> = Vec::new();
    stacks.for_each(|stack| {
        ends.truncate(stack.depth);
        line.truncate(ends.last().copied().unwrap_or(0));
        if !line.is_empty() {
            line.push(';');
        }
        line.push_str(names.get(stack.method));
        ends.push(line.len());
        if stack.calls > 0 {
            each(&line, stack.calls);
        }
    });
}

/// Replaces semicolons, which separate frames.
pub(in crate::export) fn form(name: &str) -> String {
    name.replace(';', ":")
}
