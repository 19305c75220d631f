//! Finds the longest calls, with their callers.

use flow_codec::format::manifest::Timing;
use flow_codec::index::INTERVAL_BYTES;
use flow_codec::read::{Call, Selection, ThreadFile};
use flow_codec::{Error, MethodId};

use super::{FoundCall, InTrace, Searched};
use crate::analysis::{SlowCall, Slowest};
use crate::reading::{Listener, Reading, find_stacks, open_tree, read_thread, stored_shapes};
use crate::select::{Selected, start_ns};

/// The number of intervals of the index that a lookup in the tree reads, for the call and for its frames.
const INTERVALS_A_LOOKUP: usize = 4;
/// Up to this many calls are looked up one by one, even in a small thread.
const FEW_LOOKUPS: usize = 8;

impl InTrace<'_> {
    pub(super) fn longest<E: From<crate::Error>>(
        &self,
        listener: &mut impl Listener,
        each: impl FnMut(FoundCall) -> Result<(), E>,
    ) -> Result<Searched, E> {
        let (asked, trace, selected) = (self.search.asked, self.trace, self.timed()?);
        let mut slowest = Slowest::of(asked.most, self.search.methods(trace));
        let mut searched = Searched::default();
        for file in trace.files() {
            let reading = match self.of_samples(file, &selected, listener, &mut slowest) {
                Some(reading) => reading,
                None => {
                    let timeline = selected.timeline(file, start_ns(trace, file));
                    read_thread(file, timeline, listener, &mut slowest, Slowest::end_thread)
                }
            };
            searched.reading(reading.report(file, listener));
        }
        let calls = slowest.into_calls().into_iter();
        let calls = calls.map(|SlowCall { thread, call, .. }| (thread, call)).collect();
        self.pass_longest(calls, &selected.selection, listener, each)?;
        Ok(searched)
    }

    /// Adds the calls of a thread from its stored shapes and its samples. `None` if events are needed; then nothing was added.
    fn of_samples(
        &self,
        file: &ThreadFile,
        selected: &Selected,
        listener: &mut impl Listener,
        slowest: &mut Slowest,
    ) -> Option<Reading> {
        let is_sampled = matches!(self.trace.timing().0, Timing::Sampled { .. });
        if !is_sampled || !selected.is_all() || file.parts().is_some() {
            return None;
        }
        let damage = slowest.add_sampled(&stored_shapes(file)?, file).ok().flatten()?;
        listener.file_done(file.bytes());
        // Shapes of damaged events are not stored.
        Some(damage.map_or_else(Reading::default, Reading::failed))
    }

    /// Finds the callers of calls, and passes these in their order.
    pub(super) fn pass_longest<E>(
        &self,
        calls: Vec<(usize, Call)>,
        selection: &Selection,
        listener: &mut impl Listener,
        mut each: impl FnMut(FoundCall) -> Result<(), E>,
    ) -> Result<(), E> {
        let stacks = self.stacks(&calls, selection, listener);
        for ((number, call), callers) in calls.into_iter().zip(stacks) {
            let Some(file) = self.trace.files().get(number) else { continue };
            each(FoundCall { callers, ..self.found(number, file.id(), call) })?;
        }
        Ok(())
    }

    /// Finds the stacks of calls, without frames that are left out; empty if the thread cannot be read again.
    fn stacks(
        &self,
        calls: &[(usize, Call)],
        selection: &Selection,
        listener: &mut impl Listener,
    ) -> Vec<Vec<MethodId>> {
        let mut stacks = vec![Vec::new(); calls.len()];
        let mut rows: Vec<_> = calls.iter().zip(&mut stacks).collect();
        // The calls of each thread are consecutive and in order.
        rows.sort_by_key(|((thread, call), _)| (*thread, call.number));
        for of_thread in rows.chunk_by_mut(|((a, _), _), ((b, _), _)| a == b) {
            let number = of_thread.first().map(|((thread, _), _)| *thread);
            let file = number.and_then(|number| self.trace.files().get(number));
            let Some(file) = file else { continue };
            let rows = of_thread.iter_mut().map(|((_, call), stack)| (call, &mut **stack));
            let mut rows: Vec<CallAndStack<'_>> = rows.collect();
            // If the thread cannot be read, the first reading has reported it.
            let _ = if is_for_one_pass(file, rows.len()) {
                stacks_in_one_pass(file, &mut rows, listener)
            } else {
                stacks_one_by_one(file, &mut rows, listener)
            };
        }
        for stack in &mut stacks {
            stack.retain(|method| selection.contains(*method));
        }
        stacks
    }
}

/// A call, and the place for its stack.
type CallAndStack<'a> = (&'a Call, &'a mut Vec<MethodId>);

/// Returns whether finding the calls one by one would read more than the whole thread.
fn is_for_one_pass(file: &ThreadFile, rows: usize) -> bool {
    let parts = file.parts().map_or(0, |parts| parts.ranges().len());
    let lookups = rows.saturating_mul(parts.saturating_add(1));
    let bytes = lookups.saturating_mul(INTERVALS_A_LOOKUP * INTERVAL_BYTES);
    lookups > FEW_LOOKUPS && bytes as u64 > file.bytes()
}

fn stacks_in_one_pass(
    file: &ThreadFile,
    rows: &mut [CallAndStack<'_>],
    listener: &mut impl Listener,
) -> Result<(), Error> {
    let numbers: Vec<_> = rows.iter().map(|(call, _)| call.number).collect();
    for ((_, stack), found) in rows.iter_mut().zip(find_stacks(file, &numbers, listener)?) {
        **stack = found;
    }
    Ok(())
}

fn stacks_one_by_one(
    file: &ThreadFile,
    rows: &mut [CallAndStack<'_>],
    listener: &mut impl Listener,
) -> Result<(), Error> {
    let mut tree = open_tree(file, listener)?;
    for (call, stack) in rows {
        if let Some(parts) = file.parts() {
            let Some((_, frames)) = tree.call_in(parts, call.number)? else { continue };
            **stack = frames.iter().map(|frame| frame.method).collect();
        } else if let Some(node) = tree.call(call.number)? {
            **stack = tree.open_methods(node.place)?;
        }
    }
    Ok(())
}
