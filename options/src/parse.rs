//! From settings to options.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use flow_codec::Glob;
use flow_codec::format::manifest::{Order, Timing};
use flow_codec::format::names::{CONTAINER_EXTENSION, EventFormat, container_stem};
use flow_codec::write::Compression;
use log::LevelFilter;

use crate::filter::{DEFAULT_MAX_VALUE, DEFAULT_VALUES_DEPTH, FilterSpec, LineRecording};
use crate::mains::MainFilter;
use crate::presets::{PresetFile, Presets};
use crate::related::Related;
use crate::sources::{Setting, bad_value, from_environment, from_string, gather, split};
use crate::tracked::Tracked;
use crate::values::{
    DEFAULT_PERIOD, globs, list, non_empty, parse_bool, parse_clock, parse_compression,
    parse_durability, parse_keep, parse_min_free, parse_order, parse_overflow, parse_rotate,
    parse_sampling, parse_size, parse_snapshot_on,
};
use crate::{
    CommandLine, Durability, EngineKind, IdSource, Keep, MinFree, OnError, OptionError, Overflow,
    Overload, Parts, Sampling, SnapshotOn, Streaming,
};

/// The default of the time between two samples of positions, without calls.
const PERIOD_WITHOUT_CALLS: Duration = Duration::from_millis(10);

const DEFAULT_OUT: &str = "flow-trace";

const DEFAULT_EARLIER: usize = 1;
/// The largest value of `earlier`.
const MAX_EARLIER: usize = 99;
const DEFAULT_CHUNK_BYTES: usize = 64 * 1024;
const CHUNK_BYTES: RangeInclusive<u64> = 64..=16 << 20;
/// The most characters of a string and elements of an array.
const MAX_VALUE: usize = 1000;
const MAX_VALUES_DEPTH: u32 = 5;
const MAX_SIZE_BYTES: RangeInclusive<u64> = 1 << 20..=u64::MAX;
/// The default of `max-size` with `keep=memory`: hundreds of millions of calls, and less than most programs have.
const MAX_MEMORY_BYTES: u64 = 256 << 20;
/// Where a trace is in memory, unless `journal` names another place.
const MEMORY: &str = "/dev/shm";

/// Where a trace is that is only sent, if the environment names no other place.
const TEMPORARY: &str = "/tmp";
/// The directory for such a trace, which nobody else can read, and its file.
const SPILL: &str = "flow-stream-%p-%t/app.flowtrace";

/// All options, with defaults for those that are not set.
#[derive(Clone, Debug)]
pub struct Options {
    /// The trace directory, or a file whose name ends in `.flowtrace`, with `%p`, `%t` and `%h` not yet replaced.
    pub out: String,
    /// How many earlier traces are kept.
    pub earlier: usize,
    /// Whether the trace stays in memory until the recording ends.
    pub in_memory: bool,
    /// In which files the trace is, and how much of it is kept.
    pub parts: Parts,
    /// Where the trace is sent while it is recorded.
    pub streaming: Option<Streaming>,
    /// When a snapshot is taken.
    pub snapshot_on: SnapshotOn,
    /// Which methods are recorded.
    pub filter: FilterSpec,
    /// Whether it is recorded what threads wait for.
    pub waits: bool,
    /// Patterns for the classes of the application itself. They select nothing.
    pub own: Vec<String>,
    /// How calls are seen.
    pub engine: EngineKind,
    /// How stacks are sampled, if they are.
    pub sampling: Option<Sampling>,
    /// The format of events.
    pub format: EventFormat,
    /// How a trace in one file is compressed; `None` as well as there is time for.
    pub compression: Option<Compression>,
    /// How times of events are recorded.
    pub clock: Timing,
    /// What is known about the order of events of different threads.
    pub order: Order,
    /// Where ids come from.
    pub ids: IdSource,
    /// The most that a thread records before it writes to its file.
    pub chunk_bytes: usize,
    /// The largest size of the trace.
    pub max_bytes: Option<u64>,
    /// How much of the disk must stay free.
    pub min_free: MinFree,
    /// Whether recording begins paused.
    pub starts_paused: bool,
    /// Which JVMs are recorded.
    pub mains: MainFilter,
    /// The jar with the listeners that mark tests, for JVMs that run tests.
    pub api: Option<PathBuf>,
    /// Where the journal is, unless in the trace directory.
    pub journal: Option<PathBuf>,
    /// What the recording survives.
    pub durability: Durability,
    /// What happens if the disk is too slow.
    pub overload: Overload,
    /// How much of the command line is stored.
    pub command: CommandLine,
    /// What is reported on stderr.
    pub log: LevelFilter,
    /// The options that were set, by key, from all sources.
    pub set: BTreeMap<String, String>,
}

