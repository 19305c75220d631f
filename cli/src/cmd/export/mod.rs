//! `flow export`: a trace in the format of another tool.

pub(crate) mod baseline;
mod convert;
mod coverage;
mod destination;
mod request;
mod shapes;
mod size;
mod write;

use flow_codec::read::{Selection, TestRun, TimeLimits, Trace};
use flow_query::analysis::PathTree;
use flow_query::profile::{FrameGrouping, Frames, GapRule};

use crate::args::{By, ExportArgs, Format, SourceArgs, To};
use crate::export::{HplSamples, OfPresets, Target, Viewer, Writer, is_binary, viewer, writer};
use crate::failure::{Failure, Status};
use crate::input::flags::ThreadArgs;
use crate::input::samples::Samples;
use crate::input::source::Source;
use crate::input::times::{no_samples, selected, time_line, weight_of};
use crate::output::{Out, Progress, Unit, bytes, message, plural};
use destination::Destination;
use flow_query::open::is_log;
use flow_query::reading::{Selected, Soundness};
use request::Export;

pub(crate) fn run(args: &ExportArgs, out: &mut Out) -> Result<Status, Failure> {
    if !matches!(args.to, To::Shapes | To::Tool(Target::Parquet)) {
        args.expect_no_origin()?;
    }
    let to = match args.to {
        To::Flowtrace => return convert::run(&args.convert(true)?, out),
        To::Flow => return convert::run(&args.convert(false)?, out),
        To::Shapes => return shapes::run(&args.shapes()?),
        To::Baseline => return baseline::run(&args.baseline()?, out),
        To::Coverage(format) => return coverage::run(&args.coverage()?, format, out),
        To::Tool(to) => to,
    };
    args.expect_no_compression()?;
    args.expect_no_sources()?;
    if args.out.is_none() && out.is_terminal() && is_binary(to) && !args.estimate {
        return Err(Failure::Usage("this format is binary: use --out FILE or a pipe".to_owned()));
    }
    let mut source = Source::open(&SourceArgs { dir: args.dir.clone(), format: Format::Text })?;
    if let Some(status) = log_of_samples(args, to, &source, out)? {
        return Ok(status);
    }
    if let Some(tree) = samples(args, to, &mut source, out)? {
        let trace = source.only("export")?;
        let (chosen, scale) = (Selected::of(Selection::all()), Unit::new(tree.axis()));
        let export = Export {
            args,
            to,
            trace,
            chosen,
            scale,
            samples: Some(tree),
            tests: Vec::new(),
            of_presets: OfPresets::default(),
        };
        return match writer(to, trace, scale, &export.of_presets) {
            Writer::Paths(format) => Ok(source.status.and(export.paths(format, out)?)),
            Writer::Timeline(_) | Writer::Tables | Writer::Instructions(_) => Ok(source.status),
        };
    }
    // Read before threads and tests are selected. Errors in their marks are reported when these threads are read.
    let tests = match to {
        Target::Parquet => TestRun::read_all(source.only("export")?).0,
        _ => Vec::new(),
    };
    let of_presets = of_presets(args, to, source.only("export")?);
    source.choose_part(&args.part)?;
    args.when.expect_in(&source.traces)?;
    source.expect_calls()?;
    let scale = {
        let trace = source.only("export")?;
        match to.is_timeline() {
            true if to == Target::Otlp => times_of_spans(args.weight.by, trace)?,
            true => time_line(args.weight.by, trace)?,
            false => weight_of(args.weight.by, trace)?,
        }
    };
    if to.numbers_calls(scale) {
        source.ask(|traces| traces.number_calls(&mut ()))?;
    }
    let trace = source.only("export")?;
    let chosen = selected(trace, &args.part.filter, &args.when)?;
    let export = Export { args, to, trace, chosen, scale, samples: None, tests, of_presets };
    let status = match writer(to, trace, scale, &export.of_presets) {
        Writer::Timeline(_) | Writer::Tables | Writer::Instructions(_)
            if export.is_limited() && scale == Unit::Calls =>
        {
            return Err(Failure::Usage(
                "--time and --min-duration cannot be combined with a timeline by calls".to_owned(),
            ));
        }
        Writer::Timeline(timeline) => export.timeline(timeline, out)?,
        Writer::Tables if args.estimate => {
            return Err(Failure::Usage("--estimate is for one file, not for tables".to_owned()));
        }
        Writer::Tables => export.tables()?,
        Writer::Instructions(_) if args.estimate => {
            return Err(Failure::Usage("--estimate is for calls, not for instructions".to_owned()));
        }
        Writer::Instructions(mut blinky) => export.instructions(&mut blinky, out)?,
        Writer::Paths(format) => export.paths(format, out)?,
    };
    Ok(source.status.and(status))
}

/// What a format shows of presets.
fn of_presets(args: &ExportArgs, to: Target, trace: &Trace) -> OfPresets {
    let mut of_presets = OfPresets::new(args.part.context.as_ref());
    if to.shows_hand_overs() {
        of_presets = of_presets.with_hand_overs(trace);
    }
    if to.shows_contexts() {
        of_presets = of_presets.with_contexts(trace);
    }
    of_presets
}

