//! What threads hand to each other: tasks, by the object that one thread gives and another one runs, and threads that are
//! started. Which methods do that, a preset says.
//!
//! ```text
//! calls with roles, of all threads ─▶ gives, and sections in which something runs ─▶ each section with its give
//! ```
//!
//! A section inside another one in the same thread belongs to its own give: a thread of a pool runs tasks of many.
//!
//! Where recording was suspended or events are missing, an object may have been run and handed over again. What is linked across
//! such a break is a guess.

use std::collections::HashMap;
use std::num::NonZeroU64;
use std::ops::Range;

use flow_codec::format::marks::Position;
use flow_codec::format::roles::{MethodRole, PresetRole, TextSource};
use flow_codec::format::values::{CallValue, Primitive, Value};
use flow_codec::read::{Bounds, EventKind, Stamp, TimelineEvent, Unwound, VisitTimeline, When};
use flow_codec::{MethodId, Offset, ThreadId};

use super::role_calls::{RoleCall, RoleCalls};
use crate::analysis::operations::{key_of, value_of};

/// The preset whose roles say what is handed over.
pub(crate) const HANDOVERS: &str = "handovers";

/// What is handed over.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Handed {
    /// An object, by its class and identity.
    Object(Option<MethodId>, u32),
    /// A thread.
    Thread(ThreadId),
}

/// A call that hands something over.
#[derive(Clone, Debug)]
pub(crate) struct Give {
    /// The thread.
    pub(crate) thread: ThreadId,
    /// How many calls of the thread began before it.
    pub(crate) number: u64,
    /// Where it is in the thread.
    pub(crate) at: Offset,
    /// When it began.
    pub(crate) time: When,
    what: Handed,
    keeps: bool,
    /// The section that it is in.
    section: usize,
    /// How many calls of the thread had begun when the caller of this call returned.
    around_until: u64,
}

/// A part of a thread in which something runs that was handed over. The first sections are the threads themselves.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    /// The thread.
    pub(crate) thread: ThreadId,
    /// The events.
    pub(crate) range: Range<Position>,
    /// The numbers of the calls that began in it.
    pub(crate) numbers: Range<u64>,
    /// When it began.
    pub(crate) time: When,
    /// When it ended.
    pub(crate) ended: When,
    /// How many of its calls are in no section in it, and do not hand over or run something.
    pub(crate) calls: u64,
    /// The section around it; of a thread none.
    pub(crate) around: Option<usize>,
    /// The [give](HandOvers::gives) that it is of, if that is known.
    pub(crate) give: Option<usize>,
    /// Whether another give may be the right one: the same object was handed over more than once, two of one class have the
    /// same identity, or there was a break in between.
    pub(crate) is_guessed: bool,
    what: Option<Handed>,
}

/// What the threads of a trace hand to each other.
#[derive(Default, Debug)]
pub(crate) struct HandOvers {
    gives: Vec<Give>,
    sections: Vec<Section>,
    breaks: Breaks,
}

/// When recording was suspended, or events are missing.
#[derive(Default, Debug)]
struct Breaks {
    /// From when to when, in nanoseconds.
    times: Vec<(u64, u64)>,
    /// When a pause began in the thread that is being read.
    paused: Option<Bounds>,
}

/// Finds what threads hand over in their timelines, which are read [with values](flow_codec::read::Timeline::with_values). Memory:
/// a few words for each hand-over.
#[derive(Debug)]
pub(crate) struct FindHandOvers {
    roles: HashMap<MethodId, MethodRole>,
    found: HandOvers,
    thread: ThreadId,
    calls: RoleCalls<OfCall>,
    /// Open sections, the innermost last.
    inside: Vec<Inside>,
    /// Gives whose callers are open, with the number of frames around each, the innermost last.
    open_gives: Vec<(usize, usize)>,
}

/// An open section.
#[derive(Clone, Copy, Debug)]
struct Inside {
    section: usize,
    /// How many frames are around it.
    around: usize,
    /// The section ends when fewer frames are open: a section that is a call ends with it, others with the frame around them.
    least: usize,
}

/// The sections of an open call that has a role.
#[derive(Debug)]
struct OfCall {
    /// The section that it is.
    section: Option<usize>,
    /// The section that it is in.
    around: usize,
}