impl Options {
    /// Parses the agent's option string; `environment` looks up a variable.
    ///
    /// # Errors
    /// An option is unknown, given twice in one source, or has a bad value; or the `config` file cannot be
    /// read.
    pub fn parse(
        text: &str,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, OptionError> {
        let settings = gather(text, &environment)?;
        let value = |key: &str| settings.get(key);
        let size = |key: &str, allowed| value(key).map(|s| parse_size(s, &allowed)).transpose();

        let ids = id_source(&settings)?;
        let log = level(&settings)?;
        let format = event_format(&settings)?;
        value("quick").map(parse_bool).transpose()?;
        let sampling = parse_sampling(value("sample"), value("sample-clock"), value("max-frames"))?;
        let engine = engine(&settings, sampling.as_ref())?;
        let clock = clock(&settings, engine, format)?;
        let streaming = streaming(&settings)?;
        let out = place(&settings, streaming.as_ref(), environment)?;
        check_place(&settings, &out, format)?;
        let (keep, parts) = kept(value("rotate"), value("keep"), &out, value("durability"))?;
        let in_memory = keep == Keep::Memory;
        let is_only = streaming.as_ref().is_some_and(|streaming| streaming.is_only);
        let memory = || in_memory.then(|| PathBuf::from(MEMORY));
        Ok(Self {
            earlier: value("earlier").map_or(Ok(DEFAULT_EARLIER), |earlier| {
                let number = earlier.value.parse().ok().filter(|number| *number <= MAX_EARLIER);
                number.ok_or_else(|| bad_value(earlier))
            })?,
            in_memory,
            parts,
            snapshot_on: value("snapshot-on").map_or(Ok(SnapshotOn::default()), |setting| {
                needs_one_file(setting, &out)?;
                parse_snapshot_on(setting)
            })?,
            waits: waits(value("waits"), engine, format)?,
            filter: filter_with_details(&settings, engine, format)?,
            own: value("own").map_or(Ok(Vec::new()), |own| list(own, ';'))?,
            engine,
            sampling,
            format,
            compression: value("compress").map_or(Ok(None), parse_compression)?,
            clock,
            order: parse_order(value("order"), clock, format)?,
            ids,
            chunk_bytes: match size("chunk", CHUNK_BYTES)? {
                Some(bytes) => usize::try_from(bytes).unwrap_or(DEFAULT_CHUNK_BYTES),
                None => DEFAULT_CHUNK_BYTES,
            },
            max_bytes: size("max-size", MAX_SIZE_BYTES)?
                .or_else(|| in_memory.then_some(MAX_MEMORY_BYTES)),
            min_free: value("min-free").map_or(Ok(MinFree::Default), parse_min_free)?,
            starts_paused: starts_paused(&settings)?,
            mains: match value("only-main") {
                Some(patterns) => MainFilter::new(list(patterns, ';')?.iter().map(String::as_str)),
                None => MainFilter::default(),
            },
            overload: overload(&settings, streaming.as_ref(), format)?,
            streaming,
            command: command_line(&settings)?,
            api: value("api").map(non_empty).transpose()?.map(PathBuf::from),
            durability: value("durability").map_or(Ok(Durability::Process), parse_durability)?,
            journal: value("journal")
                .filter(|_| !is_only)
                .map(non_empty)
                .transpose()?
                .map(PathBuf::from)
                .or_else(memory),
            log,
            out,
            set: settings.into_iter().map(|(key, setting)| (key, setting.value)).collect(),
        })
    }

    /// Returns what to do if the recording cannot start. Parsed separately, because it also applies if the
    /// other options are wrong.
    pub fn on_error(text: &str, environment: impl Fn(&str) -> Option<String>) -> OnError {
        let continues = |setting: &Setting| setting.key == "onerror" && setting.value == "continue";
        let in_string = split(text).any(|item| {
            item.split_once('=')
                .is_some_and(|(k, v)| (k.trim(), v.trim()) == ("onerror", "continue"))
        });
        let elsewhere = from_environment(&environment).iter().any(continues)
            || gather(text, &environment)
                .is_ok_and(|settings| settings.get("onerror").is_some_and(continues));
        if in_string || elsewhere { OnError::Continue } else { OnError::Stop }
    }
}

/// The keys of options that can change while a recording runs.
const FILTER_KEYS: [&str; 6] =
    ["target", "include", "exclude", "constructors", "synthetic", "natives"];

/// Parses the options that choose the methods to record: those of a string that has no others. What it does not name has its
/// default.
///
/// # Errors
/// An option is none of these, is given twice, or has a bad value.
pub fn parse_filter(text: &str) -> Result<FilterSpec, OptionError> {
    let mut settings = BTreeMap::new();
    for setting in from_string(text, "filter")? {
        if !FILTER_KEYS.contains(&setting.key.as_str()) {
            return Err(OptionError(format!(
                "filter: '{}' cannot change; {} can",
                setting.key,
                FILTER_KEYS.join(", ")
            )));
        }
        if let Some(earlier) = settings.insert(setting.key.clone(), setting) {
            return Err(OptionError(format!("filter: {} is given twice; keep one", earlier.key)));
        }
    }
    let filter = filter(&settings)?;
    match filter.related.is_empty() {
        true => Ok(filter),
        false => Err(OptionError(
            "filter: patterns with @ and extends: are for the start of a recording; name classes and methods".to_owned(),
        )),
    }
}

/// All settings, by key.
type Settings = BTreeMap<String, Setting>;

/// Returns a setting with its value.
fn with_text<'a>(settings: &'a Settings, key: &str) -> Option<(&'a Setting, &'a str)> {
    settings.get(key).map(|setting| (setting, setting.value.as_str()))
}

