//! A random program: its true events, and what its probes append.
//!
//! It does everything that the specification calls exact, and nothing that it calls inexact. So code that is
//! not recorded passes an exception on where nothing shows which constructors it ended, unless the next event
//! does.

use flow_model::{Event, RawEvent};

/// Ids of methods, of each length; some end in a byte that is an event elsewhere.
const METHODS: [u64; 10] = [0, 1, 63, 64, 127, 7931, 8191, 8192, 1_007_616 + 63, (1 << 20) + 5];
const CONSTRUCTORS: [u64; 8] = [2, 62, 65, 7999, 8190, 8193, 1 << 34, i64::MAX as u64];

/// Something was thrown.
struct Thrown {
    /// Constructors were left, and no event has shown it so far.
    untold: bool,
}

const THROWN: Thrown = Thrown { untold: false };

/// A program that has run.
pub(crate) struct Program {
    pub(crate) raw: Vec<RawEvent>,
    pub(crate) happened: Vec<Event>,
    random: u64,
    /// Calls left; then everything returns.
    left: usize,
}

/// The direct calls of a frame during its call of another constructor.
#[derive(Default)]
struct Calls {
    first: Option<u64>,
}

impl Program {
    /// Runs the program of this number.
    pub(crate) fn run(seed: u64, calls: usize) -> Self {
        let (raw, happened) = (Vec::new(), Vec::new());
        let mut program = Self { raw, happened, random: seed | 1, left: calls };
        program.enter(METHODS[0]);
        while program.left > 0 {
            if program.something(&mut Calls::default()).is_err() {
                program.raw.push(RawEvent::Catch);
            }
        }
        program.exit(RawEvent::Exit);
        program
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 16) % bound
    }

    fn one_of(&mut self, ids: &[u64]) -> u64 {
        let index = self.below(ids.len() as u64);
        ids[usize::try_from(index).expect("less than a length")]
    }

    fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    fn enter(&mut self, id: u64) {
        self.raw.push(RawEvent::Enter(id));
        self.happened.push(Event::Enter(id));
    }

    fn exit(&mut self, event: RawEvent) {
        self.raw.push(event);
        self.happened.push(Event::Exit);
    }

    /// Calls a method or a constructor, straight or from code that is not recorded.
    fn something(&mut self, calls: &mut Calls) -> Result<(), Thrown> {
        let result = self.call(calls);
        match result {
            Err(Thrown { untold: false }) if self.percent(20) => Ok(()),
            other => other,
        }
    }

    fn call(&mut self, calls: &mut Calls) -> Result<(), Thrown> {
        if self.left == 0 {
            return Ok(());
        }
        self.left -= 1;
        if self.percent(40) {
            let id = self.one_of(&CONSTRUCTORS);
            calls.first.get_or_insert(id);
            self.constructor(id)
        } else {
            let id = self.one_of(&METHODS);
            calls.first.get_or_insert(id);
            self.enter(id);
            let result = self.body();
            self.leave(result)
        }
    }

    /// Sometimes, code that is not recorded catches the exception of a call. An event must follow that shows
    /// which constructors it ended.
    fn swallow(&mut self) {
        if self.percent(15) {
            let _ = self.call(&mut Calls::default());
        }
    }

    /// The end of a frame whose code the handler of its probes covers.
    fn leave(&mut self, result: Result<(), Thrown>) -> Result<(), Thrown> {
        if result.is_ok() {
            self.swallow();
        }
        self.exit(if result.is_ok() { RawEvent::Exit } else { RawEvent::UnwoundExit });
        result.map_err(|_| THROWN)
    }

    /// Some code of a frame that the handler of its probes covers, with handlers of the program.
    fn body(&mut self) -> Result<(), Thrown> {
        while self.percent(55) {
            let result =
                if self.percent(12) { Err(THROWN) } else { self.something(&mut Calls::default()) };
            if let Err(thrown) = result {
                if self.percent(50) {
                    return Err(thrown);
                }
                self.raw.push(RawEvent::Catch);
                // Like `finally`.
                if self.percent(30) {
                    return Err(THROWN);
                }
            }
        }
        Ok(())
    }

    fn constructor(&mut self, id: u64) -> Result<(), Thrown> {
        self.enter(id);
        let arguments = self.body();
        if arguments.is_err() {
            return self.leave(arguments);
        }
        if self.left > 0 && self.percent(75) {
            if let Err(thrown) = self.call_another_constructor() {
                self.happened.push(Event::Exit);
                return Err(thrown);
            }
            self.raw.push(RawEvent::End);
        }
        let result = self.body();
        self.leave(result)
    }

    /// `super(…)` or `this(…)`. If it throws, no event shows that the caller is left.
    fn call_another_constructor(&mut self) -> Result<(), Thrown> {
        self.swallow();
        self.left = self.left.saturating_sub(1);
        let mut calls = Calls::default();
        let callee = self.one_of(&CONSTRUCTORS);
        let is_recorded = self.percent(70);
        let result = if is_recorded {
            self.raw.push(RawEvent::Begin(callee));
            self.recorded_constructor(callee, &mut calls)
        } else {
            self.raw.push(RawEvent::BeginUnknown);
            self.unrecorded_constructor(&mut calls)
        };
        let is_met = is_recorded && calls.first == Some(callee);
        result.map_err(|thrown| Thrown { untold: thrown.untold || !is_met })
    }

    fn recorded_constructor(&mut self, callee: u64, calls: &mut Calls) -> Result<(), Thrown> {
        // A recorded class loader finds its class.
        if self.percent(10) {
            let id = self.one_of(&METHODS);
            calls.first = Some(id);
            self.enter(id);
            let result = self.body();
            self.leave(result)?;
        }
        // There is no such constructor, or no room on the stack.
        if self.percent(8) {
            return Err(THROWN);
        }
        calls.first.get_or_insert(callee);
        self.constructor(callee)
    }

    fn unrecorded_constructor(&mut self, calls: &mut Calls) -> Result<(), Thrown> {
        while self.percent(50) {
            self.something(calls)?;
        }
        if self.percent(25) { Err(THROWN) } else { Ok(()) }
    }
}
