//! When things happened in a thread.

use flow_codec::format::marks::{Mark, Position};
use flow_codec::read::{Asides, Bounds, MarksInput, ThreadFile, Times, Trace};
use flow_codec::{Error, Offset};

/// The time in one thread, where no clock was recorded: the number of calls made before, those
/// included that are not shown, so a call lasts as long as there are calls in it.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    calls: u64,
}

impl Clock {
    /// What time is counted in.
    pub(crate) const UNIT: &str = "calls";

    /// A call is made, shown or not. Answers when.
    pub(crate) fn call(&mut self) -> u64 {
        let now = self.now();
        self.calls = self.calls.saturating_add(1);
        now
    }

    /// The time.
    pub(crate) fn now(&self) -> u64 {
        self.calls
    }
}

/// What times and weights are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scale {
    /// Calls made before.
    Calls,
    /// Nanoseconds since the start of the trace.
    Nanos,
}

/// For formats that know nothing but time: calls are said to take this long each.
const NANOS_PER_CALL: u64 = 1000;

impl Scale {
    /// Nanoseconds for a time.
    pub(super) fn nanos(self, at: u64) -> u64 {
        match self {
            Self::Calls => at.saturating_mul(NANOS_PER_CALL),
            Self::Nanos => at,
        }
    }

    /// A name, with what people must know to read such times.
    pub(super) fn told(self, name: &str) -> String {
        match self {
            Self::Calls => format!("{name} (1 µs is 1 call)"),
            Self::Nanos => name.to_owned(),
        }
    }

    /// What weights are counted in.
    pub(super) fn unit(self) -> &'static str {
        match self {
            Self::Calls => Clock::UNIT,
            Self::Nanos => "ns",
        }
    }
}

/// When something happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Moment {
    /// By the scale: it never goes back within a thread.
    pub(crate) at: u64,
    /// Calls made before.
    pub(crate) calls: u64,
    /// Within these nanoseconds for sure; nothing is known without a clock.
    pub(crate) bounds: Bounds,
}

/// Keeps the time of one thread, and hands on what else is known of its events.
#[derive(Debug)]
pub(super) struct Timekeeper {
    calls: Clock,
    scale: Scale,
    times: Option<Times<MarksInput>>,
    asides: Option<Asides<MarksInput>>,
    /// What is said of events of which no time is known: when the thread began, or the last time that is.
    last_ns: u64,
    damage: Option<Error>,
}

impl Timekeeper {
    /// Begins a thread. By calls nothing is asked of marks.
    pub(super) fn new(trace: &Trace, file: &ThreadFile, scale: Scale) -> Self {
        let mut keeper = Self {
            calls: Clock::default(),
            scale,
            times: None,
            asides: None,
            last_ns: 0,
            damage: None,
        };
        if scale == Scale::Nanos {
            keeper.last_ns = trace.threads.get(file.id).and_then(|t| t.start_ns).unwrap_or(0);
            // Two readers, each of which goes on by itself.
            match (file.marks(), file.asides()) {
                (Ok(times), Ok(asides)) => {
                    keeper.times = times.map(Times::new);
                    keeper.asides = asides;
                }
                (Err(error), _) | (_, Err(error)) => keeper.damage = Some(error),
            }
        }
        keeper
    }

    /// A call is made, shown or not.
    pub(super) fn call(&mut self, offset: Offset) -> Moment {
        let moment = self.at(Position::before(offset));
        self.calls.call();
        moment
    }

    /// When the event at a position happens, which may not be before one asked for earlier.
    pub(super) fn at(&mut self, position: Position) -> Moment {
        self.ask(|times, damage| times.when(position, damage))
    }

    /// When all before a position has happened.
    pub(super) fn at_end(&mut self, position: Position) -> Moment {
        self.ask(|times, damage| times.when_ended(position, damage))
    }

    fn ask(
        &mut self,
        ask: impl FnOnce(&mut Times<MarksInput>, &mut Option<Error>) -> (Bounds, Option<u64>),
    ) -> Moment {
        let Some(times) = &mut self.times else { return self.now() };
        let (bounds, ns) = ask(times, &mut self.damage);
        // A thread may be said to have begun later than it did.
        self.last_ns = ns.unwrap_or(self.last_ns);
        Moment { at: self.last_ns, calls: self.calls.now(), bounds }
    }

    /// The moment of whatever comes last.
    pub(super) fn now(&self) -> Moment {
        let calls = self.calls.now();
        let at = if self.scale == Scale::Calls { calls } else { self.last_ns };
        Moment { at, calls, bounds: Bounds::UNKNOWN }
    }

    /// Whether marks stand within the run of exits that begins here: else all of it happens at once.
    pub(super) fn splits(&mut self, offset: Offset) -> bool {
        let begin = Position::before(offset);
        self.at(begin);
        let time = self.times.as_ref().and_then(Times::until);
        let aside = self
            .asides
            .as_ref()
            .and_then(|asides| asides.until().or(asides.unwound(begin).map(|_| begin)));
        [time, aside].into_iter().flatten().any(|mark| mark.offset == offset)
    }

    /// What the program said before the event at a position, and what else is known: to be asked until there
    /// is no more.
    pub(super) fn aside(&mut self, position: Position) -> Option<(Position, Mark)> {
        let asides = self.asides.as_mut()?;
        asides.next_before(position).unwrap_or_else(|error| {
            self.damage = Some(error);
            None
        })
    }

    /// Whether the exit at a position was by exception, and of which class.
    pub(super) fn unwound(&self, position: Position) -> Option<Option<&str>> {
        self.asides.as_ref()?.unwound(position)
    }

    /// What is wrong with the marks.
    pub(super) fn into_damage(self) -> Option<Error> {
        self.damage
    }
}