fn id_source(settings: &Settings) -> Result<IdSource, OptionError> {
    Ok(match (settings.get("ids"), settings.get("optimize")) {
        (_, Some(optimize)) => IdSource::Optimize(non_empty(optimize)?.into()),
        (Some(ids), None) => IdSource::File(non_empty(ids)?.into()),
        (None, None) => IdSource::Fresh,
    })
}

fn level(settings: &Settings) -> Result<LevelFilter, OptionError> {
    Ok(match (settings.get("log"), settings.get("debug")) {
        (Some(level), _) => level.value.parse().map_err(|_| bad_value(level))?,
        (None, Some(debug)) if parse_bool(debug)? => LevelFilter::Debug,
        _ => LevelFilter::Warn,
    })
}

fn event_format(settings: &Settings) -> Result<EventFormat, OptionError> {
    match with_text(settings, "format") {
        None | Some((_, "binary")) => Ok(EventFormat::Binary),
        Some((_, "jsonl")) => Ok(EventFormat::Jsonl),
        Some((format, _)) => Err(bad_value(format)),
    }
}

fn engine(settings: &Settings, sampling: Option<&Sampling>) -> Result<EngineKind, OptionError> {
    match with_text(settings, "engine") {
        None | Some((_, "instrument")) => Ok(EngineKind::Instrument),
        Some((_, "events")) => Ok(EngineKind::Events),
        Some((_, "none")) if sampling.is_some() => Ok(EngineKind::None),
        Some((engine, "none")) => Err(OptionError(format!(
            "engine=none ({}): records nothing; add sample=10ms, or leave out engine",
            engine.place
        ))),
        Some((engine, _)) => Err(bad_value(engine)),
    }
}

