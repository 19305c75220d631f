//! Adds up the samples of a trace.

use super::collect::failed;
use super::lean::{LeanFrame, LeanProfile, SampleWeight};
use flow_codec::format::hpl::{NATIVE_BCI, NO_LINE};
use flow_codec::format::methods::MethodInfo;
use flow_codec::format::samples::{Cause, Found, Frame, Sample, SampleClock};
use flow_codec::read::{Samples, Trace};
use flow_codec::{Error, MethodId, Result, ThreadId};

/// The number of methods that are not known.
const UNKNOWN: i64 = i64::MIN;
/// The last code that logs of samples have a name for.
const LAST_CODE: i32 = -10;

/// The samples of a trace, added up.
#[derive(Debug)]
pub struct TraceProfile {
    profile: LeanProfile,
    clock: SampleClock,
    damage: Vec<Error>,
}

impl TraceProfile {
    /// Returns the profile. Numbers of threads and methods are those of the trace.
    #[must_use]
    pub fn profile(&self) -> &LeanProfile {
        &self.profile
    }

    /// Returns the profile by value.
    #[must_use]
    pub fn into_profile(self) -> LeanProfile {
        self.profile
    }

    /// Returns whose time it is.
    #[must_use]
    pub fn clock(&self) -> SampleClock {
        self.clock
    }

    /// Returns what could not be read.
    #[must_use]
    pub fn damage(&self) -> &[Error] {
        &self.damage
    }

    /// Reads the samples of a trace; `None` if it has none. A sample counts for each interval that it represents.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn read(trace: &Trace) -> Result<Option<Self>> {
        Self::read_chosen(trace, |_| true)
    }

    /// The same for the samples that are chosen.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn read_chosen(
        trace: &Trace,
        is_chosen: impl FnMut(&Sample<'_>) -> bool,
    ) -> Result<Option<Self>> {
        let Some(mut samples) = trace.samples()? else { return Ok(None) };
        let mut profile = LeanProfile::default();
        let clock = add_all(&mut profile, trace, &mut samples, is_chosen)?;
        // Bytes at the end that the process still writes, or wrote when it was killed.
        let unfinished = samples.unfinished();
        let damage = samples.into_damage();
        let is_empty = clock.is_none() && damage.is_empty() && unfinished == 0;
        let clock = clock.unwrap_or(SampleClock::Wall);
        Ok((!is_empty).then_some(Self { profile, clock, damage }))
    }
}

/// Adds all samples. Returns the clock by which they were taken.
fn add_all(
    profile: &mut LeanProfile,
    trace: &Trace,
    samples: &mut Samples,
    mut is_chosen: impl FnMut(&Sample<'_>) -> bool,
) -> Result<Option<SampleClock>> {
    let mut clock = None;
    while let Some((sampling, sample)) = samples.next_sample()? {
        clock = Some(sampling.clock);
        if !is_chosen(&sample) {
            continue;
        }
        let [ns, waiting_ns] = [sample.ns(sampling), sample.waiting_ns(sampling)]
            .map(|ns| i64::try_from(ns).unwrap_or(i64::MAX));
        let weight = SampleWeight { count: sample.intervals, ns, waiting_ns };
        let thread = number_of(sample.thread);
        name_thread(profile, trace, sample.thread);
        match sample.found {
            Found::Stack { frames, .. } => {
                for frame in frames {
                    describe(profile, trace, frame.method);
                }
                profile.add(thread, frames.iter().map(lean_frame), weight);
            }
            Found::Missed(cause) => {
                let frame = missed(profile, cause);
                profile.add(thread, [frame], weight);
                profile.count_failed(thread, sample.intervals);
            }
        }
    }
    Ok(clock)
}

fn number_of(thread: ThreadId) -> i64 {
    i64::try_from(thread.get()).unwrap_or(i64::MAX)
}

fn name_thread(profile: &mut LeanProfile, trace: &Trace, thread: ThreadId) {
    let number = number_of(thread);
    if !profile.threads().contains_key(&number) {
        let name = trace.threads().get(thread).map_or("", |thread| thread.name.as_str());
        profile.name_thread(number, name);
    }
}

fn method_number(method: Option<MethodId>) -> i64 {
    method.map_or(UNKNOWN, |method| i64::try_from(method.get()).unwrap_or(i64::MAX))
}

fn lean_frame(frame: &Frame) -> LeanFrame {
    let number = |number: Option<u32>, none| {
        number.map_or(none, |number| i32::try_from(number).unwrap_or(i32::MAX))
    };
    LeanFrame {
        method: method_number(frame.method),
        line: number(frame.line, NO_LINE),
        bci: number(frame.bci, NATIVE_BCI),
    }
}

fn describe(profile: &mut LeanProfile, trace: &Trace, method: Option<MethodId>) {
    let number = method_number(method);
    let Some(method) = method else {
        let name = "(unknown)".to_owned();
        profile.describe_method(number, || MethodInfo { name, ..MethodInfo::default() });
        return;
    };
    if let Some(method) = trace.methods().get(method) {
        profile.describe_method(number, || {
            let MethodInfo { class, name, descriptor, source, inlined, .. } = method.info().clone();
            MethodInfo { class, name, descriptor, source, inlined, ..MethodInfo::default() }
        });
    }
}

/// The frame of a sample without a stack, with the name that logs of samples have for the cause.
fn missed(profile: &mut LeanProfile, cause: Cause) -> LeanFrame {
    let code = -i32::from(cause.0);
    let method = i64::from(code) - 1;
    profile.describe_method(method, || match cause.name() {
        name if code < LAST_CODE && !name.is_empty() => {
            MethodInfo { name: name.to_owned(), ..failed(code) }
        }
        _ => failed(code),
    });
    LeanFrame { method, line: NO_LINE, bci: -1 }
}