impl Give {
    /// Returns whether it may have happened before a section began.
    fn may_come_before(&self, section: &Section) -> bool {
        let is_before = self.time.bounds.from_ns <= section.time.bounds.by_ns;
        let is_later_here =
            self.thread == section.thread && Position::before(self.at) >= section.range.start;
        is_before && !is_later_here
    }

    /// The innermost section that it is in.
    pub(crate) fn section(&self) -> usize {
        self.section
    }

    /// Returns whether a section begins before the caller of this give has returned.
    pub(crate) fn is_around(&self, section: &Section) -> bool {
        self.thread == section.thread && section.numbers.start < self.around_until
    }
}

impl HandOvers {
    /// The calls that hand something over.
    pub(crate) fn gives(&self) -> &[Give] {
        &self.gives
    }

    /// The parts of threads in which something runs that was handed over, and the threads.
    pub(crate) fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// The give that a section belongs to.
    pub(crate) fn give_of(&self, section: &Section) -> Option<&Give> {
        section.give.and_then(|give| self.gives.get(give))
    }

    /// Finds the give of each section, the earliest section first.
    fn join(&mut self) {
        let Self { gives, sections, breaks } = self;
        breaks.join();
        let mut of_objects: HashMap<Handed, Vec<usize>> = HashMap::new();
        for (number, give) in gives.iter().enumerate() {
            of_objects.entry(give.what).or_default().push(number);
        }
        let mut of_objects: HashMap<Handed, GivesOfObject> = of_objects
            .into_iter()
            .map(|(what, given)| (what, GivesOfObject::new(given, gives)))
            .collect();
        let mut origins = Origins::of(sections, |what| of_objects.contains_key(&what));
        let mut in_order: Vec<usize> = (0..sections.len()).collect();
        in_order.sort_by_key(|number| sections[*number].time.estimate_ns);
        for number in in_order {
            let section = &mut sections[number];
            let of_object = section.what.and_then(|what| of_objects.get_mut(&what));
            let Some(of_object) = of_object else { continue };
            let (give, is_guessed) = of_object
                .give_of(section, gives, |give| !origins.is_from(gives[give].section, number));
            let given = give.and_then(|give| gives.get(give));
            // The id of a thread that was started is unique, so its link is certain across a break.
            let is_object = matches!(given.map(|give| give.what), Some(Handed::Object(..)));
            let has_break = given.is_some_and(|give| {
                breaks.are_in(give.time.bounds.from_ns, section.time.bounds.by_ns)
            });
            (section.give, section.is_guessed) = (give, is_guessed || is_object && has_break);
            let origin = given.map(|give| give.section).or(section.around);
            origin.into_iter().for_each(|origin| origins.join(number, origin));
        }
    }
}

/// Where sections come from, as far as that is known: the section that each was handed over in, or the one around it. Sections
/// that come from each other form a tree, of which this knows the root.
///
/// What is handed over in a section begins after it. A guess could say otherwise where times are not known well, and sections
/// that come from each other in a circle would belong to no request.
struct Origins {
    /// The root of the tree that each section is in, or a section nearer to it.
    towards: Vec<usize>,
}

impl Origins {
    /// Begins with the sections that nothing handed over: they are a part of what is around them.
    fn of(sections: &[Section], is_given: impl Fn(Handed) -> bool) -> Self {
        let mut origins = Self { towards: (0..sections.len()).collect() };
        for (number, section) in sections.iter().enumerate() {
            if let Some(around) = section.around
                && !section.what.is_some_and(&is_given)
            {
                origins.join(number, around);
            }
        }
        origins
    }

    /// The root of the tree that a section is in.
    fn root(&mut self, mut section: usize) -> usize {
        while self.towards[section] != section {
            let next = self.towards[section];
            self.towards[section] = self.towards[next];
            section = next;
        }
        section
    }

    /// Returns whether a section comes from one whose own origin is not known yet.
    fn is_from(&mut self, section: usize, origin: usize) -> bool {
        self.root(section) == origin
    }

    /// Says where a section comes from.
    fn join(&mut self, section: usize, origin: usize) {
        let root = self.root(origin);
        self.towards[section] = root;
    }
}