fn clock(
    settings: &Settings,
    engine: EngineKind,
    format: EventFormat,
) -> Result<Timing, OptionError> {
    match (settings.get("clock"), format) {
        // There are no events.
        _ if engine == EngineKind::None => Ok(Timing::Off),
        (Some(setting), _) => match parse_clock(setting)? {
            Timing::Sampled { .. } | Timing::Exact if format == EventFormat::Jsonl => {
                Err(OptionError(format!(
                    "{}={} ({}): format=jsonl has no times; use format=binary, or clock=off",
                    setting.key, setting.value, setting.place
                )))
            }
            clock => Ok(clock),
        },
        // Only those of tests.
        (None, EventFormat::Binary)
            if with_text(settings, "calls").is_some_and(|it| it.1 == "off") =>
        {
            Ok(Timing::Sampled { period: PERIOD_WITHOUT_CALLS })
        }
        (None, EventFormat::Binary) => Ok(Timing::Sampled { period: DEFAULT_PERIOD }),
        (None, EventFormat::Jsonl) => Ok(Timing::Off),
    }
}

/// Where the trace is.
fn place(
    settings: &Settings,
    streaming: Option<&Streaming>,
    environment: impl Fn(&str) -> Option<String>,
) -> Result<String, OptionError> {
    match (settings.get("out"), streaming) {
        (None, Some(_)) => {
            // Where the journal is too.
            let place = settings.get("journal").map(non_empty).transpose()?.map(str::to_owned);
            let place = place.or_else(|| environment("TMPDIR").filter(|dir| !dir.is_empty()));
            let place = place.as_deref().unwrap_or(TEMPORARY).replace('%', "%%");
            Ok(format!("{place}/{SPILL}"))
        }
        (out, _) => Ok(out.map_or(Ok(DEFAULT_OUT), non_empty)?.to_owned()),
    }
}

/// Refuses a place that is a directory and would have to be a file, or the other way round.
fn check_place(settings: &Settings, out: &str, format: EventFormat) -> Result<(), OptionError> {
    if let Some(stream) = settings.get("stream") {
        needs_one_file(stream, out)?;
    }
    if format == EventFormat::Jsonl && container_stem(out).is_some() {
        return Err(OptionError(format!(
            "out={out}: format=jsonl needs a directory; use format=binary, or a name without .{CONTAINER_EXTENSION}"
        )));
    }
    Ok(())
}

/// The methods to record, and those of which details are recorded.
fn filter_with_details(
    settings: &Settings,
    engine: EngineKind,
    format: EventFormat,
) -> Result<FilterSpec, OptionError> {
    let chosen = filter(settings)?;
    if let Some(include) = settings.get("include").filter(|_| chosen.needs_annotations())
        && engine != EngineKind::Instrument
    {
        let Setting { key, value, place } = include;
        let why = "annotations need engine=instrument, which reads class files; leave out engine";
        return Err(OptionError(format!("{key}={value} ({place}): {why}")));
    }
    let value = |key: &str| settings.get(key);
    let detail = |key: &str| match value(key) {
        Some(patterns) => {
            needs_probes(patterns, engine, format)?;
            globs(patterns).map(Tracked::from)
        }
        None => Ok(Tracked::default()),
    };
    Ok(FilterSpec {
        lines: detail("lines")?,
        line_recording: line_recording(settings)?,
        lines_of_run: with_text(settings, "lines-once").is_some_and(|(_, once)| once == "run"),
        values: detail("values")?,
        instructions: detail("instructions")?,
        fields: detail("fields")?,
        exceptions: value("exceptions").map_or(Ok(Tracked::default()), |patterns| {
            needs_marks(patterns, engine, format)?;
            globs(patterns).map(Tracked::from)
        })?,
        redact: value("redact").map_or(Ok(Tracked::default()), |redact| {
            let of = ["values", "presets", "fields", "instructions", "exceptions"]
                .into_iter()
                .find_map(value);
            needs_values(redact, of)?;
            globs(redact).map(Tracked::from)
        })?,
        max_value: value("max-value").map_or(Ok(DEFAULT_MAX_VALUE), |max| {
            let of = ["values", "presets", "fields", "exceptions"].into_iter().find_map(value);
            needs_values(max, of)?;
            let number = max.value.parse().ok().filter(|number| *number <= MAX_VALUE);
            number.ok_or_else(|| bad_value(max))
        })?,
        values_depth: value("values-depth").map_or(Ok(DEFAULT_VALUES_DEPTH), |depth| {
            needs_values(depth, value("values").or(value("presets")).or(value("fields")))?;
            let number = depth.value.parse().ok().filter(|number| *number <= MAX_VALUES_DEPTH);
            number.ok_or_else(|| bad_value(depth))
        })?,
        presets: presets(value("presets"), value("presets-file"), engine, format)?,
        limits_text: value("max-value").is_some(),
        skips_accessors: value("skip")
            .map_or(Ok(false), |skip| skips_accessors(skip, value("fields")))?,
        ..chosen
    })
}

