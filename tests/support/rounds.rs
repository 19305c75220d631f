//! Computes what the program `harness.Rounds` calls, and how much of it a trace must have.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use crate::{Decoded, Event, Jdk, Program};

/// Offset in the file of the number of rounds that a player has completed.
const APART: usize = 64;

/// How the program ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// `main` returns.
    Return,
    /// `main` returns when its standard input ends, and so do the workers.
    Wait,
    /// `main` returns, and a shutdown hook does rounds while the JVM ends.
    Hook,
    /// `System.exit(3)`.
    Exit,
    /// `Runtime.halt(4)`.
    Halt,
    /// An uncaught exception.
    Uncaught,
    /// The heap is exhausted: an uncaught error.
    OutOfMemory,
    /// The heap is exhausted, and an option makes the JVM exit then.
    OutOfMemoryEnd,
    /// The program kills itself with SIGABRT.
    Abort,
    /// The program sends itself SIGTERM. A shutdown hook does rounds while the JVM ends.
    Term,
}

impl Way {
    const fn name(self) -> &'static str {
        match self {
            Self::Return => "return",
            Self::Wait => "wait",
            Self::Hook => "hook",
            Self::Exit => "exit",
            Self::Halt => "halt",
            Self::Uncaught => "uncaught",
            Self::OutOfMemory | Self::OutOfMemoryEnd => "oom",
            Self::Abort => "abort",
            Self::Term => "term",
        }
    }

    const fn leaves_main(self) -> bool {
        !matches!(self, Self::Exit | Self::Halt | Self::OutOfMemoryEnd | Self::Abort | Self::Term)
    }

    const fn has_hook(self) -> bool {
        matches!(self, Self::Hook | Self::Term)
    }
}

/// How long the workers run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Workers {
    /// As long as `main`, which waits for them.
    Joined,
    /// As long as the process.
    Daemons,
}

/// A run of the program.
#[derive(Clone, Debug)]
pub struct Rounds {
    /// The seed of the calls.
    pub seed: u64,
    /// The number of threads besides `main`.
    pub threads: usize,
    /// The number of rounds; `None` for endless.
    pub rounds: Option<u64>,
    /// How long the workers run.
    pub workers: Workers,
    /// How it ends.
    pub way: Way,
}

/// How much of a player's calls a trace must have.
///
/// Where recording stops because a class cannot be named, that class is not rewritten: its calls are missing,
/// and exits of the frames around them may follow. So where recording has stopped, the first call of a class
/// without names counts as the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// This many rounds; recording ended some time after them.
    AtLeast(u64),
    /// This many rounds, or one more: the process was killed.
    Killed(u64),
    /// Exactly this many rounds, and what follows them.
    Whole(u64),
    /// Any number: recording stopped.
    Stopped,
}

/// Names of methods as small numbers.
#[derive(Default)]
struct Names {
    numbers: HashMap<String, u32>,
    names: Vec<String>,
}

impl Names {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = u32::try_from(self.names.len()).expect("few names");
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }
}

/// An entry by the method's number, or an exit.
type Step = Option<u32>;

/// The calls of one player.
struct Player<'a> {
    names: &'a mut Names,
    seed: u64,
    index: u64,
    fresh: u64,
    steps: Vec<Step>,
}