impl Breaks {
    /// Adds the event, if a break begins or ends there.
    fn add(&mut self, event: &TimelineEvent) {
        let bounds = event.time.bounds;
        match event.kind {
            EventKind::Gap { .. } => self.times.push((bounds.from_ns, bounds.by_ns)),
            EventKind::Pause => self.paused = Some(bounds),
            EventKind::Resume => self.end_pause(bounds),
            _ => {}
        }
    }

    /// Ends a pause of the thread. Other threads may have noticed it later and earlier: it is the time that is certain, if there is any.
    fn end_pause(&mut self, end: Bounds) {
        let Some(begin) = self.paused.take() else { return };
        let is_certain = begin.by_ns < end.from_ns;
        self.times.push(if is_certain {
            (begin.by_ns, end.from_ns)
        } else {
            (begin.from_ns, end.by_ns)
        });
    }

    /// Puts all of them in order, those that overlap as one.
    fn join(&mut self) {
        self.times.sort_unstable();
        self.times.dedup_by(|next, before| {
            let overlap = next.0 <= before.1;
            if overlap {
                before.1 = before.1.max(next.1);
            }
            overlap
        });
    }

    /// Returns whether one is in a range of time.
    fn are_in(&self, from_ns: u64, by_ns: u64) -> bool {
        let first = self.times.partition_point(|(_, end)| *end < from_ns);
        self.times.get(first).is_some_and(|(begin, _)| *begin <= by_ns)
    }
}

/// How many gives of an object are inspected for a section. Without times, all of a long recording may be possible.
const INSPECTED: usize = 1000;

/// The gives of one object, or of several of one class with the same identity, that sections have not taken.
struct GivesOfObject {
    all: Vec<usize>,
    /// Gives that keep it.
    kept: Vec<usize>,
    /// The first one that no section has taken.
    next: usize,
    /// The end of the gives that an earlier section may belong to.
    possible: usize,
}

impl GivesOfObject {
    fn new(mut all: Vec<usize>, gives: &[Give]) -> Self {
        // So that those that may come before a section follow each other.
        all.sort_by_key(|give| {
            let time = gives[*give].time;
            (time.bounds.from_ns, time.estimate_ns)
        });
        let kept = all.iter().copied().filter(|give| gives[*give].keeps).collect();
        Self { all, kept, next: 0, possible: 0 }
    }

    /// The give of the next section, and whether another one may be the right one. Only those that `may_lead` to it are taken.
    fn give_of(
        &mut self,
        section: &Section,
        gives: &[Give],
        mut may_lead: impl FnMut(usize) -> bool,
    ) -> (Option<usize>, bool) {
        let may_come_first = |give: &usize| gives[*give].may_come_before(section);
        if !self.kept.is_empty() {
            let by_ns = section.time.bounds.by_ns;
            let end = self.kept.partition_point(|give| gives[*give].time.bounds.from_ns <= by_ns);
            let before = self.kept.iter().take(end).rev().copied().filter(may_come_first);
            let give = before.clone().find(|give| may_lead(*give));
            return (give, before.take(2).count() > 1);
        }
        let begun = |give: &usize| gives[*give].time.bounds.from_ns <= section.time.bounds.by_ns;
        let end = self.next + self.all[self.next..].partition_point(begun);
        // Those that come later in the same thread are left for other sections.
        let inspected = end.min(self.next + INSPECTED);
        let mut may_be = |give: &usize| may_come_first(give) && may_lead(*give);
        let Some(at) = (self.next..inspected).find(|at| may_be(&self.all[*at])) else {
            return self.taken_before(may_be);
        };
        let is_left = at < self.possible;
        self.all[self.next..=at].rotate_right(1);
        let give = self.all[self.next];
        self.next += 1;
        self.possible += usize::from(!is_left);
        let has_others =
            inspected < end || self.all[self.next..inspected].iter().any(may_come_first);
        if has_others {
            self.possible = self.possible.max(end);
        }
        (Some(give), is_left || has_others)
    }

    /// The give of a section before which none is left: it runs again, or a section whose time is not known well has taken its
    /// give, or it was handed over before the recording began.
    fn taken_before(&self, mut may_be: impl FnMut(&usize) -> bool) -> (Option<usize>, bool) {
        let give = self.all[..self.next].iter().rev().find(|give| may_be(give)).copied();
        (give, give.is_some() && self.all.len() > 1)
    }
}