/// How often lines are recorded, and whether calls are.
fn line_recording(settings: &Settings) -> Result<LineRecording, OptionError> {
    let refuse = |Setting { key, value, place }: &Setting, why: &str| {
        Err(OptionError(format!("{key}={value} ({place}): {why}")))
    };
    let once = match settings.get("lines-once") {
        Some(once) if once.value == "run" || parse_bool(once)? => Some(once),
        _ => None,
    };
    if let Some(once) = once {
        if !settings.contains_key("lines") {
            return refuse(once, "has a meaning with lines only; add lines=PATTERN");
        }
        if settings.get("keep").is_some_and(|keep| keep.value.starts_with("last:")) {
            return refuse(
                once,
                "keep=last removes lines that are not recorded again; leave out one of the two",
            );
        }
    }
    let calls = match with_text(settings, "calls") {
        None | Some((_, "on")) => None,
        Some((calls, "off")) => Some(calls),
        Some((calls, _)) => return Err(bad_value(calls)),
    };
    match (calls, once) {
        (None, None) => Ok(LineRecording::Each),
        (None, Some(_)) => Ok(LineRecording::Once),
        (Some(calls), None) => {
            refuse(calls, "records nothing; add lines=PATTERN and lines-once=true")
        }
        (Some(calls), Some(_)) => {
            let of_calls = ["values", "instructions", "fields", "exceptions", "presets"];
            if let Some(other) = of_calls.into_iter().find_map(|key| settings.get(key)) {
                let why = format!(
                    "{}={} records details of calls; leave out one of the two",
                    other.key, other.value
                );
                return refuse(calls, &why);
            }
            for (key, value) in [("clock", "exact"), ("order", "total"), ("waits", "on")] {
                if with_text(settings, key).is_some_and(|(_, text)| text == value) {
                    return refuse(
                        calls,
                        &format!("{key}={value} is about calls; leave out one of the two"),
                    );
                }
            }
            Ok(LineRecording::Alone)
        }
    }
}

/// Reads the presets that are chosen, of flow and of the user's file.
fn presets(
    names: Option<&Setting>,
    file: Option<&Setting>,
    engine: EngineKind,
    format: EventFormat,
) -> Result<Presets, OptionError> {
    let mut known = PresetFile::built_in();
    if let Some(setting) = file {
        let Setting { key, value, place } = setting;
        let text = std::fs::read_to_string(non_empty(setting)?)
            .map_err(|error| OptionError(format!("{key}={value} ({place}): {error}")))?;
        known.extend(PresetFile::parse(&text, value)?);
    }
    let Some(setting) = names else { return Ok(Presets::default()) };
    needs_probes(setting, engine, format)?;
    let names = list(setting, ';')?;
    let all: Vec<_> = known.names().map(|(name, _)| name.to_owned()).collect();
    known.choose(&names).map_err(|name| {
        let Setting { key, value, place } = setting;
        OptionError(format!(
            "{key}={value} ({place}): there is no preset '{name}'; there are {}, and those of a file that presets-file= names",
            all.join(", ")
        ))
    })
}

