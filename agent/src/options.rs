//! Parses `out=DIR,target=com.app.,…` into [`Options`]. Pure, except for reading the `config=` file.
//!
//! Sources, the first one that has a key wins: the agent's option string; environment variables `FLOW_*` (the
//! key in capitals, `-` as `_`); the lines of `config=FILE`. In the option string a comma separates
//! options and `\,` is a comma.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use flow_codec::Glob;
use flow_codec::format::manifest::Timing;
use flow_codec::format::names::EventFormat;
use log::LevelFilter;

use crate::filter::FilterSpec;
use crate::mains::MainFilter;

/// All keys, with the form of their values.
const KEYS: [(&str, &str); 24] = [
    ("out", "a directory"),
    ("target", "class name prefixes, separated by '+'"),
    ("include", "globs over pkg.Class or pkg.Class#method, separated by ';'"),
    ("exclude", "globs over pkg.Class or pkg.Class#method, separated by ';'"),
    ("constructors", "true or false"),
    ("natives", "true or false"),
    ("engine", "instrument or events"),
    ("format", "binary or jsonl"),
    ("clock", "off, exact, tick, or tick:PERIOD with a period from 20us to 1s, such as tick:1ms"),
    ("ids", "an ids.properties file"),
    ("optimize", "the directory of an earlier trace"),
    ("chunk", "a size from 64 to 16m, such as 64k"),
    ("max-size", "a size from 1m up, such as 500m or 2g"),
    ("start", "now or paused"),
    ("only-main", "globs over main classes, separated by ';', those after '!' are not recorded"),
    ("api", "the jar of the Java API"),
    ("journal", "a directory"),
    (
        "durability",
        "process, system, or system:PERIOD with a period from 10ms to 1h, such as system:5s",
    ),
    ("overload", "wait or drop"),
    ("command", "full, masked or none"),
    ("log", "off, error, warn, info, debug or trace"),
    ("debug", "true or false"),
    ("config", "a file with one key=value per line"),
    ("onerror", "stop or continue"),
];

const DEFAULT_OUT: &str = "flow-trace";
const DEFAULT_CHUNK_BYTES: usize = 64 * 1024;
const DEFAULT_PERIOD: Duration = Duration::from_micros(100);
const PERIODS: RangeInclusive<Duration> = Duration::from_micros(20)..=Duration::from_secs(1);
const CHUNK_BYTES: RangeInclusive<u64> = 64..=16 << 20;
/// What a power failure may cost by default.
const DEFAULT_SYNC_PERIOD: Duration = Duration::from_secs(1);
const SYNC_PERIODS: RangeInclusive<Duration> =
    Duration::from_millis(10)..=Duration::from_secs(3600);
const MAX_SIZE_BYTES: RangeInclusive<u64> = 1 << 20..=u64::MAX;

/// How calls are seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EngineKind {
    /// Classes are rewritten so that methods record themselves.
    Instrument,
    /// JVMTI MethodEntry and MethodExit.
    Events,
}

impl EngineKind {
    /// The word that options and the manifest use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Instrument => "instrument",
            Self::Events => "events",
        }
    }
}

/// What a thread does with a full chunk if the disk is slower than the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Overload {
    /// It waits until the chunk is written.
    Wait,
    /// It drops the chunk; its events are counted, and a mark shows the gap.
    Drop,
}

/// What a recording survives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Durability {
    /// The death of the process.
    Process,
    /// The death of the system too, except for what was recorded since the last synchronisation.
    System {
        /// The time between two synchronisations.
        period: Duration,
    },
}

/// How much of the program's command line the trace has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommandLine {
    /// All of it.
    Full,
    /// All but values that look like secrets.
    Masked,
    /// Nothing.
    None,
}

/// What to do when the recording cannot start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnError {
    /// The JVM does not start.
    Stop,
    /// The JVM runs unrecorded.
    Continue,
}

/// Where the ids of methods come from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum IdSource {
    /// Assigned from 0 in the order in which methods are first seen.
    Fresh,
    /// An earlier mapping, which new methods are added to.
    File(PathBuf),
    /// Assigned by the call counts of an earlier trace, the most frequent method first.
    Optimize(PathBuf),
}

