//! `flow report --lines`, of recorded lines: how often each line was reached, by source file; as a table or in the format of LCOV.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use flow_codec::format::ids::key;
use flow_codec::format::marks::Mark;
use flow_codec::read::{Timeline, Trace};
use flow_codec::{MethodNames, NameForm};
use flow_query::analysis::LineCounts;
use flow_query::rows::ReachedRow;

use crate::args::{Format, LinesArgs};
use crate::failure::{Failure, Status};
use crate::input::source::Source;
use crate::input::source::answer::Answer;
use crate::input::sources::{self, Sources};
use crate::output::{Out, Progress, escaped, grouped, message, plural};
use flow_query::reading::{Listener as _, read_marked};

/// The width of counts in text.
const COUNT_WIDTH: usize = 12;

/// The lines of a source file.
#[derive(Default)]
struct FileLines {
    /// How often each was reached.
    lines: BTreeMap<u32, u64>,
    /// The methods in it by name: the first line, and how many calls began.
    methods: BTreeMap<String, (u32, u64)>,
}

impl FileLines {
    /// `7 of 9 lines reached`.
    fn summary(&self) -> String {
        let (reached, all) = (self.reached(), self.lines.len() as u64);
        format!("{} of {} reached", grouped(reached), plural(all, "line"))
    }

    fn reached(&self) -> u64 {
        self.lines.values().filter(|count| **count > 0).count() as u64
    }
}

/// Shows the lines of a source whose threads are not selected yet.
pub(crate) fn run(args: &LinesArgs, mut source: Source, out: &mut Out) -> Result<Status, Failure> {
    source.choose_part(&args.part)?;
    source.report_losses();
    // LCOV has no rows.
    let format = if args.lcov { Format::Json } else { args.source.format };
    let mut answer = Answer::new::<ReachedRow<'_>>(&source, format, usize::MAX, out)?;
    let mut progress = Progress::new(source.bytes(), out);
    let mut status = source.status;
    for trace in &source.traces {
        let mut counts = LineCounts::new(trace.methods());
        for file in trace.files() {
            let timeline = file.timeline().map(Timeline::with_lines);
            let is_needed = |mark: &Mark| matches!(mark, Mark::Line(_));
            let end = |counts: &mut LineCounts, _: &Timeline<'_>| counts.end_thread();
            let reading = read_marked(file, timeline, is_needed, &mut progress, &mut counts, end);
            status = status.and(reading.report(file, &progress));
        }
        let files = by_file(trace, args, &counts);
        if files.is_empty() {
            progress.message(
                "no lines are recorded; record with --lines GLOB, such as --lines 'com.app.Orders#total'",
            );
        }
        let mut texts = Sources::new(&args.sources);
        if args.lcov {
            lcov(&files, &mut texts, out)?;
        } else {
            sources::link(trace.methods(), &args.sources, out);
            answer.begin(trace, out)?;
            for (number, (file, lines)) in files.iter().enumerate() {
                if answer.is_text() {
                    text((number, file, lines), &mut texts, out)?;
                } else {
                    let row = |(line, count): (&u32, &u64)| ReachedRow {
                        file,
                        line: *line,
                        count: *count,
                    };
                    answer.rows(lines.lines.iter().map(row), out)?;
                }
            }
        }
        if counts.unplaced() > 0 {
            message(&format!(
                "{} of frames that were entered before recording began or was resumed: their method is unknown",
                plural(counts.unplaced(), "line")
            ));
        }
    }
    Ok(status)
}

/// The lines of the selected methods, by file.
fn by_file(trace: &Trace, args: &LinesArgs, counts: &LineCounts) -> BTreeMap<String, FileLines> {
    let selection = args.part.filter.selection(trace);
    let names = MethodNames::new(trace.methods());
    let end = trace.manifest().and_then(|manifest| manifest.end.as_ref());
    let groups = end.iter().flat_map(|end| &end.not_recorded);
    // Their lines are known, but were not recorded.
    let without: BTreeSet<&String> = groups
        .filter(|group| group.reason == "without-lines")
        .flat_map(|group| &group.methods)
        .collect();
    let mut files: BTreeMap<String, FileLines> = BTreeMap::new();
    for (id, method) in trace.methods().iter().filter(|(id, _)| selection.contains(*id)) {
        let info = method.info();
        if without.contains(&key(&info.class, &info.name, &info.descriptor)) {
            continue;
        }
        for counted in counts.get(id) {
            let info = method.version(counted.version);
            for (number, count) in &counted.lines {
                let (file, line) = info.source_line((*number).into());
                let file = files.entry(file.into_owned()).or_default();
                let sum = file.lines.entry(line).or_default();
                *sum = sum.saturating_add(*count);
            }
            // Code that the compiler copied into the method belongs to it, too, and may be all of its code.
            let mut numbers = counted.lines.keys().map(|number| u32::from(*number));
            let own = |number: &u32| info.inlined_line(*number).is_none();
            let first = numbers.clone().find(own).or(numbers.next()).unwrap_or_default();
            let (file, first) = info.source_line(first);
            let methods = &mut files.entry(file.into_owned()).or_default().methods;
            let known = methods.entry(names.get(id, NameForm::Full)).or_insert((first, 0));
            *known = (known.0.min(first), known.1.saturating_add(counted.calls));
        }
    }
    files
}

fn text(
    (number, file, lines): (usize, &str, &FileLines),
    sources: &mut Sources,
    out: &mut Out,
) -> Result<(), Failure> {
    if number > 0 {
        out.write_all(b"\n")?;
    }
    out.heading(&format!("{}  {}", escaped(file), lines.summary()))?;
    out.heading(&format!("{:>COUNT_WIDTH$}  {}", "count", "line"))?;
    let name = escaped(file.rsplit('/').next().unwrap_or(file));
    let last = lines.lines.keys().next_back().map_or(0, |line| line.to_string().len());
    let width = name.chars().count() + 1 + last;
    for (line, count) in &lines.lines {
        // As editors and other tools write it.
        let place = format!("{name}:{line}");
        let row = match sources.line(file, *line) {
            Some(text) => format!("{place:<width$}  {}", escaped(text)),
            None => place,
        };
        writeln!(out, "{:>COUNT_WIDTH$}  {row}", grouped(*count))?;
    }
    Ok(())
}

/// Prints a tracefile of LCOV, as `geninfo` describes it.
fn lcov(
    files: &BTreeMap<String, FileLines>,
    sources: &mut Sources,
    out: &mut Out,
) -> Result<(), Failure> {
    for (file, FileLines { lines, methods }) in files {
        let path = sources.path(file).map(|path| path.display().to_string());
        writeln!(out, "TN:\nSF:{}", escaped(path.as_deref().unwrap_or(file)))?;
        // The format has names up to the end of the line.
        let mut in_order: Vec<_> = methods.iter().collect();
        in_order.sort_by_key(|(name, (first, _))| (*first, *name));
        for (name, (first, _)) in &in_order {
            writeln!(out, "FN:{first},{}", escaped(name))?;
        }
        for (name, (_, calls)) in &in_order {
            writeln!(out, "FNDA:{calls},{}", escaped(name))?;
        }
        let hit = methods.values().filter(|(_, calls)| *calls > 0).count();
        writeln!(out, "FNF:{}\nFNH:{hit}", methods.len())?;
        for (line, count) in lines {
            writeln!(out, "DA:{line},{count}")?;
        }
        let hit = lines.values().filter(|count| **count > 0).count();
        writeln!(out, "LF:{}\nLH:{hit}\nend_of_record", lines.len())?;
    }
    Ok(())
}