fn starts_paused(settings: &Settings) -> Result<bool, OptionError> {
    match with_text(settings, "start") {
        None | Some((_, "now")) => Ok(false),
        Some((_, "paused")) => Ok(true),
        Some((start, _)) => Err(bad_value(start)),
    }
}

fn overload(
    settings: &Settings,
    streaming: Option<&Streaming>,
    format: EventFormat,
) -> Result<Overload, OptionError> {
    match with_text(settings, "overload") {
        _ if streaming.is_some_and(|s| s.overflow == Overflow::Drop) => Ok(Overload::Drop),
        None | Some((_, "wait")) => Ok(Overload::Wait),
        Some((overload, "drop")) if format == EventFormat::Jsonl => Err(OptionError(format!(
            "overload=drop ({}): format=jsonl has no marks for what is missing; use format=binary, or \
             overload=wait",
            overload.place
        ))),
        Some((_, "drop")) => Ok(Overload::Drop),
        Some((overload, _)) => Err(bad_value(overload)),
    }
}

fn command_line(settings: &Settings) -> Result<CommandLine, OptionError> {
    match with_text(settings, "command") {
        Some((_, "full")) => Ok(CommandLine::Full),
        None | Some((_, "masked")) => Ok(CommandLine::Masked),
        Some((_, "none")) => Ok(CommandLine::None),
        Some((command, _)) => Err(bad_value(command)),
    }
}

/// The methods to record, without those whose lines are recorded.
fn filter(settings: &Settings) -> Result<FilterSpec, OptionError> {
    let value = |key: &str| settings.get(key);
    let flag = |key: &str, default| value(key).map_or(Ok(default), parse_bool);
    let include = value("include").map_or(Ok(Vec::new()), |include| list(include, ';'))?;
    let (mut named, mut related) = (Vec::new(), Vec::new());
    for pattern in &include {
        match Related::parse(pattern) {
            Some(pattern) => related.push(pattern),
            None => named.push(Glob::new(pattern)),
        }
    }
    Ok(FilterSpec {
        targets: value("target").map_or(Ok(Vec::new()), |target| list(target, '+'))?.into(),
        include: named.into(),
        related: related.into(),
        exclude: value("exclude").map_or(Ok(Vec::new()), globs)?,
        constructors: flag("constructors", true)?,
        synthetic: flag("synthetic", true)?,
        natives: flag("natives", false)?,
        ..FilterSpec::default()
    })
}

fn needs_one_file(setting: &Setting, out: &str) -> Result<(), OptionError> {
    let Setting { key, value, place } = setting;
    match container_stem(out) {
        Some(_) => Ok(()),
        None => Err(OptionError(format!(
            "{key}={value} ({place}): needs a trace in one file; use a name such as out={out}.{CONTAINER_EXTENSION}"
        ))),
    }
}

/// Whether accessors are left out.
fn skips_accessors(skip: &Setting, fields: Option<&Setting>) -> Result<bool, OptionError> {
    let Setting { key, value, place } = skip;
    match (value.as_str(), fields) {
        ("accessors", None) => Ok(true),
        ("accessors", Some(fields)) => Err(OptionError(format!(
            "{key}={value} ({place}): leaves out methods that access the fields of fields={}; leave out one of the two",
            fields.value
        ))),
        _ => Err(bad_value(skip)),
    }
}

/// Refuses an option for what only probes can record, and only marks can store.
fn needs_probes(
    Setting { key, value, place }: &Setting,
    engine: EngineKind,
    format: EventFormat,
) -> Result<(), OptionError> {
    let why = match (engine, format) {
        (EngineKind::Instrument, EventFormat::Binary) => return Ok(()),
        (EngineKind::Instrument, EventFormat::Jsonl) => {
            "format=jsonl has no place for it; use format=binary"
        }
        (EngineKind::Events | EngineKind::None, _) => "needs engine=instrument; leave out engine",
    };
    Err(OptionError(format!("{key}={value} ({place}): {why}")))
}

