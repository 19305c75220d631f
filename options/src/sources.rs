//! Where options come from: the option string, the environment, and a file.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::{OptionError, StreamAddress};

/// A key of an option.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The key itself.
    pub name: &'static str,
    /// The form of its values.
    pub form: &'static str,
    /// What it is for.
    pub about: &'static str,
}

const fn key(name: &'static str, form: &'static str, about: &'static str) -> Key {
    Key { name, form, about }
}

/// All keys.
pub const KEYS: [Key; 54] = [
    key("out", "a directory, or a file whose name ends in .flowtrace", "where the trace goes"),
    key("earlier", "how many earlier traces to keep, from 0 to 99", "earlier traces that are kept"),
    key(
        "keep",
        "all, memory, or last:SIZE with a size from 1m up, such as last:64m (for earlier traces: earlier=N)",
        "how much of the trace is kept",
    ),
    key(
        "rotate",
        "a size from 1m up, such as 1g, or a time from 1s up, such as 30s, 10min or 1h",
        "when the next file begins",
    ),
    key(
        "snapshot-on",
        "method:GLOB, exception:GLOB, uncaught, oom or exit, separated by ';'",
        "when a snapshot is taken",
    ),
    key("stream", StreamAddress::FORM, "the collector to which the trace is sent"),
    key("stream-token", "a file", "the secret that the collector expects"),
    key("overflow", "wait, drop or spill", "what happens if the collector is too slow"),
    key("target", "class name prefixes, separated by '+'", "the classes to record"),
    key(
        "include",
        "globs over pkg.Class or pkg.Class#method, separated by ';'",
        "the methods to record",
    ),
    key(
        "exclude",
        "globs over pkg.Class or pkg.Class#method, separated by ';'",
        "the methods not to record",
    ),
    key(
        "lines",
        "globs over pkg.Class or pkg.Class#method, separated by ';'",
        "the methods whose lines are recorded",
    ),
    key(
        "lines-once",
        "true, run or false",
        "whether lines are recorded once: in each test, or the run",
    ),
    key("calls", "on or off", "whether to record calls"),
    key(
        "values",
        "globs over pkg.Class or pkg.Class#method, separated by ';'",
        "the methods whose values are recorded",
    ),
    key(
        "instructions",
        "globs over pkg.Class or pkg.Class#method, separated by ';'",
        "the methods whose instructions are recorded",
    ),
    key(
        "fields",
        "globs over pkg.Class or pkg.Class#field, separated by ';'",
        "the fields of which accesses are recorded",
    ),
    key(
        "exceptions",
        "globs over pkg.Class or pkg.Class#method, separated by ';'",
        "the methods of which exceptions that reach handlers are recorded",
    ),
    key("waits", "on or off", "whether it is recorded what threads wait for"),
    key(
        "presets",
        "names of presets, such as sql, http and log, separated by ';'",
        "libraries of which statements, requests or messages are recorded",
    ),
    key("presets-file", "a file with rules of presets", "further presets, or further rules"),
    key(
        "redact",
        "globs over names of parameters and fields, pkg.Class, or pkg.Class#method, separated by ';'",
        "the values to leave out",
    ),
    key(
        "max-value",
        "a number from 0 to 1000",
        "how many characters and elements of a value are kept",
    ),
    key(
        "values-depth",
        "a number from 0 to 5",
        "how deep elements, entries and fields of objects are recorded",
    ),
    key("quick", "true or false", "whether only the JVM's first compiler is used"),
    key(
        "own",
        "globs over pkg.Class, separated by ';'",
        "the application's classes, for verbs that read",
    ),
    key("constructors", "true or false", "whether to record constructors and static initialisers"),
    key("synthetic", "true or false", "whether to record methods that compilers add"),
    key("natives", "true or false", "whether to record native methods, if the engine sees them"),
    key("skip", "accessors", "methods that only read or set a field, or pass arguments on"),
    key("engine", "instrument, events or none", "how calls are seen"),
    key(
        "sample",
        "a time from 100us to 10s, such as 10ms, or off",
        "how often the stacks of threads are sampled",
    ),
    key("sample-clock", "cpu or wall", "whether threads are sampled that wait"),
    key("max-frames", "a number from 8 to 8000", "how many frames of a sampled stack are kept"),
    key("format", "binary or jsonl", "how events are written"),
    key(
        "compress",
        "auto, off, lz4, zstd, or zstd:N with a level N from 1 to 19",
        "how a trace in one file is compressed",
    ),
    key(
        "clock",
        "off, exact, tick, or tick:PERIOD with a period from 20us to 1s, such as tick:1ms",
        "how times are recorded",
    ),
    key("order", "time or total", "what is known about the order of events of different threads"),
    key("ids", "an ids.properties file", "ids of methods to keep"),
    key(
        "optimize",
        "the directory of an earlier trace",
        "a trace whose frequent methods get short ids",
    ),
    key("chunk", "a size from 64 to 16m, such as 64k", "memory for the events of each thread"),
    key(
        "max-size",
        "a size from 1m up, such as 500m or 2g",
        "the size at which the recording ends",
    ),
    key(
        "min-free",
        "a size such as 5g, a share of the disk from 0% to 99%, or none",
        "the free disk space at which the recording ends",
    ),
    key("start", "now or paused", "when to begin"),
    key(
        "only-main",
        "globs over main classes, separated by ';', those after '!' are not recorded",
        "which JVMs to record",
    ),
    key("api", "the jar of the Java API", "listeners that mark tests"),
    key("journal", "a directory", "where to keep the journal, which survives a kill"),
    key(
        "durability",
        "process, system, or system:PERIOD with a period from 10ms to 1h, such as system:5s",
        "what the trace survives",
    ),
    key("overload", "wait or drop", "what a thread does if the disk is too slow"),
    key("command", "full, masked or none", "how much of the command line the trace has"),
    key("log", "off, error, warn, info, debug or trace", "messages on stderr"),
    key("debug", "true or false", "the same as log=debug"),
    key("config", "a file with one key=value per line", "further options"),
    key("onerror", "stop or continue", "what the program does if the recording cannot start"),
];

/// One `key=value` and its source.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    pub(super) key: String,
    pub(super) value: String,
    pub(super) place: String,
}

/// The settings in force, by key.
pub(super) fn gather(
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
    add(from_string(text, "agent options")?)?;
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

/// The settings of an option string. Messages name it by `place`.
pub(super) fn from_string(text: &str, place: &str) -> Result<Vec<Setting>, OptionError> {
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
pub fn split(text: &str) -> impl Iterator<Item = String> {
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

pub(super) fn from_environment(environment: &impl Fn(&str) -> Option<String>) -> Vec<Setting> {
    KEYS.iter()
        .filter_map(|Key { name: key, .. }| {
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
    if KEYS.iter().any(|key| key.name == setting.key) {
        return Ok(());
    }
    let suggestion = nearest(&setting.key).map_or_else(
        || {
            let known: Vec<_> = KEYS.iter().map(|key| key.name).collect();
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
        .map(|key| (strsim::jaro_winkler(key.name, &word.to_lowercase()), key.name))
        .filter(|(likeness, _)| *likeness >= LIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, key)| key)
}

pub(super) fn bad_value(setting: &Setting) -> OptionError {
    let expected =
        KEYS.iter().find(|key| key.name == setting.key).map_or("another value", |key| key.form);
    OptionError(format!(
        "{}={} ({}): expected {expected}",
        setting.key, setting.value, setting.place
    ))
}
