//! `flow report --html` and `--open`: a page for a browser.

use crate::input::times::selected;
use flow_codec::read::TimeLimits;

use super::browser;
use crate::args::ReportArgs;
use crate::cmd::page_file::PageFile;
use crate::failure::{Failure, Status};
use crate::html::{Note, page};
use crate::input::source::Source;
use crate::output::{Out, duration, instant};

/// Writes the page of a trace to a file, and opens it if requested.
pub(super) fn run(args: &ReportArgs, out: &mut Out) -> Result<Status, Failure> {
    // Checked before reading, which may take long.
    let place = match &args.view.html {
        None => PageFile::Temporary,
        Some(to) => PageFile::find(to)?,
    };
    if args.view.open && matches!(place, PageFile::Stdout) {
        let text = "--open opens a file; --html - writes to standard output".to_owned();
        return Err(Failure::Usage(text));
    }
    let mut source = Source::open(&args.source)?;
    let request = source.choose_part_as_tree(&args.part)?;
    args.when.expect_in(&source.traces)?;
    source.expect_calls()?;
    let trace = source.only("name")?;
    let chosen = selected(trace, &args.part.filter, &args.when)?;
    let mut notes: Vec<_> = source.missing.values().map(|missing| Note::missing(missing)).collect();
    if !chosen.selection().is_all() {
        let text = "--include or --exclude hides calls; their callees move up to their callers";
        notes.push(Note::info(text));
    }
    if let Some(text) = limits_text(chosen.limits()) {
        notes.push(Note::info(&text));
    }
    if let Some((_, title)) = &request {
        notes.push(Note::info(&format!("only {title}, with what it handed to other threads")));
    }
    let (threads, tests) = (&args.part.threads.patterns, &args.part.tests.patterns);
    for (what, patterns) in [("threads", threads), ("tests", tests)] {
        if !patterns.is_empty() {
            let patterns = patterns.join(", ");
            notes.push(Note::info(&format!("only the selected {what}: {patterns}")));
        }
    }
    let selected = (&chosen, args.part.select());
    let (page, status) = page(trace, selected, request, args.weight.by, notes)?;
    if let Some(path) = place.write(&page, out)?
        && args.view.open
    {
        browser::open(&path);
    }
    Ok(source.status.and(status))
}

/// Describes the selection by time.
fn limits_text(limits: TimeLimits) -> Option<String> {
    let TimeLimits { from_ns, to_ns, min_ns } = limits;
    let to = if to_ns == u64::MAX { "the end".to_owned() } else { instant(to_ns) };
    let parts = [
        (from_ns > 0 || to_ns < u64::MAX).then(|| format!("from {} to {to}", instant(from_ns))),
        (min_ns > 0).then(|| format!("of calls of at least {}", duration(min_ns))),
    ];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("only {}", parts.join(", ")))
}