/// Refuses an option for what only events and marks can store.
fn needs_marks(
    Setting { key, value, place }: &Setting,
    engine: EngineKind,
    format: EventFormat,
) -> Result<(), OptionError> {
    let why = match (engine, format) {
        (EngineKind::None, _) => "engine=none records no calls; leave out engine",
        (_, EventFormat::Jsonl) => "format=jsonl has no place for it; use format=binary",
        _ => return Ok(()),
    };
    Err(OptionError(format!("{key}={value} ({place}): {why}")))
}

/// Whether it is recorded what threads wait for.
fn waits(
    setting: Option<&Setting>,
    engine: EngineKind,
    format: EventFormat,
) -> Result<bool, OptionError> {
    match setting.map(|setting| (setting, setting.value.as_str())) {
        None | Some((_, "off")) => Ok(false),
        Some((setting, "on")) => needs_marks(setting, engine, format).map(|()| true),
        Some((setting, _)) => Err(bad_value(setting)),
    }
}

/// Refuses an option for values without such.
fn needs_values(
    Setting { key, value, place }: &Setting,
    values: Option<&Setting>,
) -> Result<(), OptionError> {
    match values {
        Some(_) => Ok(()),
        None => Err(OptionError(format!(
            "{key}={value} ({place}): has a meaning with values, presets, fields or exceptions only; add values=PATTERN"
        ))),
    }
}

/// Where the trace is sent.
fn streaming(settings: &Settings) -> Result<Option<Streaming>, OptionError> {
    let value = |key: &str| settings.get(key);
    let refuse = |Setting { key, value, place }: &Setting, why: &str| {
        Err(OptionError(format!("{key}={value} ({place}): {why}")))
    };
    let Some(stream) = value("stream") else {
        return match value("overflow").or_else(|| value("stream-token")) {
            Some(setting) => refuse(setting, "has a meaning with stream only; add stream=ADDRESS"),
            None => Ok(None),
        };
    };
    for key in ["keep", "rotate"] {
        if let Some(setting) = value(key).filter(|setting| setting.value != "all") {
            return refuse(
                setting,
                "a trace that is sent is in one file and whole; leave out this, or stream",
            );
        }
    }
    if let Some(setting) = value("durability").filter(|setting| setting.value != "process")
        && value("out").is_none()
    {
        return refuse(
            setting,
            "a trace that is only sent does not stay here; add out=app.flowtrace",
        );
    }
    Ok(Some(Streaming {
        address: stream.value.parse().map_err(|()| bad_value(stream))?,
        token: value("stream-token").map(non_empty).transpose()?.map(PathBuf::from),
        overflow: value("overflow").map_or(Ok(Overflow::Spill), parse_overflow)?,
        is_only: value("out").is_none(),
    }))
}

/// What `rotate` and `keep` say together.
fn kept(
    rotate: Option<&Setting>,
    keep: Option<&Setting>,
    out: &str,
    durability: Option<&Setting>,
) -> Result<(Keep, Parts), OptionError> {
    let kept = keep.map_or(Ok(Keep::All), parse_keep)?;
    let keep_bytes = if let Keep::Last(bytes) = kept { Some(bytes) } else { None };
    let parts = rotate.map_or(Ok(Parts::default()), parse_rotate)?;
    let parts = Parts { keep: keep_bytes, ..parts };
    let is_usual = kept == Keep::All && !parts.are_wanted();
    let Some(setting) = rotate.or(keep).filter(|_| !is_usual) else { return Ok((kept, parts)) };
    let Setting { key, value, place } = setting;
    needs_one_file(setting, out)?;
    let refuse = |why: &str| Err(OptionError(format!("{key}={value} ({place}): {why}")));
    if kept == Keep::Memory && rotate.is_some() {
        return refuse("a trace in memory has one file; leave out keep=memory");
    }
    match durability.map(parse_durability).transpose()? {
        Some(Durability::System { .. }) if kept == Keep::Memory => {
            refuse("memory does not survive a power failure; use durability=process")
        }
        Some(Durability::System { .. }) => refuse(
            "a trace of several files does not survive a power failure; use durability=process",
        ),
        _ => Ok((kept, parts)),
    }
}
