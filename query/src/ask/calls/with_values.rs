//! Finds calls with their values, or that were left in one way. Calls of a thread are in the order in which they begin, or the longest are
//! found.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use flow_codec::format::values::CallValue;
use flow_codec::read::{Call, KeepAccesses, Methods, Selection, ThreadFile};
use flow_codec::{MethodId, Offset};

use super::{FoundCall, InTrace, Searched, outcome_of, times_of};
use crate::reading::{Listener, Reading};
use crate::select::{THROWN, ValueCondition, start_ns};
use crate::text::{Compared, ValueTexts};

/// How many calls wait for the end of their callers, at first and at most. Later calls are read again after these.
const FIRST_CALLS: usize = 1 << 16;
const MOST_CALLS: usize = 1 << 20;

/// Keeps the first access of a call that meets a condition.
#[derive(Debug)]
pub(super) struct Conditions<'a> {
    pub(super) methods: &'a Methods,
    pub(super) conditions: &'a [ValueCondition],
}

impl Conditions<'_> {
    /// Returns whether a call meets all conditions.
    pub(super) fn are_met(&self, call: &Call) -> bool {
        let Self { methods, conditions } = self;
        if conditions.is_empty() {
            return true;
        }
        let texts = ValueTexts::new(methods, Some(call.method));
        let with_parts = conditions.iter().any(ValueCondition::is_about_a_part);
        let compared = |value| texts.compared(value, with_parts);
        let mut compared: Vec<_> = call.values.iter().flat_map(compared).collect();
        let class = call.unwound.as_ref().map(|unwound| unwound.class.as_deref().unwrap_or("?"));
        compared.push(Compared {
            names: [THROWN, THROWN].map(str::to_owned),
            text: class.map(str::to_owned),
            is_cut: false,
        });
        conditions.iter().all(|condition| condition.holds(&compared))
    }
}

impl KeepAccesses for Conditions<'_> {
    fn keeps(&self, method: MethodId, kept: &[(usize, CallValue)], access: &CallValue) -> bool {
        let texts = ValueTexts::new(self.methods, Some(method));
        let holds = |condition: &ValueCondition, value: &CallValue| {
            condition.holds(&texts.compared(value, condition.is_about_a_part()))
        };
        self.conditions.iter().any(|condition| {
            holds(condition, access) && !kept.iter().any(|(_, value)| holds(condition, value))
        })
    }
}

/// Where reading of a thread begins.
#[derive(Clone, Copy, Debug, Default)]
struct Start {
    offset: Offset,
    /// How many calls begin before the offset.
    calls: u64,
    /// The last estimate of a time before the offset.
    latest_ns: u64,
}

/// Calls that are read in the order in which they end.
struct Reader<'a, F> {
    place: &'a InTrace<'a>,
    selection: Selection,
    searched: Searched,
    /// How many calls were passed.
    passed: u64,
    each: F,
}

