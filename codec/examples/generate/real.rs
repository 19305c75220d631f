//! A program like a recorded compiler: javac, of whose calls 8 million were analysed.
//!
//! Half of the calls make no call themselves; a run of exits has two exits on average; most frames have a
//! depth of 20 to 80, some of 110. 2 % of 5000 methods get two thirds of the calls. A call takes about 2.6
//! bytes. As with javac, the number of different paths soon stops growing, and the next call can often be
//! guessed, by a processor too, because loops repeat: gzip compresses a part from the middle to an eighth,
//! and javac's to a twentieth.

use std::io::{self, Write};

use super::shapes::Random;
use super::stream::{Call, Stream};

/// Which method calls which.
#[derive(Debug)]
pub(crate) struct Callees {
    /// The id of each method, the most frequent first.
    ids: Vec<u32>,
    /// How many ids there are. As in a recorded program, some are never called.
    id_count: u32,
    seed: u64,
}

/// How many methods a method calls; now and then it calls any other.
const CALLEES: u64 = 6;
const ANY_CALLEE_PERCENT: u64 = 12;
const ID_STEP: u32 = 2_654_435_769;

impl Callees {
    pub(crate) fn new(methods: u32, seed: u64) -> Self {
        let id_count = methods.next_power_of_two();
        // Spread over all ids, without duplicates: an odd step meets each number below a power of two once.
        let ids = (0..methods).map(|rank| (rank + 1).wrapping_mul(ID_STEP) % id_count).collect();
        Self { ids, id_count, seed }
    }

    /// The method with the rank that belongs to this part of all calls: methods up to a rank get `1 - (1 +
    /// rank / 90)^-1.4` of all calls, as measured.
    fn at(&self, part: f64) -> u32 {
        let rank = 90.0 * ((1.0 - part).powf(-1.0 / 1.4) - 1.0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "not negative, and the remainder is small"
        )]
        let rank = rank as u64 % self.ids.len() as u64;
        u32::try_from(rank).expect("less than the number of methods")
    }

    fn called_by(&self, caller: u32, random: &mut Random) -> u32 {
        if random.percent(ANY_CALLEE_PERCENT) {
            return self.at(random.unit());
        }
        let site = u64::from(caller) * CALLEES + random.below(CALLEES);
        self.at(Random::new(self.seed ^ (site << 20)).unit())
    }
}

/// One call in the program's source, so to speak.
#[derive(Clone, Copy, Debug)]
struct Node {
    call: Call,
    /// The index after its last callee.
    end: u32,
    kind: Kind,
    /// For a loop, the most repetitions.
    rounds: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Plain,
    /// Sometimes left out.
    Branch,
    /// Made several times.
    Loop,
}

/// All paths of the program, each call before those it makes.
#[derive(Debug)]
pub(crate) struct Tape {
    nodes: Vec<Node>,
    id_count: u32,
}

/// A tape has one node for this many calls, within these limits.
const CALLS_A_NODE: u64 = 20;
const NODES: std::ops::RangeInclusive<u64> = 100..=1 << 20;
/// How long a part of the program is whose calls have one usual depth.
const PART: u64 = 2_000;
/// One time in this many, a branch is left out.
const SELDOM: u64 = 16;
/// The distance between loops on a path; each multiplies those inside.
const LOOP_EVERY: usize = 16;
const MOST_ROUNDS: u32 = 6;
/// One loop in this many repeats far more often.
const LONG_LOOPS: u64 = 16;
const LONG_ROUNDS: u32 = 60;

impl Tape {
    pub(crate) fn new(callees: &Callees, calls: u64, seed: u64) -> Self {
        let count = (calls / CALLS_A_NODE).clamp(*NODES.start(), *NODES.end());
        let count = usize::try_from(count).expect("a million is few");
        let mut random = Random::new(seed);
        let mut nodes = Vec::with_capacity(count);
        // The open frames: node and method.
        let mut open: Vec<(usize, u32)> = Vec::new();
        let mut usual_depth = 0;
        while nodes.len() < count {
            if open.is_empty() || random.below(PART) == 0 {
                usual_depth = match random.below(20) {
                    0 => 100,
                    1..4 => 12,
                    _ => 25 + random.below(50),
                };
            }
            // Whether to go deeper, in percent: half of the time, but towards the usual depth.
            let depth = open.len() as u64;
            let deeper = if depth < usual_depth { 55 } else { 45 };
            let caller = open.last().map_or(0, |&(_, method)| method);
            let method = callees.called_by(caller, &mut random);
            let kind = match random.below(8) {
                0 => Kind::Branch,
                1..4 if open.len() % LOOP_EVERY == 9 => Kind::Loop,
                _ => Kind::Plain,
            };
            let rounds = if random.below(LONG_LOOPS) == 0 { LONG_ROUNDS } else { MOST_ROUNDS };
            open.push((nodes.len(), method));
            nodes.push(Node {
                call: Call::new(callees.ids[method as usize]),
                end: 0,
                kind,
                rounds,
            });
            while !open.is_empty() && !random.percent(deeper) {
                close(&mut nodes, &mut open);
            }
        }
        while !open.is_empty() {
            close(&mut nodes, &mut open);
        }
        Self { nodes, id_count: callees.id_count }
    }

    pub(crate) fn id_count(&self) -> u32 {
        self.id_count
    }

    /// Runs the program from its beginning, again and again, below `main` and its first callees.
    pub(crate) fn play(&self, stream: &mut Stream<impl Write>, seed: u64) -> io::Result<()> {
        let mut random = Random::new(seed);
        let mut more = true;
        for node in self.nodes.iter().take(10) {
            more = more && stream.enter(node.call)?;
        }
        while more {
            more = self.play_once(stream, &mut random)?;
        }
        Ok(())
    }

    /// Runs the program to its end. Returns whether there may be more calls.
    pub(crate) fn play_once(
        &self,
        stream: &mut Stream<impl Write>,
        random: &mut Random,
    ) -> io::Result<bool> {
        let mut open: Vec<Open> = Vec::new();
        let mut at = 0;
        let mut more = true;
        while let Some(node) = self.nodes.get(at).copied().filter(|_| more) {
            let rounds = match node.kind {
                Kind::Plain => 1,
                Kind::Branch => u64::from(random.below(SELDOM) != 0),
                Kind::Loop => 1 + random.below(node.rounds.into()),
            };
            if rounds > 0 {
                more = stream.enter(node.call)?;
                open.push(Open { node: at, end: node.end, rounds });
                at += 1;
            } else {
                at = node.end as usize;
            }
            while let Some(frame) = open.last_mut()
                && frame.end as usize == at
            {
                stream.exit(1);
                frame.rounds -= 1;
                if frame.rounds == 0 || !more {
                    open.pop();
                } else {
                    let start = frame.node;
                    more = stream.enter(self.nodes[start].call)?;
                    at = start + 1;
                }
            }
        }
        Ok(more)
    }
}

/// A frame while the program runs.
#[derive(Clone, Copy, Debug)]
struct Open {
    node: usize,
    end: u32,
    rounds: u64,
}

fn close(nodes: &mut [Node], open: &mut Vec<(usize, u32)>) {
    let end = u32::try_from(nodes.len()).expect("a million is few");
    if let Some((node, _)) = open.pop() {
        nodes[node].end = end;
    }
}
