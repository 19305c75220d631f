//! Where in a thread consecutive calls of one caller did the same.

use super::{Dag, Root, ShapeId};

/// Consecutive calls of one shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Repeat {
    /// How many: two or more.
    pub count: u64,
    /// The calls made in one of them, including itself.
    pub calls: u64,
}

/// Finds repeats at calls that are given in order. What lies between these calls is skipped.
#[derive(Debug)]
pub struct Repeats {
    dag: Dag,
    /// The thread, and the calls in which the last call is.
    levels: Vec<Level>,
}

#[derive(Clone, Copy, Debug)]
struct Level {
    /// `None` for the thread.
    shape: Option<ShapeId>,
    /// How many of its runs were begun.
    runs: usize,
    /// Calls of the last of these that are left.
    of_run: Option<(ShapeId, u64)>,
    /// The number of the next call.
    number: u64,
}

impl Repeats {
    /// Of the calls of a thread.
    #[must_use]
    pub fn new(dag: Dag) -> Self {
        Self { dag, levels: vec![Level { shape: None, runs: 0, of_run: None, number: 0 }] }
    }

    /// Returns how often the call with this number is repeated from there on, if it is. Numbers must be larger than
    /// those before.
    pub fn at(&mut self, number: u64) -> Option<Repeat> {
        let shapes = self.dag.shapes();
        while let Some(level) = self.levels.last_mut() {
            let run = level.of_run.take().or_else(|| {
                level.runs += 1;
                match level.shape {
                    Some(shape) => shapes.run(shape, level.runs - 1),
                    None => match self.dag.root(level.runs - 1)? {
                        Root::Calls(shape, count) => Some((shape, count)),
                        Root::Open(_) => {
                            level.number = level.number.saturating_add(1);
                            None
                        }
                        Root::UnseenExits(_) => None,
                    },
                }
            });
            let Some((shape, left)) = run else {
                if level.shape.is_none() && self.dag.root(level.runs - 1).is_some() {
                    // It was no call that may be repeated.
                    if level.number > number {
                        return None;
                    }
                    continue;
                }
                self.levels.pop();
                continue;
            };
            let (first, calls) = (level.number, shapes.calls(shape));
            let end = first.saturating_add(calls.saturating_mul(left));
            if end <= number {
                level.number = end;
                continue;
            }
            if number < first {
                level.of_run = Some((shape, left));
                return None;
            }
            let passed = (number - first) / calls.max(1);
            let (this, left) = (first + passed * calls, left - passed);
            level.number = this.saturating_add(calls);
            level.of_run = (left > 1).then(|| (shape, left - 1));
            self.levels.push(Level {
                shape: Some(shape),
                runs: 0,
                of_run: None,
                number: this.saturating_add(1),
            });
            if this == number {
                return (left > 1).then_some(Repeat { count: left, calls });
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::atomic::AtomicU64;

    use super::*;
    use crate::read::{Content, Trace};

    #[test]
    fn repeats_are_found_from_any_call_on() {
        let mut state: u64 = 9;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 40) % below
        };
        let mut repeats = 0;
        for _ in 0..300 {
            let (mut events, mut after_exits, mut open) = (Vec::new(), true, 0);
            for _ in 0..80 {
                // Exits of frames that were entered before would part what follows from what was before.
                let exits = if after_exits { 0 } else { random(3).min(open) };
                after_exits = exits > 0;
                open = if after_exits { open - exits } else { open + 1 };
                events.push(match u8::try_from(exits).unwrap() {
                    0 => 0x80 + u8::try_from(random(2)).unwrap(),
                    exits => exits - 1,
                });
            }
            let dir = tempfile::tempdir().unwrap();
            fs::write(dir.path().join("thread-1.flow"), &events).unwrap();
            let file = Trace::open(dir.path()).unwrap().files.remove(0);
            let content = Content::open(&file).unwrap();
            let dag = Dag::build(&file, &content, &AtomicU64::new(0)).unwrap().dag.unwrap();
            let all: Vec<_> = dag.find(|_| true).collect();
            let step = 1 + random(3);
            let mut found = Repeats::new(dag.clone());
            for number in (0..dag.calls()).step_by(usize::try_from(step).unwrap()) {
                let call_at = |number| all.iter().find(|call| call.number == number);
                let expected = call_at(number).and_then(|call| {
                    let calls = dag.shapes().calls(call.shape);
                    let is_next = |next: &u64| {
                        call_at(number + next * calls).is_some_and(|next| {
                            (next.shape, next.depth) == (call.shape, call.depth)
                        })
                    };
                    let count = (0..).take_while(is_next).count() as u64;
                    (count > 1).then_some(Repeat { count, calls })
                });
                assert_eq!(found.at(number), expected, "{number} of {events:02X?}");
                repeats += u64::from(expected.is_some());
            }
        }
        assert!(repeats > 500, "{repeats}");
    }
}