/// All options, with defaults for those that are not set.
#[derive(Clone, Debug)]
pub struct Options {
    /// The trace directory, with `%p`, `%t` and `%h` not yet replaced.
    pub out: String,
    /// Which methods are recorded.
    pub filter: FilterSpec,
    /// How calls are seen.
    pub engine: EngineKind,
    /// The format of events.
    pub format: EventFormat,
    /// How times of events are recorded.
    pub clock: Timing,
    /// Where ids come from.
    pub ids: IdSource,
    /// The most that a thread records before it writes to its file.
    pub chunk_bytes: usize,
    /// The largest size of the trace.
    pub max_bytes: Option<u64>,
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

/// An unusable option: what is wrong, where, and what would be right.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OptionError(String);

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for OptionError {}

/// One `key=value` and its source.
#[derive(Clone, Debug)]
struct Setting {
    key: String,
    value: String,
    place: String,
}

/// A request to the agent in a running JVM.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// To record.
    Record {
        /// The agent's option string.
        options: String,
    },
    /// To end the recording.
    Detach,
}

/// A request, and where the agent reports why it refuses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// What is requested.
    pub action: Action,
    answer: Option<PathBuf>,
}

impl Request {
    /// Reads an option string that may have the items `detach` and `answer=FILE` in addition to options.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let (mut detach, mut answer, mut options) = (false, None, Vec::new());
        for item in split(text) {
            match item.trim().split_once('=') {
                None if item.trim() == "detach" => detach = true,
                Some(("answer", file)) => answer = Some(file.into()),
                _ => options.push(item.replace(',', r"\,")),
            }
        }
        let action = match detach {
            true => Action::Detach,
            false => Action::Record { options: options.join(",") },
        };
        Self { action, answer }
    }

    /// Reports the reason of a refusal: in the file that the request named, which must exist, or else on
    /// stderr.
    pub fn answer(&self, refusal: &str) {
        let refusal = crate::logging::one_line(refusal);
        let is_written = self.answer.as_ref().is_some_and(|file| {
            let file = fs::OpenOptions::new().write(true).truncate(true).open(file);
            file.is_ok_and(|mut file| writeln!(file, "{refusal}").is_ok())
        });
        if !is_written {
            let _ = writeln!(io::stderr(), "{} {refusal}", crate::logging::PREFIX);
        }
    }
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
        let flag = |key: &str, default| value(key).map_or(Ok(default), parse_bool);
        let size = |key: &str, allowed| value(key).map(|s| parse_size(s, &allowed)).transpose();

        let ids = match (value("ids"), value("optimize")) {
            (_, Some(optimize)) => IdSource::Optimize(non_empty(optimize)?.into()),
            (Some(ids), None) => IdSource::File(non_empty(ids)?.into()),
            (None, None) => IdSource::Fresh,
        };
        let log = match (value("log"), value("debug")) {
            (Some(level), _) => level.value.parse().map_err(|_| bad_value(level))?,
            (None, Some(debug)) if parse_bool(debug)? => LevelFilter::Debug,
            _ => LevelFilter::Warn,
        };
        let format = match value("format").map(|format| (format, format.value.as_str())) {
            None | Some((_, "binary")) => EventFormat::Binary,
            Some((_, "jsonl")) => EventFormat::Jsonl,
            Some((format, _)) => return Err(bad_value(format)),
        };
        let clock = match (value("clock"), format) {
            (Some(setting), _) => match parse_clock(setting)? {
                Timing::Sampled { .. } | Timing::Exact if format == EventFormat::Jsonl => {
                    return Err(OptionError(format!(
                        "{}={} ({}): format=jsonl has no times; use format=binary, or clock=off",
                        setting.key, setting.value, setting.place
                    )));
                }
                clock => clock,
            },
            (None, EventFormat::Binary) => Timing::Sampled { period: DEFAULT_PERIOD },
            (None, EventFormat::Jsonl) => Timing::Off,
        };
        Ok(Self {
            out: value("out").map_or(Ok(DEFAULT_OUT), non_empty)?.to_owned(),
            filter: FilterSpec {
                targets: value("target").map_or(Ok(Vec::new()), |target| list(target, '+'))?,
                include: value("include").map_or(Ok(Vec::new()), globs)?,
                exclude: value("exclude").map_or(Ok(Vec::new()), globs)?,
                constructors: flag("constructors", true)?,
                natives: flag("natives", false)?,
            },
            engine: match value("engine").map(|engine| (engine, engine.value.as_str())) {
                None | Some((_, "instrument")) => EngineKind::Instrument,
                Some((_, "events")) => EngineKind::Events,
                Some((engine, _)) => return Err(bad_value(engine)),
            },
            format,
            clock,
            ids,
            chunk_bytes: match size("chunk", CHUNK_BYTES)? {
                Some(bytes) => usize::try_from(bytes).unwrap_or(DEFAULT_CHUNK_BYTES),
                None => DEFAULT_CHUNK_BYTES,
            },
            max_bytes: size("max-size", MAX_SIZE_BYTES)?,
            starts_paused: match value("start").map(|start| (start, start.value.as_str())) {
                None | Some((_, "now")) => false,
                Some((_, "paused")) => true,
                Some((start, _)) => return Err(bad_value(start)),
            },
            mains: match value("only-main") {
                Some(patterns) => MainFilter::new(list(patterns, ';')?.iter().map(String::as_str)),
                None => MainFilter::default(),
            },
            overload: match value("overload").map(|overload| (overload, overload.value.as_str())) {
                None | Some((_, "wait")) => Overload::Wait,
                Some((overload, "drop")) if format == EventFormat::Jsonl => {
                    return Err(OptionError(format!(
                        "overload=drop ({}): format=jsonl has no marks for what is missing; use \
                         format=binary, or overload=wait",
                        overload.place
                    )));
                }
                Some((_, "drop")) => Overload::Drop,
                Some((overload, _)) => return Err(bad_value(overload)),
            },
            command: match value("command").map(|command| (command, command.value.as_str())) {
                Some((_, "full")) => CommandLine::Full,
                None | Some((_, "masked")) => CommandLine::Masked,
                Some((_, "none")) => CommandLine::None,
                Some((command, _)) => return Err(bad_value(command)),
            },
            api: value("api").map(non_empty).transpose()?.map(PathBuf::from),
            durability: value("durability").map_or(Ok(Durability::Process), parse_durability)?,
            journal: value("journal").map(non_empty).transpose()?.map(PathBuf::from),
            log,
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

/// The settings in force, by key.
fn gather(
    text: &str,
    environment: &impl Fn(&str) -> Option<String>,
) -> Result<BTreeMap<String, Setting>, OptionError> {
    let mut settings = BTreeMap::new();
    let mut add = |source: Vec<Setting>| {
        let mut from_source = BTreeMap::new();
        for setting in source {
            check_key(&setting)?;
            let key = setting.key.clone();
            if let Some(earlier) = from_source.insert(key, setting) {
                return Err(OptionError(format!(
                    "option '{}' is given twice ({}); keep one",
                    earlier.key, earlier.place
                )));
            }
        }
        for (key, setting) in from_source {
            settings.entry(key).or_insert(setting);
        }
        Ok(settings.get("config").cloned())
    };
    add(from_string(text)?)?;
    if let Some(config) = add(from_environment(environment))? {
        add(from_file(&config)?)?;
    }
    let Some(onerror) = settings.get("onerror") else {
        return Ok(settings);
    };
    match onerror.value.as_str() {
        "stop" | "continue" => Ok(settings),
        _ => Err(bad_value(onerror)),
    }
}

fn from_string(text: &str) -> Result<Vec<Setting>, OptionError> {
    let place = "agent options";
    split(text)
        .filter(|item| !item.trim().is_empty())
        .map(|item| match item.split_once('=') {
            Some((key, value)) => Ok(Setting {
                key: key.trim().to_owned(),
                value: value.trim().to_owned(),
                place: place.to_owned(),
            }),
            None => Err(OptionError(format!(
                "'{}' ({place}): expected key=value{}",
                item.trim(),
                nearest(item.trim())
                    .map_or_else(String::new, |key| format!("; did you mean '{key}=…'?"))
            ))),
        })
        .collect()
}

/// Splits at commas; `\,` is a comma of the value.
fn split(text: &str) -> impl Iterator<Item = String> {
    let mut items = vec![String::new()];
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let item = match c {
            '\\' if chars.peek() == Some(&',') => chars.next(),
            ',' => None,
            c => Some(c),
        };
        match (item, items.last_mut()) {
            (Some(c), Some(last)) => last.push(c),
            _ => items.push(String::new()),
        }
    }
    items.into_iter()
}

fn from_environment(environment: &impl Fn(&str) -> Option<String>) -> Vec<Setting> {
    KEYS.iter()
        .filter_map(|(key, _)| {
            let name = format!("FLOW_{}", key.replace('-', "_").to_uppercase());
            let value = environment(&name).filter(|value| !value.is_empty())?;
            let place = format!("environment variable {name}");
            Some(Setting { key: (*key).to_owned(), value, place })
        })
        .collect()
}

fn from_file(config: &Setting) -> Result<Vec<Setting>, OptionError> {
    let path = Path::new(&config.value);
    let text = fs::read_to_string(path).map_err(|error| {
        OptionError(format!("config={} ({}): {error}", config.value, config.place))
    })?;
    let mut settings = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let place = format!("{}:{number}", path.display());
        let Some((key, value)) = line.split_once('=') else {
            return Err(OptionError(format!("'{line}' ({place}): expected key=value")));
        };
        let key = key.trim().to_owned();
        if key == "config" {
            return Err(OptionError(format!(
                "option 'config' ({place}): a config file cannot name another one"
            )));
        }
        settings.push(Setting { key, value: value.trim().to_owned(), place });
    }
    Ok(settings)
}

