//! Programs of different shapes, all of them deterministic.

use std::io::{self, Write};

use flow_codec::format::test_marks::Outcome;

use super::real::{Callees, Tape};
use super::stream::{Call, Stream};

/// The shape of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    /// Like a compiler; see [`Tape`].
    Real,
    /// `fib(40)`, again and again: one method, two calls in every frame.
    Fib,
    /// A recursion through three methods, up to ten million frames deep: down once, then up and down in the
    /// lower half.
    Deep,
    /// One method that calls all others in turn: a node with as many children as there are calls.
    Wide,
    /// Tests that repeat themselves, as those of libraries do: each runs some of a few ways through a small program,
    /// again and again. With a clock, there are their marks, too.
    Tests,
}

impl Shape {
    pub(crate) fn parse(word: &str) -> Option<Self> {
        match word {
            "real" => Some(Self::Real),
            "fib" => Some(Self::Fib),
            "deep" => Some(Self::Deep),
            "wide" => Some(Self::Wide),
            "tests" => Some(Self::Tests),
            _ => None,
        }
    }
}

/// A program that can be run any number of times.
#[derive(Debug)]
pub(crate) enum Program {
    Real(Tape),
    Fib,
    Deep { frames: u64 },
    Wide { methods: u32 },
    Tests(Tape),
}

/// The number of tests, the calls for which the program that they run is made, and the ways through it.
const TESTS: u64 = 500;
const TESTED_CALLS: u64 = 40_000;
const WAYS: u64 = 64;

const FIB_OF: u8 = 40;
const DEEPEST: u64 = 10_000_000;

impl Program {
    /// Creates a program of `methods` methods, for about this many calls.
    pub(crate) fn new(shape: Shape, methods: u32, calls: u64, seed: u64) -> Self {
        match shape {
            Shape::Real => Self::Real(Tape::new(&Callees::new(methods, seed), calls, seed)),
            Shape::Fib => Self::Fib,
            Shape::Deep => Self::Deep { frames: (calls / 4).clamp(1, DEEPEST) },
            Shape::Wide => Self::Wide { methods },
            Shape::Tests => {
                Self::Tests(Tape::new(&Callees::new(methods, seed), TESTED_CALLS, seed))
            }
        }
    }

    /// How many ids it has. Some of them are never called.
    pub(crate) fn id_count(&self) -> u32 {
        match self {
            Self::Real(tape) | Self::Tests(tape) => tape.id_count(),
            Self::Fib => 1,
            Self::Deep { .. } => 3,
            Self::Wide { methods } => methods + 1,
        }
    }

    /// Runs the program until the stream has enough calls.
    pub(crate) fn run(&self, stream: &mut Stream<impl Write>, seed: u64) -> io::Result<()> {
        match self {
            Self::Real(tape) => tape.play(stream, seed),
            Self::Fib => fib(stream),
            Self::Deep { frames } => deep(stream, *frames, &mut Random::new(seed)),
            Self::Wide { methods } => wide(stream, *methods),
            Self::Tests(tape) => tests(stream, tape, &mut Random::new(seed)),
        }
    }
}

fn fib(stream: &mut Stream<impl Write>) -> io::Result<()> {
    let call = Call::new(0);
    // For each open frame: its argument, and how many calls it has made.
    let mut open: Vec<(u8, u8)> = Vec::new();
    loop {
        let argument = match open.last_mut() {
            None => FIB_OF,
            Some(&mut (0 | 1, _) | &mut (_, 2)) => {
                stream.exit(1);
                open.pop();
                continue;
            }
            Some((argument, made)) => {
                *made += 1;
                *argument - *made
            }
        };
        open.push((argument, 0));
        if !stream.enter(call)? {
            return Ok(());
        }
    }
}

fn deep(stream: &mut Stream<impl Write>, frames: u64, random: &mut Random) -> io::Result<()> {
    let calls = [Call::new(0), Call::new(1), Call::new(2)];
    loop {
        while stream.depth() < frames {
            let turn = usize::try_from(stream.depth() % 3).expect("less than three");
            if !stream.enter(calls[turn])? {
                return Ok(());
            }
        }
        stream.exit(1 + random.below(frames.div_ceil(2)));
    }
}

fn wide(stream: &mut Stream<impl Write>, methods: u32) -> io::Result<()> {
    let calls: Vec<_> = (1..=methods).map(Call::new).collect();
    let mut more = stream.enter(Call::new(0))?;
    for &call in calls.iter().cycle() {
        if !more {
            break;
        }
        more = stream.enter(call)?;
        stream.exit(1);
    }
    Ok(())
}

fn tests(stream: &mut Stream<impl Write>, tape: &Tape, random: &mut Random) -> io::Result<()> {
    let calls = stream.left() / TESTS;
    for test in 1..=TESTS {
        let name = format!("com.app.Test{}.test{test}", test / 20);
        let until = if test == TESTS { 0 } else { stream.left().saturating_sub(calls) };
        stream.test(&name, None);
        let mut more = stream.enter(Call::new(0))?;
        while more && stream.left() > until {
            let way = random.below(WAYS);
            for _ in 0..random.below(200) {
                stream.again();
                more = more && tape.play_once(stream, &mut Random::new(way))?;
            }
        }
        stream.exit(stream.depth());
        stream.test(&name, Some(Outcome::Passed));
        if !more {
            break;
        }
    }
    Ok(())
}

/// Pseudo-random numbers: xorshift.
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        // Similar seeds must not begin alike, and a zero would stay zero.
        let mut random = Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        for _ in 0..8 {
            random.next();
        }
        random
    }

    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 8
    }

    #[inline]
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    #[inline]
    pub(crate) fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    /// A number from 0 up to, but not including, 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 4) as f64 / (1_u64 << 52) as f64
    }
}
