//! Collects the calls of all threads as steps.

use std::collections::{BTreeMap, HashSet};

use flow_codec::read::{ThreadFile, Trace};
use flow_codec::{MethodId, MethodNames};
use flow_query::ask::HandedCalls;

use super::super::emit::{Buffer, Exit, Exporter, Moment, ValuesOfCall};
use super::super::handed::{Given, Handed, OfCall};
use super::super::labels::whole_thread_name;
use super::diagram::{Diagram, class_and_name};
use super::steps::{Call, MAX_DEPTH, MAX_STEPS, Part, Step, outermost, push};
use super::syntax::{Mermaid, PlantUml, Syntax};
use crate::failure::Failure;

/// A sequence diagram. Memory: the steps of all threads, and what is handed over.
pub(in crate::export) struct Sequence<'a> {
    trace: &'a Trace,
    syntax: &'static dyn Syntax,
    handed: Handed<'a>,
    open: Vec<Open>,
    /// How many steps are in memory.
    steps: usize,
    /// How many calls there are.
    calls: u64,
    /// The calls that nothing handed over, by thread.
    threads: Vec<Part>,
    /// The calls that were handed over, by the number of that.
    parts: BTreeMap<u64, Part>,
}

/// A call that has not ended.
struct Open {
    number: u64,
    /// `None` if it is left out.
    call: Option<Call>,
    /// What it is the outermost call of, if that is no thread.
    part: Option<u64>,
}

impl<'a> Sequence<'a> {
    /// A diagram for Mermaid.
    pub(in crate::export) fn mermaid(trace: &'a Trace, handed: &'a HandedCalls) -> Self {
        Self::new(trace, handed, &Mermaid)
    }

    /// A diagram for PlantUML.
    pub(in crate::export) fn plantuml(trace: &'a Trace, handed: &'a HandedCalls) -> Self {
        Self::new(trace, handed, &PlantUml)
    }

    fn new(trace: &'a Trace, handed: &'a HandedCalls, syntax: &'static dyn Syntax) -> Self {
        Self {
            trace,
            syntax,
            handed: Handed::new(handed),
            open: Vec::new(),
            steps: 0,
            calls: 0,
            threads: Vec::new(),
            parts: BTreeMap::new(),
        }
    }

    /// Appends what the innermost open call has handed over, or a call in it that is left out.
    fn give(&mut self, given: Vec<Given>) {
        for given in given {
            let step = Step::Given(given.number);
            let open = self.open.last_mut();
            if let Some(part) = given.part_inside(open.as_ref().map(|open| open.number)) {
                self.part(part).push(step);
            } else if let Some(call) = open.and_then(|open| open.call.as_mut()) {
                call.inside.push(step);
            } else {
                continue;
            }
            self.steps += 1;
        }
    }

    /// The steps of a part of the current thread.
    fn part(&mut self, number: u64) -> &mut Vec<Step> {
        let thread = self.threads.last().map(|thread| thread.thread.clone()).unwrap_or_default();
        let new = || Part { thread, steps: Vec::new() };
        &mut self.parts.entry(number).or_insert_with(new).steps
    }

    /// Ends the innermost open call.
    fn end(&mut self, thrown: Option<&str>) {
        let Some(Open { call, part, .. }) = self.open.pop() else { return };
        let Some(call) = call else { return };
        let step = Step::Call(Call { thrown: thrown.map(Into::into), ..call });
        let around = self.open.last_mut().and_then(|open| open.call.as_mut());
        let superfluous = match (part, around) {
            (Some(number), _) => push(self.part(number), step),
            (None, Some(around)) => push(&mut around.inside, step),
            (None, None) => match self.threads.last_mut() {
                Some(thread) => push(&mut thread.steps, step),
                None => return,
            },
        };
        // A loop counts for nothing: it has at least one step.
        self.steps = self.steps.saturating_sub(superfluous);
    }
}