fn check_key(setting: &Setting) -> Result<(), OptionError> {
    if KEYS.iter().any(|(key, _)| *key == setting.key) {
        return Ok(());
    }
    let suggestion = nearest(&setting.key).map_or_else(
        || {
            let known: Vec<_> = KEYS.iter().map(|(key, _)| *key).collect();
            format!("known are {}", known.join(", "))
        },
        |key| format!("did you mean '{key}'?"),
    );
    Err(OptionError(format!("unknown option '{}' ({}); {suggestion}", setting.key, setting.place)))
}

/// The known key that is most similar to `word`, if any is similar.
fn nearest(word: &str) -> Option<&'static str> {
    const LIKE: f64 = 0.75;
    KEYS.iter()
        .map(|(key, _)| (strsim::jaro_winkler(key, &word.to_lowercase()), *key))
        .filter(|(likeness, _)| *likeness >= LIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, key)| key)
}

fn bad_value(setting: &Setting) -> OptionError {
    let expected =
        KEYS.iter().find(|(key, _)| *key == setting.key).map_or("another value", |(_, what)| what);
    OptionError(format!(
        "{}={} ({}): expected {expected}",
        setting.key, setting.value, setting.place
    ))
}

fn parse_bool(setting: &Setting) -> Result<bool, OptionError> {
    setting.value.parse().map_err(|_| bad_value(setting))
}