impl FindHandOvers {
    /// Begins with the roles of methods.
    pub(crate) fn new(roles: HashMap<MethodId, MethodRole>) -> Self {
        Self {
            roles,
            found: HandOvers::default(),
            thread: ThreadId::new(0),
            calls: RoleCalls::default(),
            inside: Vec::new(),
            open_gives: Vec::new(),
        }
    }

    /// Begins a thread.
    pub(crate) fn begin_thread(&mut self, thread: ThreadId) {
        (self.thread, self.calls) = (thread, RoleCalls::default());
        self.inside.clear();
        self.open_gives.clear();
        let start = Stamp { position: Position::default(), time: When::UNKNOWN, calls: 0 };
        self.begin((0, 0), start, Some(Handed::Thread(thread)));
    }

    /// Ends a thread.
    pub(crate) fn end_thread(&mut self, now: Stamp) {
        self.leave(0, now);
        self.found.breaks.end_pause(Bounds::UNKNOWN);
        let end = Position { offset: Offset::new(u64::MAX), exits: u64::MAX };
        while let Some(inside) = self.inside.pop() {
            self.end_at(inside.section, Stamp { position: end, ..now });
        }
    }

    /// Ends the trace.
    pub(crate) fn end(mut self) -> HandOvers {
        self.found.join();
        self.found
    }

    /// Begins a section with this many frames around it, which lives while there are at least this many.
    fn begin(&mut self, (around, least): (usize, usize), at: Stamp, what: Option<Handed>) -> usize {
        let number = self.found.sections.len();
        self.found.sections.push(Section {
            thread: self.thread,
            range: at.position..at.position,
            numbers: at.calls..at.calls,
            time: at.time,
            ended: at.time,
            calls: 0,
            around: self.inside.last().map(|inside| inside.section),
            give: None,
            is_guessed: false,
            what,
        });
        self.inside.push(Inside { section: number, around, least });
        number
    }

    /// Ends a section at a position, or where the frame around it ends in a run of exits that begins there.
    fn end_section(&mut self, Inside { section, around, .. }: Inside, at: Stamp) {
        let left = self.calls.open().saturating_sub(around) as u64;
        let position = Position { exits: at.position.exits + left, ..at.position };
        self.end_at(section, Stamp { position, ..at });
    }

    fn end_at(&mut self, section: usize, at: Stamp) {
        if let Some(section) = self.found.sections.get_mut(section) {
            (section.range.end, section.numbers.end, section.ended) =
                (at.position, at.calls, at.time);
        }
    }

    /// Ends the sections that need more frames than these.
    fn end_sections(&mut self, frames: usize, at: Stamp) {
        while let Some(inside) = self.inside.pop_if(|inside| inside.least > frames) {
            self.end_section(inside, at);
        }
    }

    /// The callers of gives with more frames around them than these have returned.
    fn end_gives(&mut self, frames: usize, at: Stamp) {
        while let Some((give, _)) = self.open_gives.pop_if(|(_, around)| *around > frames) {
            if let Some(give) = self.found.gives.get_mut(give) {
                give.around_until = at.calls;
            }
        }
    }

    /// Ends the sections that began with this many frames around them: what runs now is something else.
    fn end_same(&mut self, frames: usize, at: Stamp) {
        while self.inside.len() > 1
            && let Some(inside) = self.inside.pop_if(|inside| inside.around >= frames)
        {
            self.end_at(inside.section, at);
        }
    }

    fn leave(&mut self, frames: usize, at: Stamp) {
        while let Some(call) = self.calls.pop_above(frames) {
            self.end_sections(call.frames - 1, at);
            self.end_gives(call.frames - 1, at);
            self.finish(call, at);
        }
        self.end_sections(frames, at);
        self.end_gives(frames, at);
        self.calls.set_open(frames);
    }

    /// Whether a call is open that hands the same over, or runs the same: it does so by calling another method that does.
    fn is_done_around(&self, what: Handed, is_role: impl Fn(PresetRole) -> bool) -> bool {
        self.calls.iter().any(|call| {
            let role = self.roles.get(&call.method).filter(|role| is_role(role.role()));
            role.and_then(|role| handed(role, &call.values)) == Some(what)
        })
    }