impl Player<'_> {
    fn enter(&mut self, name: &str) {
        let number = if name.contains('#') {
            self.names.number(name)
        } else {
            self.names.number(&format!("harness.Rounds$Player#{name}"))
        };
        self.steps.push(Some(number));
    }

    fn exits(&mut self, count: u64) {
        self.steps.extend((0..count).map(|_| None));
    }

    fn call(&mut self, name: &str) {
        self.enter(name);
        self.exits(1);
    }

    fn deep(&mut self, number: u64) {
        (0..=number).for_each(|_| self.enter("deep(I)I"));
        self.exits(number + 1);
    }

    fn derived(&mut self) {
        self.enter("harness.Rounds$Derived#<init>(I)V");
        self.enter("harness.Rounds$Base#<init>(I)V");
        self.exits(2);
    }

    fn round(&mut self, n: u64) {
        self.enter("round(J)V");
        self.call("mix(J)J");
        let random = mix(self
            .seed
            .wrapping_add(self.index.wrapping_mul(0x9E37_79B9_7F4A_7C15))
            .wrapping_add(n.wrapping_mul(0xD1B5_4A32_D192_ED03)));
        let number = random >> 8 & 0x3F;
        match random & 7 {
            0 => self.call("leaf(I)I"),
            1 => self.deep(number),
            2 => {
                self.enter("caught(I)V");
                (0..=number % 8).for_each(|_| self.enter("thrown(I)V"));
                self.exits(number % 8 + 1);
                self.call("handled()V");
                self.exits(1);
            }
            3 => self.derived(),
            4 => {
                self.enter("refused(I)V");
                self.derived();
                self.call("handled()V");
                self.exits(1);
            }
            5 => {
                self.enter("harness.TwoHundred#accept(I)V");
                self.call(&format!("harness.TwoHundred#m{}()V", number * 3));
                self.exits(1);
            }
            6 => {
                self.enter("burst(I)V");
                (0..number).for_each(|_| self.call("leaf(I)I"));
                self.exits(1);
            }
            _ if number == 0 && self.fresh < 900 => {
                let number = self.index * 1000 + self.fresh;
                self.fresh += 1;
                self.fresh(number);
            }
            _ => {
                self.enter("finished(I)V");
                self.deep(number % 8);
                self.call("leaf(I)I");
                self.exits(1);
            }
        }
        self.exits(1);
    }

    fn fresh(&mut self, number: u64) {
        self.enter("fresh(I)V");
        self.enter("harness.Templates#numbered([BI)[B");
        for _ in 0..2 {
            self.enter("harness.Templates#replace([BLjava/lang/String;Ljava/lang/String;)V");
            (0..2).for_each(|_| self.call("harness.Templates#modifiedUtf8(Ljava/lang/String;)[B"));
            self.exits(1);
        }
        self.exits(1);
        self.call("harness.Templates$Loader#<init>()V");
        self.enter("harness.Templates$Loader#instantiate([B)Ljava/lang/Object;");
        self.call(&format!("harness.Template{number:04}#<init>()V"));
        self.exits(1);
        self.enter(&format!("harness.Template{number:04}#run()V"));
        self.call(&format!("harness.Template{number:04}#m{number:04}()V"));
        self.exits(2);
    }
}

fn mix(z: u64) -> u64 {
    let z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}

impl Rounds {
    /// Two workers, endless.
    #[must_use]
    pub const fn endless(seed: u64) -> Self {
        Self { seed, threads: 2, rounds: None, workers: Workers::Daemons, way: Way::Return }
    }

    /// Two workers that `main` waits for.
    #[must_use]
    pub const fn joined(seed: u64, rounds: u64, way: Way) -> Self {
        Self { seed, threads: 2, rounds: Some(rounds), workers: Workers::Joined, way }
    }

    /// Returns the program.
    #[must_use]
    pub fn program(&self, jdk: &Jdk) -> Program {
        let program = Program::harness(jdk, "Rounds");
        let file = words(&program);
        let workers = match self.workers {
            Workers::Joined => "joined",
            Workers::Daemons => "daemons",
        };
        let rounds = self.rounds.map_or("-1".to_owned(), |rounds| rounds.to_string());
        program
            .args([self.seed.to_string(), self.threads.to_string(), rounds])
            .args([workers, self.way.name()])
            .args([file])
    }

    /// Reads the rounds that each player has acknowledged so far: `main`, the workers, the hook.
    #[must_use]
    pub fn acknowledged(&self, program: &Program) -> Vec<u64> {
        let bytes = fs::read(words(program)).unwrap_or_default();
        let word = |at: usize| {
            let word = bytes.get(at..).and_then(<[u8]>::first_chunk);
            word.map_or(0, |word| u64::from_ne_bytes(*word))
        };
        (0..self.threads + 2).map(|player| word(player * APART)).collect()
    }

    /// Reads the rounds of each player from the line that the program prints before it ends.
    ///
    /// # Panics
    /// It printed none.
    #[must_use]
    pub fn printed(stdout: &[u8]) -> Vec<u64> {
        let text = String::from_utf8_lossy(stdout);
        let line = text.lines().find_map(|line| line.strip_prefix("acknowledged "));
        let line = line.unwrap_or_else(|| panic!("nothing is acknowledged in {text:?}"));
        line.split(' ').map(|number| number.parse().expect("a number")).collect()
    }

    /// Returns the players' threads.
    #[must_use]
    pub fn thread_names(&self) -> Vec<String> {
        let workers = (1..=self.threads).map(|worker| format!("worker-{worker}"));
        let names = std::iter::once("main".to_owned()).chain(workers);
        names.chain(self.way.has_hook().then(|| "hook".to_owned())).collect()
    }