fn non_empty(setting: &Setting) -> Result<&str, OptionError> {
    if setting.value.is_empty() { Err(bad_value(setting)) } else { Ok(&setting.value) }
}

/// A number of bytes, or of `k`, `m` or `g`.
fn parse_size(setting: &Setting, allowed: &RangeInclusive<u64>) -> Result<u64, OptionError> {
    let text = setting.value.to_lowercase();
    let digits = text.trim_end_matches(['k', 'm', 'g']);
    let unit = match text.get(digits.len()..) {
        Some("") => Some(1),
        Some("k") => Some(1 << 10),
        Some("m") => Some(1 << 20),
        Some("g") => Some(1 << 30),
        _ => None,
    };
    let bytes = digits.parse::<u64>().ok().zip(unit).and_then(|(n, unit)| n.checked_mul(unit));
    bytes.filter(|bytes| allowed.contains(bytes)).ok_or_else(|| bad_value(setting))
}

/// `off`, `exact`, `tick`, or `tick` and a period.
fn parse_clock(setting: &Setting) -> Result<Timing, OptionError> {
    let period = match setting.value.split_once(':') {
        None if setting.value == "off" => return Ok(Timing::Off),
        None if setting.value == "exact" => return Ok(Timing::Exact),
        None if setting.value == "tick" => Some(DEFAULT_PERIOD),
        Some(("tick", period)) => humantime::parse_duration(period).ok(),
        _ => None,
    };
    let period = period.filter(|period| PERIODS.contains(period));
    period.map(|period| Timing::Sampled { period }).ok_or_else(|| bad_value(setting))
}

