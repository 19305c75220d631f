//! Adds up the samples of a log.

use std::collections::HashMap;
use std::io::Read;

use super::lean::{LeanFrame, LeanProfile, SampleWeight};
use flow_codec::Result;
use flow_codec::format::hpl::{self, HplMethod, HplTime, NO_FILE, NO_LINE};
use flow_codec::format::methods::MethodInfo;
use flow_codec::read::{HplItem, HplReader, HplSample, HplStack};

/// Until when a sample lasts.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum GapRule {
    /// Until the next sample of the same thread. This is right if several threads are sampled.
    #[default]
    Thread,
    /// Until the next sample of any thread, as Honest Profiler does it. Then all times together are the time from the first
    /// to the last sample, if the log is in order. A sample lasts no time if the next one is earlier; in Honest Profiler it
    /// would have a negative time.
    Global,
}

/// The class of frames that represent samples that failed.
pub(super) const FAILED_CLASS: &str = "AGCT";

/// The last sample before the current one.
#[derive(Clone, Copy, Default, Debug)]
struct Last {
    /// The node of its innermost frame; `None` if it is left out.
    node: Option<u32>,
    time: Option<HplTime>,
    /// How long the sample before it lasted.
    gap_ns: i64,
}

/// Adds up samples in the order of their log. A sample is counted when it is known how long it lasted: with the next one,
/// or at the end.
///
/// A sample that failed counts as a frame of the class `AGCT`, whose method has the number of the
/// [reason](hpl::failure) less one.
#[derive(Debug)]
pub struct Collector {
    rule: GapRule,
    profile: LeanProfile,
    /// By thread; with [`GapRule::Global`] there is only one.
    last: HashMap<i64, Last>,
}

impl Collector {
    /// Creates an empty one.
    #[must_use]
    pub fn new(rule: GapRule) -> Self {
        Self { rule, profile: LeanProfile::default(), last: HashMap::new() }
    }

    /// Adds all items of a log. After an error, those before it are added.
    ///
    /// # Errors
    /// Those of the log.
    pub fn add_all<R: Read>(&mut self, log: &mut HplReader<R>) -> Result<()> {
        while let Some(item) = log.next_item()? {
            self.add(&item);
        }
        Ok(())
    }

    /// Adds an item of a log.
    pub fn add(&mut self, item: &HplItem<'_>) {
        match item {
            HplItem::Thread { thread, name } => self.profile.name_thread(*thread, name),
            HplItem::Method(method) => {
                self.profile.describe_method(method.method, || described(method));
            }
            HplItem::Sample(sample) => self.sample(sample),
        }
    }

    fn sample(&mut self, sample: &HplSample<'_>) {
        let HplSample { thread, time, stack } = *sample;
        let key = match self.rule {
            GapRule::Thread => thread,
            GapRule::Global => 0,
        };
        let before = self.last.get(&key).copied().unwrap_or_default();
        let gap_ns = match (time, before.time) {
            // The clock was set back, or a sample was written late: how long the sample before lasted is not known.
            (Some(time), Some(before)) => time.ns_since(before).max(0),
            _ => 0,
        };
        self.end_sample(before, gap_ns);
        let node = match stack {
            HplStack::Frames(frames) => {
                let frames = frames.iter().rev().map(|frame| LeanFrame {
                    method: frame.method,
                    line: frame.line.unwrap_or(NO_LINE),
                    bci: frame.bci,
                });
                Some(self.profile.node(thread, frames))
            }
            HplStack::Failed(code) => {
                self.profile.count_failed(thread, 1);
                let method = i64::from(code) - 1;
                self.profile.describe_method(method, || failed(code));
                Some(self.profile.node(thread, [LeanFrame { method, line: NO_LINE, bci: -1 }]))
            }
            HplStack::Cut => {
                self.profile.count_cut();
                None
            }
        };
        self.last.insert(key, Last { node, time, gap_ns });
    }

    fn end_sample(&mut self, sample: Last, ns: i64) {
        if let Some(node) = sample.node {
            self.profile.add_to(node, SampleWeight { count: 1, ns, ..SampleWeight::default() });
        }
    }

    /// Returns the profile. The last samples last as long as those before them.
    #[must_use]
    pub fn finish(mut self) -> LeanProfile {
        for last in std::mem::take(&mut self.last).into_values() {
            self.end_sample(last, last.gap_ns);
        }
        self.profile
    }
}

/// The method that represents samples which failed for this reason.
pub(super) fn failed(code: i32) -> MethodInfo {
    let name = hpl::failure(code).unwrap_or_default().into_owned();
    MethodInfo { class: FAILED_CLASS.to_owned(), name, ..MethodInfo::default() }
}

pub(super) fn described(method: &HplMethod<'_>) -> MethodInfo {
    let descriptor = method.signature.as_ref().map_or("", |signature| &signature.descriptor);
    let class = &method.class;
    let inner = class.strip_prefix('L').and_then(|class| class.strip_suffix(';'));
    let file = Some(&method.file).filter(|file| *file != NO_FILE && !file.is_empty());
    MethodInfo {
        class: inner.unwrap_or(class).replace('/', "."),
        name: method.name.clone().into_owned(),
        descriptor: descriptor.to_owned(),
        source: file.map(|file| file.clone().into_owned()),
        ..MethodInfo::default()
    }
}