    /// Ends a call that has a role.
    fn finish(&mut self, call: RoleCall<OfCall>, at: Stamp) {
        let Some(role) = self.roles.get(&call.method) else { return };
        let Some(what) = handed(role, &call.values) else { return };
        let gives = |role| matches!(role, PresetRole::Give | PresetRole::Keep | PresetRole::Start);
        match role.role() {
            PresetRole::Take if self.is_done_around(what, |role| role == PresetRole::Take) => {}
            PresetRole::Begin if self.is_done_around(what, |role| role == PresetRole::Begin) => {}
            PresetRole::Take => {
                let section =
                    call.of.section.and_then(|number| self.found.sections.get_mut(number));
                section.into_iter().for_each(|section| section.what = Some(what));
            }
            PresetRole::Begin => {
                let (around, left) =
                    (call.frames - 1, self.calls.open().saturating_sub(call.frames));
                self.end_same(around, call.begun);
                let exits = at.position.exits + left as u64 + 1;
                let at = Stamp { position: Position { exits, ..at.position }, ..at };
                self.begin((around, around), at, Some(what));
            }
            PresetRole::Give | PresetRole::Keep | PresetRole::Start
                if self.is_done_around(what, gives) => {}
            PresetRole::Give | PresetRole::Keep | PresetRole::Start => {
                self.open_gives.push((self.found.gives.len(), call.frames - 1));
                self.found.gives.push(Give {
                    thread: self.thread,
                    number: call.begun.calls,
                    at: call.begun.position.offset,
                    time: call.begun.time,
                    what,
                    keeps: role.role() == PresetRole::Keep,
                    section: call.of.around,
                    around_until: u64::MAX,
                });
            }
            _ => {}
        }
    }
}

/// What a call hands over or runs.
fn handed(role: &MethodRole, values: &[CallValue]) -> Option<Handed> {
    let source = role.text().iter().find(|source| matches!(source, TextSource::Value(..)))?;
    let value = value_of(source, values)?;
    if role.role() == PresetRole::Start {
        let Value::Primitive(Primitive::Long(id)) = value else { return None };
        return u64::try_from(*id).ok().map(|id| Handed::Thread(ThreadId::new(id)));
    }
    key_of(value).map(|(class, hash)| Handed::Object(class, hash))
}

impl VisitTimeline for FindHandOvers {
    fn enter(&mut self, method: MethodId, at: Stamp) -> bool {
        let role = self.roles.get(&method).map(MethodRole::role);
        let open = self.calls.open();
        if role == Some(PresetRole::End) {
            self.end_same(open, at);
        }
        let around = self.inside.last().map_or(0, |inside| inside.section);
        if let Some(role) = role {
            let is_section = role == PresetRole::Take;
            let section = is_section.then(|| self.begin((open, open + 1), at, None));
            self.calls.enter_role(method, at, OfCall { section, around });
            return true;
        }
        self.calls.enter();
        if let Some(section) = self.found.sections.get_mut(around) {
            section.calls += 1;
        }
        true
    }

    fn exit(&mut self, count: NonZeroU64, at: Stamp, _: Option<&Unwound>) -> bool {
        self.leave(self.calls.after_exits(count), at);
        true
    }