/// The unit of spans, which have times.
fn times_of_spans(by: Option<By>, trace: &Trace) -> Result<Unit, Failure> {
    match by {
        Some(By::Calls) => Err(Failure::Usage("--by calls does not apply to spans".to_owned())),
        by => time_line(by.or(Some(By::Wall)), trace),
    }
}

/// Writes the samples of a trace as a log. `None` if calls are written.
fn log_of_samples(
    args: &ExportArgs,
    to: Target,
    source: &Source,
    out: &mut Out,
) -> Result<Option<Status>, Failure> {
    if to != Target::Hpl || args.estimate || is_log(&args.dir) || !is_whole(args) {
        return Ok(None);
    }
    let trace = source.only("export")?;
    let has_calls = trace.files().iter().any(|file| file.bytes() > 0);
    if has_calls && !args.samples {
        return Ok(None);
    }
    let Some(mut samples) = trace.samples()? else {
        return match args.samples {
            true => Err(no_samples(trace)),
            false => Ok(None),
        };
    };
    let threads = &args.part.threads;
    if let Some(viewer) = viewer(to).filter(|_| !args.force) {
        refuse_large(&viewer, trace, threads)?;
    }
    let (mut log, mut count) = (HplSamples::new(trace), 0_u64);
    let (mut to, _) = Destination::new(args.out.as_deref(), 0, out)?;
    while let Some((sampling, sample)) = samples.next_sample()? {
        if threads.include(trace, sample.thread) {
            log.add(sampling, &sample, &mut |bytes| to.put(bytes))?;
            count = count.saturating_add(HplSamples::size(&sample).1);
        }
    }
    let left_out = log.finish(&mut |bytes| to.put(bytes))?;
    to.finish(&plural(count, "sample"))?;
    let mut status = source.status;
    if left_out > 0 {
        let left_out = plural(left_out, "interval");
        message(&format!(
            "{left_out} left out: a sample of waiting becomes at most 65,536 records"
        ));
        status = status.and(Status::Partial);
    }
    Ok(Some(status.and(Soundness::skipping(samples.damage(), &Progress::hidden()))))
}

/// Refuses to write a log of samples that is too large for its reader.
fn refuse_large(viewer: &Viewer, trace: &Trace, threads: &ThreadArgs) -> Result<(), Failure> {
    let Some(mut samples) = trace.samples()? else { return Ok(()) };
    let (mut size, mut records) = (0_u64, 0_u64);
    while let Some((_, sample)) = samples.next_sample()? {
        if threads.include(trace, sample.thread) {
            let (of_sample, copies) = HplSamples::size(&sample);
            size = size.saturating_add(of_sample);
            records = records.saturating_add(copies);
        }
    }
    if size <= viewer.bytes {
        return Ok(());
    }
    Err(Failure::Failed(format!(
        "not written: about {} for {}, and {}; --thread makes it smaller; --force writes it anyway",
        bytes(size),
        plural(records, "sample"),
        viewer.limit
    )))
}

/// Returns whether no calls are left out.
fn is_whole(args: &ExportArgs) -> bool {
    args.part.filter.is_all()
        && args.part.tests.patterns.is_empty()
        && args.when.limits() == TimeLimits::NONE
}

/// The samples to write, by path; the source then has the methods of these paths. `None` if calls are written: in
/// timelines, of which samples are only parts, if some calls are selected, and where calls were recorded, unless samples
/// are requested.
fn samples(
    args: &ExportArgs,
    to: Target,
    source: &mut Source,
    out: &mut Out,
) -> Result<Option<PathTree>, Failure> {
    if to.is_timeline() || !is_whole(args) {
        return match args.samples {
            true => Err(Failure::Usage(
                "--samples is for all samples as collapsed, svg, pprof, otlp-profile or hpl"
                    .to_owned(),
            )),
            false => Ok(None),
        };
    }
    let has_calls =
        source.traces.iter().flat_map(|trace| trace.files()).any(|file| file.bytes() > 0);
    if has_calls && !args.samples && !is_log(&args.dir) {
        return Ok(None);
    }
    // Only these have lines.
    let grouping = match to {
        Target::Pprof | Target::OtlpProfile => FrameGrouping::Line,
        _ => FrameGrouping::Method,
    };
    let is_time = matches!(args.weight.by, Some(By::Wall | By::Cpu));
    let trace = source.only("export")?;
    let Some(samples) = Samples::read(source, trace, &args.part, GapRule::Thread, out)? else {
        return match args.samples {
            true => Err(Failure::Failed(format!("{}: no samples", args.dir.display()))),
            false => Ok(None),
        };
    };
    let frames = Frames::new(&samples.profile, grouping);
    // Timelines of other tools have one time.
    let unit = if is_time { Unit::Nanos } else { Unit::Samples };
    let (tree, methods) = (samples.tree(&frames, &samples.threads, unit), frames.as_methods());
    source.status = source.status.and(samples.status);
    for trace in &mut source.traces {
        trace.set_methods(methods.clone());
    }
    Ok(Some(tree))
}