/// `process`, `system`, or `system` and a period.
fn parse_durability(setting: &Setting) -> Result<Durability, OptionError> {
    let period = match setting.value.split_once(':') {
        None if setting.value == "process" => return Ok(Durability::Process),
        None if setting.value == "system" => Some(DEFAULT_SYNC_PERIOD),
        Some(("system", period)) => humantime::parse_duration(period).ok(),
        _ => None,
    };
    let period = period.filter(|period| SYNC_PERIODS.contains(period));
    period.map(|period| Durability::System { period }).ok_or_else(|| bad_value(setting))
}

/// The items of a list. An empty list is a mistake, such as a variable that is not set: as a filter it would
/// mean the opposite of what was intended.
fn list(setting: &Setting, separator: char) -> Result<Vec<String>, OptionError> {
    let items = setting.value.split(separator).map(str::trim).filter(|item| !item.is_empty());
    let items: Vec<_> = items.map(str::to_owned).collect();
    if items.is_empty() { Err(bad_value(setting)) } else { Ok(items) }
}

fn globs(setting: &Setting) -> Result<Vec<Glob>, OptionError> {
    Ok(list(setting, ';')?.iter().map(|item| Glob::new(item)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Options, OptionError> {
        Options::parse(text, |_| None)
    }

    fn message(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn defaults_hold_without_options() {
        let options = parse("").unwrap();
        assert_eq!(options.out, "flow-trace");
        assert_eq!(options.chunk_bytes, 65536);
        assert_eq!(options.log, LevelFilter::Warn);
        assert_eq!(options.ids, IdSource::Fresh);
        assert!(options.filter.constructors && !options.filter.natives);
        assert!(options.set.is_empty());
        assert_eq!(options.clock, Timing::Sampled { period: Duration::from_micros(100) });
    }

    #[test]
    fn a_clock_has_a_period_where_the_format_has_times() {
        let tick = |period| Timing::Sampled { period };
        assert_eq!(parse("clock=tick:1ms").unwrap().clock, tick(Duration::from_millis(1)));
        assert_eq!(parse("clock=off").unwrap().clock, Timing::Off);
        assert_eq!(parse("clock=exact").unwrap().clock, Timing::Exact);
        assert_eq!(parse("format=jsonl").unwrap().clock, Timing::Off);
    }

    #[test]
    fn escaped_commas_belong_to_the_value() {
        let options = parse(r"out=/tmp/a\,b\c,target=com.x.+com.y.,format=jsonl,chunk=1k").unwrap();
        assert_eq!(options.out, r"/tmp/a,b\c");
        assert_eq!(options.filter.targets, ["com.x.", "com.y."]);
        assert_eq!(options.format, EventFormat::Jsonl);
        assert_eq!(options.chunk_bytes, 1024);
    }

    #[test]
    fn mistakes_are_reported_in_one_line_with_place_and_remedy() {
        for (text, expected) in [
            ("incldue=x", "unknown option 'incldue' (agent options); did you mean 'include'?"),
            (
                "zzz=1",
                "unknown option 'zzz' (agent options); known are out, target, include, \
              exclude, constructors, natives, engine, format, clock, ids, optimize, chunk, max-size, start, \
              only-main, api, journal, durability, overload, command, log, debug, config, onerror",
            ),
            ("out", "'out' (agent options): expected key=value; did you mean 'out=…'?"),
            ("out=", "out= (agent options): expected a directory"),
            ("target=", "target= (agent options): expected class name prefixes, separated by '+'"),
            ("natives=yes", "natives=yes (agent options): expected true or false"),
            ("chunk=1", "chunk=1 (agent options): expected a size from 64 to 16m, such as 64k"),
            (
                "max-size=9kk",
                "max-size=9kk (agent options): expected a size from 1m up, such as 500m or 2g",
            ),
            ("engine=jit", "engine=jit (agent options): expected instrument or events"),
            ("format=xml", "format=xml (agent options): expected binary or jsonl"),
            (
                "clock=tick:1us",
                "clock=tick:1us (agent options): expected off, exact, tick, or tick:PERIOD with a period from \
                 20us to 1s, such as tick:1ms",
            ),
            (
                "clock=tick,format=jsonl",
                "clock=tick (agent options): format=jsonl has no times; use format=binary, or clock=off",
            ),
            (
                "log=loud",
                "log=loud (agent options): expected off, error, warn, info, debug or trace",
            ),
            (
                "durability=system:0s",
                "durability=system:0s (agent options): expected process, system, or system:PERIOD with a period \
                 from 10ms to 1h, such as system:5s",
            ),
            ("start=later", "start=later (agent options): expected now or paused"),
            ("onerror=maybe", "onerror=maybe (agent options): expected stop or continue"),
            ("out=a,out=b", "option 'out' is given twice (agent options); keep one"),
        ] {
            assert_eq!(message(text), expected);
        }
        assert!(
            message("config=/no/such/file").starts_with("config=/no/such/file (agent options): ")
        );
    }

    #[test]
    fn the_string_wins_over_the_environment_and_that_over_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("flow.conf");
        fs::write(&file, "# ours\nout = c\nlog=info\nchunk=2k\n").unwrap();
        let config = file.to_str().unwrap().to_owned();
        let environment = |name: &str| match name {
            "FLOW_CONFIG" => Some(config.clone()),
            "FLOW_OUT" => Some("b".to_owned()),
            "FLOW_LOG" => Some("debug".to_owned()),
            "FLOW_TARGET" => Some(String::new()),
            _ => None,
        };
        let options = Options::parse("out=a", environment).unwrap();
        assert_eq!((options.out.as_str(), options.log), ("a", LevelFilter::Debug));
        assert_eq!(options.chunk_bytes, 2048);
        assert!(options.filter.targets.is_empty(), "an empty variable is not set");

        fs::write(&file, "out=c\nnativs=true\n").unwrap();
        let error = Options::parse("", environment).unwrap_err().to_string();
        assert!(error.contains("flow.conf:2); did you mean 'natives'?"), "{error}");
    }

    #[test]
    fn onerror_holds_even_when_the_rest_is_wrong() {
        assert_eq!(Options::on_error("bogus=1,onerror=continue", |_| None), OnError::Continue);
        assert_eq!(Options::on_error("bogus=1", |_| None), OnError::Stop);
        let environment = |name: &str| (name == "FLOW_ONERROR").then(|| "continue".to_owned());
        assert_eq!(Options::on_error("bogus=1", environment), OnError::Continue);
    }

    #[test]
    fn a_request_may_be_to_detach_and_name_a_place_for_the_answer() {
        let request = Request::parse(r"out=/tmp/a\,b,answer=/tmp/x\,y,chunk=1k");
        assert_eq!(
            request.action,
            Action::Record { options: r"out=/tmp/a\,b,chunk=1k".to_owned() }
        );
        assert_eq!(request.answer, Some("/tmp/x,y".into()));
        assert_eq!(Request::parse("detach").action, Action::Detach);
        assert_eq!(Request::parse("").action, Action::Record { options: String::new() });
    }

    #[test]
    fn debug_is_a_log_level_as_in_the_java_agent() {
        assert_eq!(parse("debug=true").unwrap().log, LevelFilter::Debug);
        assert_eq!(parse("debug=true,log=error").unwrap().log, LevelFilter::Error);
        assert_eq!(parse("debug=false").unwrap().log, LevelFilter::Warn);
    }

    #[test]
    fn optimize_wins_over_ids_as_in_the_java_agent() {
        let options = parse("ids=a.properties,optimize=old").unwrap();
        assert_eq!(options.ids, IdSource::Optimize("old".into()));
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_parsed_or_refused(text in "(out|log|chunk|include|=|,|\\\\|[a-z0-9*;# ]|\\PC){0,40}") {
            let _ = parse(&text);
            Options::on_error(&text, |_| None);
        }

        #[test]
        fn any_directory_can_be_named(dir in "[^\\\\,\\pC\\pZ]([^\\\\\\pC]{0,20}[^\\\\\\pC\\pZ])?") {
            let options = parse(&format!("log=info,out={},chunk=1k", dir.replace(',', r"\,"))).unwrap();
            proptest::prop_assert_eq!(options.out, dir);
        }
    }
}