    fn other(&mut self, event: TimelineEvent) -> bool {
        self.found.breaks.add(&event);
        self.calls.add_values(event);
        true
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use flow_codec::format::values::{Identity, Primitive, Role};

    const LETTERS: &str = "GKTBESm";

    /// What some threads hand over, the first of which has the id 1. Each letter is a call with the role that it begins
    /// ([`PresetRole`]), of an object or a thread with the number after it; `m` is a call without a role. `)` leaves one frame,
    /// `]` two; at `-` events are missing. An event is at the offset of its place in the text.
    pub(crate) fn found(threads: &[&str]) -> HandOvers {
        let words = ["give", "keep", "take", "begin", "end", "start"];
        let role = |word: &str| MethodRole::parse(&format!("x {word} arg0")).unwrap();
        let id = |number: usize| MethodId::new(number as u64).unwrap();
        let roles = words.iter().enumerate().map(|(number, word)| (id(number), role(word)));
        let mut found = FindHandOvers::new(roles.collect());
        for (thread, events) in (1..).zip(threads) {
            found.begin_thread(ThreadId::new(thread));
            let at = |offset: usize, calls: u64| Stamp {
                position: Position::before(Offset::new(offset as u64)),
                time: When::UNKNOWN,
                calls,
            };
            let (mut calls, mut letters) = (0, events.char_indices());
            while let Some((offset, letter)) = letters.next() {
                match letter {
                    ')' | ']' => {
                        let count = if letter == ')' { 1 } else { 2 };
                        found.exit(NonZeroU64::new(count).unwrap(), at(offset, calls), None);
                        continue;
                    }
                    '-' => {
                        let Stamp { position, time, calls } = at(offset, calls);
                        let kind = EventKind::Gap { events: None };
                        found.other(TimelineEvent { position, time, calls, number: None, kind });
                        continue;
                    }
                    letter => found.enter(id(LETTERS.find(letter).unwrap()), at(offset, calls)),
                };
                calls += 1;
                if letter != 'm' {
                    let number = letters.next().and_then(|(_, digit)| digit.to_digit(10)).unwrap();
                    let value = match letter {
                        'S' => Value::Primitive(Primitive::Long(number.into())),
                        _ => Value::Object(Identity { class: None, hash: number }),
                    };
                    let kind = EventKind::Values(vec![CallValue::new(Role::Argument(0), value)]);
                    let Stamp { position, time, calls } = at(offset, calls);
                    found.other(TimelineEvent { position, time, calls, number: None, kind });
                }
            }
            found.end_thread(at(events.len(), calls));
        }
        found.end()
    }

    /// The sections, without threads that nobody started: thread, where they begin and end, calls, and the thread and call that
    /// handed them over.
    fn sections(threads: &[&str]) -> Vec<String> {
        let found = found(threads);
        let shown = |section: &Section| {
            let place = |at: Position| match (at.offset.get(), at.exits) {
                (u64::MAX, _) => "end".to_owned(),
                (offset, 0) => offset.to_string(),
                (offset, exits) => format!("{offset}+{exits}"),
            };
            let give = found.give_of(section);
            let give =
                give.map_or("-".to_owned(), |give| format!("{}:{}", give.thread, give.number));
            let guessed = if section.is_guessed { " guessed" } else { "" };
            let range = format!("{}..{}", place(section.range.start), place(section.range.end));
            format!("{} {range} {} by {give}{guessed}", section.thread, section.calls)
        };
        let is_shown = |section: &&Section| section.around.is_some() || section.give.is_some();
        found.sections().iter().filter(is_shown).map(shown).collect()
    }

    #[test]
    fn a_task_is_what_is_between_two_calls_or_in_one() {
        assert_eq!(
            sections(&["mG5))", "B5)m)E5)B6)m)"]),
            ["2 2+1..5 1 by 1:1", "2 10+1..end 1 by -"]
        );
        assert_eq!(sections(&["mG5))", "mT5m)))m)"]), ["2 1..5+1 1 by 1:1"]);
        // The frame around it ends, both at once.
        assert_eq!(sections(&["G5)", "mB5)mm])m)"]), ["2 3+1..7 2 by 1:0"]);
        assert_eq!(sections(&["G5)", "mB5)m]m)"]), ["2 3+1..5+1 1 by 1:0"]);
        assert_eq!(sections(&["G5)", "mT5m]m))"]), ["2 1..4+2 1 by 1:0"]);
    }

    #[test]
    fn a_thread_is_handed_over_by_the_call_that_starts_it() {
        assert_eq!(sections(&["mS2))", "mm))"]), ["2 0..end 2 by 1:1"]);
    }

    #[test]
    fn sections_of_one_thread_are_inside_each_other() {
        let both = ["G5)G6)", "T5mT6m))))"];
        assert_eq!(sections(&both), ["2 0..9+1 1 by 1:0", "2 3..7+1 1 by 1:1"]);
        let found = found(&both);
        assert_eq!(found.sections()[3].around, Some(2));
    }

    #[test]
    fn an_object_that_is_handed_over_again_is_run_again() {
        // Without times, which one came first is not known.
        let again = sections(&["G5)G5)", "T5)", "T5)"]);
        assert_eq!(again, ["2 0..2+1 0 by 1:0 guessed", "3 0..2+1 0 by 1:1 guessed"]);
        let in_turns = sections(&["T5)G5)", "G5)"]);
        assert_eq!(in_turns, ["1 0..2+1 0 by 2:0"]);
        let before_it = sections(&["T5)", "T5)G5)"]);
        assert_eq!(before_it, ["1 0..2+1 0 by 2:1", "2 0..2+1 0 by -"]);
        let once = sections(&["G5)", "T5)T5)"]);
        assert_eq!(once, ["2 0..2+1 0 by 1:0", "2 3..5+1 0 by 1:0"]);
    }

    #[test]
    fn what_is_kept_belongs_to_the_first_call() {
        let kept = sections(&["mK5))", "T5G5))", "T5)"]);
        assert_eq!(kept, ["2 0..5+1 0 by 1:1", "3 0..2+1 0 by 1:1"]);
    }

    /// Identities have 31 bits: of many objects, some have the same.
    #[test]
    fn objects_with_the_same_identity_are_never_linked_for_certain() {
        let kept = sections(&["mK5)K5))", "T5)", "T5)"]);
        assert_eq!(kept, ["2 0..2+1 0 by 1:2 guessed", "3 0..2+1 0 by 1:2 guessed"]);
        let more = sections(&["G5)G5)", "T5)T5)", "T5)"]);
        let of_last = ["2 3..5+1 0 by 1:1 guessed", "3 0..2+1 0 by 1:1 guessed"];
        assert_eq!(more[0], "2 0..2+1 0 by 1:0 guessed");
        assert_eq!(more[1..], of_last);
    }

    #[test]
    fn sections_never_come_from_each_other_in_a_circle() {
        let each_other = sections(&["T5G5))", "T5G5))", "G5)G5)"]);
        assert_eq!(each_other, ["1 0..5+1 0 by 2:1 guessed", "2 0..5+1 0 by 3:0 guessed"]);
        let only_each_other = sections(&["T5G6))", "T6G5))"]);
        assert_eq!(only_each_other, ["1 0..5+1 0 by 2:1", "2 0..5+1 0 by -"]);
        // A task that nothing handed over belongs to what is around it.
        let around = sections(&["T5T6))", "T7G5))", "G7)"]);
        assert_eq!(around, ["1 0..5+1 0 by 2:1", "1 2..4+1 0 by -", "2 0..5+1 0 by 3:0"]);
    }

    #[test]
    fn what_is_linked_across_a_break_is_a_guess() {
        let tasks = ["mG5)-S3))", "T5)", "mm))"];
        assert_eq!(sections(&tasks), ["2 0..2+1 0 by 1:1 guessed", "3 0..end 2 by 1:2"]);
    }

    #[test]
    fn a_break_is_between_two_times() {
        let bounds = |from_ns, by_ns| Bounds { from_ns, by_ns };
        let at = |kind, bounds| {
            let mut time = When::UNKNOWN;
            time.bounds = bounds;
            TimelineEvent { position: Position::default(), time, calls: 0, number: None, kind }
        };
        let mut breaks = Breaks::default();
        // One thread notices a pause late, and the other one only that there was one.
        breaks.add(&at(EventKind::Pause, bounds(20, 25)));
        breaks.add(&at(EventKind::Resume, bounds(40, 60)));
        breaks.add(&at(EventKind::Gap { events: None }, bounds(70, 80)));
        breaks.add(&at(EventKind::Pause, bounds(75, 90)));
        breaks.end_pause(bounds(75, 95));
        breaks.end_pause(Bounds::UNKNOWN);
        breaks.join();
        assert_eq!(breaks.times, [(25, 40), (70, 95)]);
        let are_in = [(0, 24), (0, 25), (30, 31), (40, 50), (41, 69), (96, 99)];
        let are_in = are_in.map(|(from, by)| breaks.are_in(from, by));
        assert_eq!(are_in, [false, true, true, true, false, false]);
    }

    #[test]
    fn a_method_that_hands_over_by_another_one_counts_once() {
        assert_eq!(found(&["G5G5))"]).gives().len(), 1);
        assert_eq!(found(&["G5G6))"]).gives().len(), 2);
    }
}
