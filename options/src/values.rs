//! The values of options.

use std::ops::RangeInclusive;
use std::time::Duration;

use flow_codec::Glob;
use flow_codec::format::manifest::{Order, Timing};
use flow_codec::format::names::EventFormat;
use flow_codec::format::samples::SampleClock;
use flow_codec::write::Compression;

use super::sources::{Setting, bad_value};
use super::{Durability, Keep, MinFree, OptionError, Overflow, Parts, Sampling, SnapshotOn};

pub(super) const DEFAULT_PERIOD: Duration = Duration::from_micros(100);
/// The smallest size of a part, and the shortest time for one.
const PART_BYTES: RangeInclusive<u64> = 1 << 20..=u64::MAX;
const SHORTEST_PART: Duration = Duration::from_secs(1);
const PERIODS: RangeInclusive<Duration> = Duration::from_micros(20)..=Duration::from_secs(1);
const INTERVALS: RangeInclusive<Duration> = Duration::from_micros(100)..=Duration::from_secs(10);
const DEFAULT_MAX_FRAMES: usize = 1024;
const MAX_FRAMES: RangeInclusive<usize> = 8..=8000;
/// What a power failure may cost by default.
const DEFAULT_SYNC_PERIOD: Duration = Duration::from_secs(1);
const SYNC_PERIODS: RangeInclusive<Duration> =
    Duration::from_millis(10)..=Duration::from_secs(3600);

/// `auto`, which is `None`, or what [`Compression`] is parsed from.
pub(super) fn parse_compression(setting: &Setting) -> Result<Option<Compression>, OptionError> {
    match setting.value.as_str() {
        "auto" => Ok(None),
        value => value.parse().map(Some).map_err(|_| bad_value(setting)),
    }
}

pub(super) fn parse_bool(setting: &Setting) -> Result<bool, OptionError> {
    setting.value.parse().map_err(|_| bad_value(setting))
}

pub(super) fn non_empty(setting: &Setting) -> Result<&str, OptionError> {
    if setting.value.is_empty() { Err(bad_value(setting)) } else { Ok(&setting.value) }
}