impl InTrace<'_> {
    pub(super) fn with_values<E>(
        &self,
        listener: &mut impl Listener,
        each: impl FnMut(FoundCall) -> Result<(), E>,
    ) -> Result<Searched, E> {
        let selection = self.search.methods(self.trace);
        let searched = Searched::default();
        let mut reader = Reader { place: self, selection, searched, passed: 0, each };
        for (number, file) in
            self.trace.files().iter().enumerate().filter(|(_, file)| file.bytes() > 0)
        {
            let mut reading = Reading::default();
            let (mut from, mut most) = (Some(Start::default()), FIRST_CALLS);
            while let Some(start) = from {
                from = reader.some((number, file), start, most, &mut reading)?;
                most = (2 * most).min(MOST_CALLS);
            }
            listener.file_done(file.bytes());
            reader.searched.reading(reading.report(file, listener));
        }
        Ok(reader.searched)
    }

    pub(super) fn longest_that_hold<E: From<crate::Error>>(
        &self,
        listener: &mut impl Listener,
        each: impl FnMut(FoundCall) -> Result<(), E>,
    ) -> Result<Searched, E> {
        let (asked, trace, selected) = (self.search.asked, self.trace, self.timed()?);
        let methods = self.search.methods(trace);
        let mut searched = Searched::default();
        // By duration, the longest first; of equally long ones, the first in the trace.
        let mut longest = BTreeMap::new();
        for (number, file) in trace.files().iter().enumerate() {
            let mut reading = Reading::default();
            let timeline = match selected.timeline(file, start_ns(trace, file)) {
                Ok(timeline) if asked.has_values => timeline.with_values(),
                Ok(timeline) => timeline,
                Err(error) => {
                    searched.reading(Reading::failed(error).report(file, listener));
                    continue;
                }
            };
            let conditions = self.conditions();
            let mut calls = timeline.calls_with(&conditions);
            for call in calls.by_ref() {
                match call {
                    Ok(call) if methods.contains(call.method) => {
                        if !self.holds(&call, &mut searched) {
                            continue;
                        }
                        let ns = call.duration_ns().unwrap_or(0);
                        longest.insert((Reverse(ns), number, call.number), call);
                        if longest.len() > asked.most {
                            longest.pop_last();
                        }
                    }
                    Ok(_) => {}
                    Err(error) => drop(reading.note(error)),
                }
            }
            let timeline = calls.into_timeline();
            reading.end(timeline.tail(), timeline.into_damage());
            listener.file_done(file.bytes());
            searched.reading(reading.report(file, listener));
        }
        let calls = longest.into_iter().map(|((_, number, _), call)| (number, call)).collect();
        self.pass_longest(calls, &selected.selection, listener, each)?;
        Ok(searched)
    }

    pub(super) fn conditions(&self) -> Conditions<'_> {
        let conditions = &self.search.asked.conditions;
        Conditions { methods: self.trace.methods(), conditions }
    }

    /// Returns whether a call was left as asked and meets all conditions, and counts it.
    pub(super) fn holds(&self, call: &Call, searched: &mut Searched) -> bool {
        searched.of_method += 1;
        searched.has_values |= !call.values.is_empty();
        let is_left = |how| !call.is_open && outcome_of(call) == how;
        let is_met =
            self.search.asked.outcome.is_none_or(is_left) && self.conditions().are_met(call);
        searched.count += u64::from(is_met);
        is_met
    }
}

impl<E, F: FnMut(FoundCall) -> Result<(), E>> Reader<'_, F> {
    /// Searches a thread from an event on, until `most` calls wait for the end of a caller. Returns where the rest begins.
    fn some(
        &mut self,
        (number, file): (usize, &ThreadFile),
        from: Start,
        most: usize,
        reading: &mut Reading,
    ) -> Result<Option<Start>, E> {
        let timeline = match file.timeline_from(from.offset) {
            Ok(timeline) => {
                let timeline = timeline.not_before(from.latest_ns).counting_from(from.calls);
                timeline.select(&self.selection).with_values()
            }
            Err(error) => {
                let _ = reading.note(error);
                return Ok(None);
            }
        };
        let conditions = self.place.conditions();
        let mut calls = timeline.calls_with(&conditions);
        // Calls that meet the conditions, by number, and where the rest begins, if they became too many.
        let mut waiting = BTreeMap::new();
        let mut rest: Option<Start> = None;
        while let Some(call) = calls.next() {
            match call {
                Ok(call) => {
                    let is_first = rest.is_none_or(|rest| call.number < rest.calls);
                    let is_asked = || self.place.search.asked.has_time(&times_of(&call));
                    if is_first && is_asked() && self.place.holds(&call, &mut self.searched) {
                        waiting.insert(call.number, call);
                    }
                }
                // Later calls are read again.
                Err(_) if rest.is_some() => {}
                Err(error) => drop(reading.note(error)),
            }
            while self.passed + waiting.len() as u64 > self.place.search.asked.most as u64 {
                waiting.pop_last();
            }
            let outermost = calls.outermost();
            if rest.is_none() && waiting.len() >= most && outermost.is_some() {
                let left = calls.left_at();
                rest = Some(Start {
                    offset: left.position.offset,
                    calls: left.calls,
                    latest_ns: left.time.estimate_ns.unwrap_or(from.latest_ns),
                });
            }
            let is_early = |number: u64| outermost.is_none_or(|outermost| number < outermost);
            while let Some(first) = waiting.first_entry().filter(|first| is_early(*first.key())) {
                self.passed += 1;
                (self.each)(self.place.found(number, file.id(), first.remove()))?;
            }
            if rest.is_some_and(|rest| outermost.is_none_or(|outermost| outermost >= rest.calls)) {
                return Ok(rest);
            }
        }
        let timeline = calls.into_timeline();
        if rest.is_none() {
            reading.end(timeline.tail(), timeline.into_damage());
        }
        Ok(rest)
    }
}