    /// Asserts that the trace has the first calls of each player, as far as `reach` requires, and no others.
    ///
    /// # Panics
    /// A call is missing, wrong, or superfluous.
    pub fn assert_followed(&self, trace: &Decoded, reach: impl Fn(usize) -> Reach) {
        let names = self.thread_names();
        for thread in trace.threads.values() {
            assert!(
                thread.events.is_empty() || names.contains(&thread.name),
                "thread {} {} calls nothing of ours",
                thread.id,
                thread.name
            );
        }
        let mut interned = Names::default();
        for (player, name) in names.iter().enumerate() {
            let none = Vec::new();
            let mut named = trace.threads.values().filter(|thread| thread.name == *name);
            let events = named.next().map_or(&none, |thread| &thread.events);
            assert!(named.next().is_none(), "several threads are called {name}");
            let reach = reach(player);
            let followed = self.follow(trace, player, events, reach, &mut interned);
            if let Err(why) = followed {
                panic!("{name}: {why}");
            }
        }
    }

    fn follow(
        &self,
        trace: &Decoded,
        player: usize,
        events: &[Event],
        reach: Reach,
        names: &mut Names,
    ) -> Result<(), String> {
        let index = u64::try_from(player).expect("few players");
        let steps = Vec::new();
        let mut player = Player { names, seed: self.seed, index, fresh: 0, steps };
        let mut at = 0;
        let mut ends = events.len();
        let may_end = reach == Reach::Stopped;
        // Reads what the player has called since; returns whether the trace has all of it.
        let mut take = |player: &mut Player<'_>, ends: &mut usize| -> Result<bool, String> {
            for (step, event) in std::mem::take(&mut player.steps).iter().zip(&events[at..]) {
                let found = match event {
                    Event::Exit => None,
                    Event::Enter(id) => {
                        let key = trace.keys.get(id).ok_or(format!("id {id} has no name"))?;
                        Some(player.names.number(key))
                    }
                };
                if found != *step {
                    let name = |step: &Step| step.map(|n| player.names.names[n as usize].clone());
                    let (found, expected) = (name(&found), name(step));
                    if may_end && expected.as_deref().is_some_and(|key| may_lack_names(trace, key))
                    {
                        *ends = at;
                        return Ok(false);
                    }
                    return Err(format!("event {at} is {found:?}, not {expected:?}"));
                }
                at += 1;
            }
            Ok(at < events.len())
        };
        let rounds = match reach {
            Reach::Whole(rounds) => Some(rounds),
            _ if self.workers == Workers::Daemons && (1..=self.threads as u64).contains(&index) => {
                None
            }
            _ => self.rounds,
        };
        // Only the next event shows whether the round before was complete.
        if index == 0 {
            player.enter("harness.Rounds#main([Ljava/lang/String;)V");
            player.call("harness.Templates#read(Ljava/lang/String;)[B");
            player.call("harness.Rounds#map(Ljava/nio/file/Path;I)Ljava/nio/ByteBuffer;");
            for _ in 0..self.threads + 2 {
                player.enter("<init>(JIJ[BLjava/lang/invoke/VarHandle;Ljava/nio/ByteBuffer;)V");
                player.call("harness.TwoHundred#<init>()V");
                player.exits(1);
            }
        }
        player.enter("run()V");
        let mut complete = 0;
        let mut whole = false;
        let mut length = player.steps.len();
        let mut more = take(&mut player, &mut ends)?;
        while more {
            if rounds == Some(complete) {
                player.exits(1);
                if index == 0 {
                    player.call("harness.Rounds#acknowledge([Lharness/Rounds$Player;)V");
                    player.enter("harness.Rounds#end(Ljava/lang/String;)V");
                    player.exits(if self.way.leaves_main() { 2 } else { 0 });
                }
                length += player.steps.len();
                if take(&mut player, &mut ends)? {
                    return Err(format!("{} events, but {length} were made", events.len()));
                }
                whole = events.len() == length;
                break;
            }
            player.round(complete);
            length += player.steps.len();
            more = take(&mut player, &mut ends)?;
            complete += u64::from(ends >= length);
        }
        let right = match reach {
            Reach::AtLeast(rounds) => complete >= rounds,
            Reach::Killed(rounds) => (rounds..=rounds + 1).contains(&complete),
            Reach::Whole(rounds) => complete == rounds && whole,
            Reach::Stopped => true,
        };
        let trace = format!("{} events, {complete} rounds, whole: {whole}", events.len());
        if right { Ok(()) } else { Err(format!("{trace}; expected {reach:?}")) }
    }
}

/// Returns whether names of this class may be missing: the trace has none of it, or they were written last. Calls of such a
/// class are not recorded.
fn may_lack_names(trace: &Decoded, key: &str) -> bool {
    let class = |key: &str| key.split_once('#').map(|(class, _)| class.to_owned());
    let is_of_class = |other: &String| class(other) == class(key);
    let last = trace.keys.iter().max_by_key(|(id, _)| **id);
    !trace.keys.values().any(is_of_class) || last.is_some_and(|(_, key)| is_of_class(key))
}

fn words(program: &Program) -> PathBuf {
    program.workspace().join("acknowledged")
}