/// Parses a number of bytes, with a unit such as `k`, `m` or `g` (1024 bytes and so on). `None`: the text is no size, or the number
/// is too large.
#[must_use]
pub fn parse_bytes(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit: u64 = match unit.to_ascii_lowercase().as_str() {
        "" => 1,
        "k" | "kb" => 1 << 10,
        "m" | "mb" => 1 << 20,
        "g" | "gb" => 1 << 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}

/// A size within these limits.
pub(super) fn parse_size(
    setting: &Setting,
    allowed: &RangeInclusive<u64>,
) -> Result<u64, OptionError> {
    let bytes = parse_bytes(&setting.value);
    bytes.filter(|bytes| allowed.contains(bytes)).ok_or_else(|| bad_value(setting))
}

/// `none`, a share such as `5%`, or a size.
pub(super) fn parse_min_free(setting: &Setting) -> Result<MinFree, OptionError> {
    if setting.value == "none" {
        return Ok(MinFree::None);
    }
    let Some(percent) = setting.value.strip_suffix('%') else {
        return parse_size(setting, &(0..=u64::MAX)).map(MinFree::Bytes);
    };
    let percent = percent.parse().ok().filter(|percent| *percent < 100);
    percent.map(MinFree::Percent).ok_or_else(|| bad_value(setting))
}

/// `all`, `memory`, or `last:` and a size.
pub(super) fn parse_keep(setting: &Setting) -> Result<Keep, OptionError> {
    match setting.value.as_str() {
        "all" => return Ok(Keep::All),
        "memory" => return Ok(Keep::Memory),
        _ => {}
    }
    let size = setting.value.strip_prefix("last:").ok_or_else(|| bad_value(setting))?;
    let size = Setting { value: size.to_owned(), ..setting.clone() };
    parse_size(&size, &PART_BYTES).map(Keep::Last).map_err(|_| bad_value(setting))
}

/// What a snapshot is taken on.
pub(super) fn parse_snapshot_on(setting: &Setting) -> Result<SnapshotOn, OptionError> {
    let mut on = SnapshotOn::default();
    for item in list(setting, ';')? {
        match item.split_once(':') {
            Some(("method", glob)) if !glob.is_empty() => on.methods.push(Glob::new(glob)),
            // Made, and usually thrown at once. Constructors of subclasses call that of their class.
            Some(("exception", class)) if !class.is_empty() && !class.contains('#') => {
                on.methods.push(Glob::new(&format!("{class}#<init>")));
            }
            None if item == "uncaught" => on.methods.push(Glob::new(UNCAUGHT)),
            None if item == "oom" => on.oom = true,
            None if item == "exit" => on.exit = true,
            _ => return Err(bad_value(setting)),
        }
    }
    Ok(on)
}

/// The JVM calls it for an exception that a thread does not catch.
const UNCAUGHT: &str = "java.lang.Thread#dispatchUncaughtException";

/// A size, or a time.
pub(super) fn parse_rotate(setting: &Setting) -> Result<Parts, OptionError> {
    if let Ok(bytes) = parse_size(setting, &PART_BYTES) {
        return Ok(Parts { bytes: Some(bytes), ..Parts::default() });
    }
    let age = humantime::parse_duration(&setting.value).ok().filter(|age| *age >= SHORTEST_PART);
    // `30m` looks like a size, which it is.
    age.map(|age| Parts { age: Some(age), ..Parts::default() }).ok_or_else(|| bad_value(setting))
}

/// `off`, `exact`, `tick`, or `tick` and a period.
pub(super) fn parse_clock(setting: &Setting) -> Result<Timing, OptionError> {
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

/// `time` or `total`. `clock` and `format` are those that the events have.
pub(super) fn parse_order(
    setting: Option<&Setting>,
    clock: Timing,
    format: EventFormat,
) -> Result<Order, OptionError> {
    let refused = match setting.map(|setting| (setting, setting.value.as_str())) {
        None | Some((_, "time")) => return Ok(Order::Time),
        Some((setting, "total")) if clock == Timing::Exact => {
            (setting, "clock=exact gives each event a time instead of a number; use clock=tick")
        }
        Some((setting, "total")) if format == EventFormat::Jsonl => {
            (setting, "format=jsonl has no numbers; use format=binary")
        }
        Some((_, "total")) => return Ok(Order::Total),
        Some((setting, _)) => return Err(bad_value(setting)),
    };
    let (Setting { key, value, place }, why) = refused;
    Err(OptionError(format!("{key}={value} ({place}): {why}, or leave out order")))
}

/// How stacks are sampled; `None` without `sample`.
pub(super) fn parse_sampling(
    sample: Option<&Setting>,
    clock: Option<&Setting>,
    max_frames: Option<&Setting>,
) -> Result<Option<Sampling>, OptionError> {
    let clock = match clock.map(|clock| (clock, clock.value.as_str())) {
        None | Some((_, "cpu")) => SampleClock::Cpu,
        Some((_, "wall")) => SampleClock::Wall,
        Some((clock, _)) => return Err(bad_value(clock)),
    };
    let max_frames = max_frames.map_or(Ok(DEFAULT_MAX_FRAMES), |setting| {
        let number = setting.value.parse().ok().filter(|number| MAX_FRAMES.contains(number));
        number.ok_or_else(|| bad_value(setting))
    })?;
    let Some(sample) = sample.filter(|sample| sample.value != "off") else { return Ok(None) };
    let interval = humantime::parse_duration(&sample.value).ok();
    let interval = interval.filter(|interval| INTERVALS.contains(interval));
    let interval = interval.ok_or_else(|| bad_value(sample))?;
    Ok(Some(Sampling { interval, clock, max_frames }))
}

/// `process`, `system`, or `system` and a period.
pub(super) fn parse_durability(setting: &Setting) -> Result<Durability, OptionError> {
    let period = match setting.value.split_once(':') {
        None if setting.value == "process" => return Ok(Durability::Process),
        None if setting.value == "system" => Some(DEFAULT_SYNC_PERIOD),
        Some(("system", period)) => humantime::parse_duration(period).ok(),
        _ => None,
    };
    let period = period.filter(|period| SYNC_PERIODS.contains(period));
    period.map(|period| Durability::System { period }).ok_or_else(|| bad_value(setting))
}

/// What happens if the collector is too slow.
pub(super) fn parse_overflow(setting: &Setting) -> Result<Overflow, OptionError> {
    match setting.value.as_str() {
        "wait" => Ok(Overflow::Wait),
        "drop" => Ok(Overflow::Drop),
        "spill" => Ok(Overflow::Spill),
        _ => Err(bad_value(setting)),
    }
}

/// The items of a list. An empty list is a mistake, such as a variable that is not set: as a filter it would
/// mean the opposite of what was intended.
pub(super) fn list(setting: &Setting, separator: char) -> Result<Vec<String>, OptionError> {
    let items: Vec<_> = match separator {
        ';' => patterns(&setting.value),
        _ => setting.value.split(separator).map(str::to_owned).collect(),
    };
    let items = items.iter().map(|item| item.trim()).filter(|item| !item.is_empty());
    let items: Vec<_> = items.map(str::to_owned).collect();
    if items.is_empty() { Err(bad_value(setting)) } else { Ok(items) }
}

/// Splits a list of patterns, the value of an option, at semicolons. Semicolons of a descriptor do not count, such as those in
/// `a.B#m(Ljava/lang/String;I)Ljava/lang/Object;`; `\;` is an escaped one.
#[must_use]
pub fn patterns(text: &str) -> Vec<String> {
    let mut items = vec![String::new()];
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let part = match c {
            '\\' if rest.starts_with("\\;") => 2,
            '(' => rest.find(')').map_or(1, |end| end + 1 + result_of_descriptor(&rest[end + 1..])),
            c => c.len_utf8(),
        };
        let (part, after) = rest.split_at(part);
        match (part, items.last_mut()) {
            ("\\;", Some(item)) => item.push(';'),
            (";", _) | (_, None) => items.push(String::new()),
            (part, Some(item)) => item.push_str(part),
        }
        rest = after;
    }
    items.into_iter().map(|item| item.replace("\\;", ";")).collect()
}

/// Returns how many bytes the result class in a descriptor takes, at the start of a text: `Ljava/lang/Object;`.
fn result_of_descriptor(text: &str) -> usize {
    let class = text.trim_start_matches('[');
    let end = class.starts_with('L').then(|| class.find(';')).flatten();
    end.map_or(0, |end| text.len() - class.len() + end + 1)
}

pub(super) fn globs(setting: &Setting) -> Result<Vec<Glob>, OptionError> {
    Ok(list(setting, ';')?.iter().map(|item| Glob::new(item)).collect())
}