impl Exporter for Sequence<'_> {
    fn begin(&mut self, _out: &mut Vec<u8>) {}

    fn begin_thread(&mut self, file: &ThreadFile, _out: &mut Vec<u8>) {
        self.open.clear();
        self.handed.begin_thread(file.id());
        let thread = without_numbers(&whole_thread_name(self.trace, file.id())).into();
        self.threads.push(Part { thread, steps: Vec::new() });
    }

    fn enter(&mut self, method: MethodId, now: Moment, _out: &mut Vec<u8>) {
        let given = self.handed.by_hidden(now.calls);
        self.give(given);
        let OfCall { given, .. } = self.handed.enter(now.calls);
        let part = self.handed.part();
        let caller = self.open.last();
        let begins = |start: u64| caller.is_none_or(|caller| caller.number < start);
        let part = part.filter(|part| begins(part.calls.start)).map(|part| part.number);
        self.calls += 1;
        let is_full = self.steps >= MAX_STEPS || self.open.len() >= MAX_DEPTH;
        let is_hidden = part.is_none() && caller.is_some_and(|caller| caller.call.is_none());
        let call = (!is_full && !is_hidden).then(|| {
            self.steps += 1;
            Call { method, thrown: None, inside: Vec::new() }
        });
        self.open.push(Open { number: now.calls, call, part });
        self.give(given);
    }

    fn exit(&mut self, exit: Exit<'_>, _out: &mut Vec<u8>) {
        let given = self.handed.by_hidden(exit.now.calls);
        self.give(given);
        self.end(exit.thrown().as_deref());
    }

    fn unfinished(&mut self, _at: u64, _values: ValuesOfCall<'_>, _out: &mut Vec<u8>) {
        let given = self.handed.by_hidden(u64::MAX);
        self.give(given);
        self.end(None);
    }

    fn end_thread(&mut self, _at: u64, _out: &mut Buffer<'_>) -> Result<(), Failure> {
        let given = self.handed.by_hidden(u64::MAX);
        self.give(given);
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        let mut joined = Joined { parts: std::mem::take(&mut self.parts), threads: Vec::new() };
        joined.join(std::mem::take(&mut self.threads));
        let steps: Vec<Step> = joined.threads.into_iter().map(Step::Part).collect();
        let names = MethodNames::new(self.trace.methods());
        let diagram = Diagram::new(
            &|method| class_and_name(&names, method),
            |depth| outermost(&steps, depth),
            self.calls,
            "; --in, --own, --depth, --include and --exclude select others",
        );
        out.extend_from_slice(diagram.write(self.syntax).as_bytes());
    }
}

/// The name of a thread, in which a number at the end may be any: threads of a pool do the same.
fn without_numbers(name: &str) -> String {
    let without = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
    if without.len() == name.len() || without.is_empty() {
        name.to_owned()
    } else {
        format!("{without}*")
    }
}

/// Puts parts into the calls that handed them over.
struct Joined {
    /// The parts that have no place yet.
    parts: BTreeMap<u64, Part>,
    threads: Vec<Part>,
}

impl Joined {
    fn join(&mut self, threads: Vec<Part>) {
        let mut given = HashSet::new();
        let all = threads.iter().chain(self.parts.values());
        all.for_each(|part| find_given(&part.steps, &mut given));
        threads.into_iter().for_each(|thread| self.add_thread(thread));
        // What no call of these gave; at last parts that gave each other, which is a wrong guess.
        for is_given in [false, true] {
            let rest: Vec<u64> = self.parts.keys().copied().collect();
            for number in rest.into_iter().filter(|number| given.contains(number) == is_given) {
                if let Some(part) = self.parts.remove(&number) {
                    self.add_thread(part);
                }
            }
        }
    }

    fn add_thread(&mut self, Part { thread, steps }: Part) {
        let steps = self.joined(steps, 0);
        match self.threads.iter_mut().find(|known| known.thread == thread) {
            _ if steps.is_empty() => {}
            Some(known) => steps.into_iter().for_each(|step| {
                push(&mut known.steps, step);
            }),
            None => self.threads.push(Part { thread, steps }),
        }
    }

    /// The steps with the parts that they gave. `depth` is how many calls are around them.
    fn joined(&mut self, steps: Vec<Step>, depth: usize) -> Vec<Step> {
        let mut joined = Vec::new();
        for step in steps {
            let step = match step {
                Step::Call(call) if depth < MAX_DEPTH => {
                    Step::Call(Call { inside: self.joined(call.inside, depth + 1), ..call })
                }
                Step::Given(number) if depth < MAX_DEPTH => match self.parts.remove(&number) {
                    Some(Part { thread, steps }) => match self.joined(steps, depth + 1) {
                        steps if steps.is_empty() => continue,
                        steps => Step::Part(Part { thread, steps }),
                    },
                    None => continue,
                },
                Step::Call(_) | Step::Given(_) => continue,
                // What is equal gave nothing.
                Step::Loop(..) | Step::Part(_) | Step::Only(..) | Step::Note(_) => step,
            };
            push(&mut joined, step);
        }
        joined
    }
}

/// Finds the numbers of what is handed over.
fn find_given(steps: &[Step], given: &mut HashSet<u64>) {
    for step in steps {
        match step {
            Step::Given(number) => {
                given.insert(*number);
            }
            other => find_given(other.inside(), given),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_a_pool_have_one_name() {
        let names = ["pool-1-thread-12", "main", "17", "w1x"].map(without_numbers);
        assert_eq!(names, ["pool-1-thread-*", "main", "17", "w1x"]);
    }
}
