//! What a diagram shows: participants, and one line after the other.

use std::collections::{BTreeSet, HashMap};

use flow_codec::{MethodId, MethodNames, NameForm};

use super::steps::{Call, MAX_DEPTH, Step};
use super::syntax::{MessageKind, Syntax};
use crate::output::{grouped, plural};

/// How many participants a diagram has. The others are one together.
const MAX_PARTICIPANTS: usize = 40;
/// How many messages: more do not fit into a picture of PlantUML, which has at most 4,096 pixels, and text of Mermaid, which has
/// at most 50,000 characters.
pub(crate) const MAX_MESSAGES: usize = 120;
/// How many characters a name has.
const MAX_NAME: usize = 100;

/// A sequence diagram.
pub(super) struct Diagram {
    participants: Vec<Participant>,
    lines: Vec<Line>,
}

/// What sends and receives messages.
pub(super) struct Participant {
    pub(super) name: String,
    pub(super) is_thread: bool,
}

/// A line of the diagram; participants are numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Line {
    Message {
        from: usize,
        to: usize,
        kind: MessageKind,
        text: String,
    },
    /// A participant begins to do what follows.
    Begin(usize),
    End(usize),
    /// A frame around what follows, by its kind and with its text.
    Frame(String),
    EndFrame,
    /// A remark on a participant, or on all.
    Note(Option<usize>, String),
}

impl Diagram {
    /// The diagram of the steps with this many calls, at a depth of at most [`MAX_DEPTH`] that makes it small enough. `names` has the class
    /// and the name of a method, and `advice` ends the remark that calls are not shown.
    pub(super) fn new(
        names: Names<'_>,
        steps: impl Fn(usize) -> Vec<Step>,
        calls: u64,
        advice: &str,
    ) -> Self {
        let mut drawing = Drawing::new(names);
        drawing.draw(&that_fit(steps), None, None, 1);
        if drawing.shown < calls {
            let (left_out, all) = (grouped(calls - drawing.shown), plural(calls, "call"));
            let text = format!("… {left_out} of {all} are not shown{advice}");
            drawing.lines.push(Line::Note(None, text));
        }
        drawing.finish()
    }

    /// The diagram as text.
    pub(super) fn write(&self, syntax: &dyn Syntax) -> String {
        let mut text = syntax.head().to_owned();
        for (number, participant) in self.participants.iter().enumerate() {
            let kind = if participant.is_thread { "actor" } else { "participant" };
            let name = syntax.escaped(&cut(&participant.name));
            text += &syntax.participant(kind, number, &name);
        }
        let all = match self.participants.len() {
            0 | 1 => "p0".to_owned(),
            count => format!("p0,p{}", count - 1),
        };
        for line in &self.lines {
            text += &match line {
                Line::Message { from, to, kind, text } => {
                    let (arrow, text) = (syntax.arrow(*kind), syntax.escaped(&cut(text)));
                    format!("p{from} {arrow} p{to}: {text}\n")
                }
                Line::Begin(of) => format!("activate p{of}\n"),
                Line::End(of) => format!("deactivate p{of}\n"),
                Line::Frame(text) => format!("{text}\n"),
                Line::EndFrame => "end\n".to_owned(),
                Line::Note(Some(of), text) => {
                    format!("note over p{of}: {}\n", syntax.escaped(&cut(text)))
                }
                Line::Note(None, text) => format!("note over {all}: {}\n", syntax.escaped(text)),
            };
        }
        text + syntax.tail()
    }
}

/// The class and the name of a method.
pub(super) type Names<'a> = &'a dyn Fn(MethodId) -> (String, String);

/// The steps at the largest depth that fits into a diagram, or at the smallest one.
fn that_fit(steps: impl Fn(usize) -> Vec<Step>) -> Vec<Step> {
    let fits = |steps: &[Step]| steps.iter().map(Step::messages).sum::<usize>() <= MAX_MESSAGES;
    let all = steps(MAX_DEPTH);
    if fits(&all) {
        return all;
    }
    let mut fitting = steps(1);
    let (mut low, mut high) = (1, MAX_DEPTH);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        let outer = steps(middle);
        if fits(&outer) { (low, fitting) = (middle, outer) } else { high = middle }
    }
    fitting
}

/// The beginning of a text that is too long.
fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_NAME) {
        Some((end, _)) => text.get(..end).unwrap_or_default().to_owned() + "…",
        None => text.to_owned(),
    }
}

/// A diagram that is being drawn.
struct Drawing<'a> {
    names: Names<'a>,
    /// Classes by their full names, and threads: each with the number of its messages.
    participants: Vec<(Participant, usize)>,
    numbers: HashMap<(bool, String), usize>,
    lines: Vec<Line>,
    messages: usize,
    /// How many calls are shown.
    shown: u64,
}

impl<'a> Drawing<'a> {
    fn new(names: Names<'a>) -> Self {
        Self {
            names,
            participants: Vec::new(),
            numbers: HashMap::new(),
            lines: Vec::new(),
            messages: 0,
            shown: 0,
        }
    }

    /// The number of a participant.
    fn participant(&mut self, name: &str, is_thread: bool) -> usize {
        let next = self.participants.len();
        let number = *self.numbers.entry((is_thread, name.to_owned())).or_insert(next);
        if number == next {
            self.participants.push((Participant { name: name.to_owned(), is_thread }, 0));
        }
        number
    }

    /// Draws steps of a participant, or of a thread that it begins; each step happens this many times.
    fn draw(&mut self, steps: &[Step], from: Option<usize>, thread: Option<&str>, times: u64) {
        for step in steps {
            match step {
                _ if self.messages >= MAX_MESSAGES => return,
                Step::Call(call) => self.call(call, from.unwrap_or_default(), thread, times),
                Step::Loop(more, body) => {
                    self.lines.push(Line::Frame(format!("loop {more} times")));
                    self.draw(body, from, thread, times.saturating_mul(*more));
                    self.lines.push(Line::EndFrame);
                }
                Step::Only(words, body) => {
                    self.lines.push(Line::Frame(format!("opt {words}")));
                    self.draw(body, from, thread, times);
                    self.lines.push(Line::EndFrame);
                }
                Step::Note(text) => {
                    self.lines.push(Line::Note(from, text.to_string()));
                }
                Step::Part(part) => match from {
                    Some(_) => self.draw(&part.steps, from, Some(&part.thread), times),
                    None => {
                        let from = self.participant(&part.thread, true);
                        self.draw(&part.steps, Some(from), None, times);
                    }
                },
                Step::Given(_) => {}
            }
        }
    }

    fn call(&mut self, call: &Call, from: usize, thread: Option<&str>, times: u64) {
        let (class, name) = (self.names)(call.method);
        let to = self.participant(&class, false);
        self.shown = self.shown.saturating_add(times);
        let (kind, text) = match thread {
            Some(thread) => (MessageKind::HandOver, format!("{name} in {thread}")),
            None => (MessageKind::Call, name),
        };
        self.message(from, to, kind, text);
        let begin = self.lines.len();
        self.draw(&call.inside, Some(to), None, times);
        if self.lines.len() > begin {
            self.lines.insert(begin, Line::Begin(to));
        }
        if let Some(class) = &call.thrown {
            self.message(to, from, MessageKind::Thrown, simple(class).to_owned());
        }
        if matches!(self.lines.get(begin), Some(Line::Begin(_))) {
            self.lines.push(Line::End(to));
        }
    }

    fn message(&mut self, from: usize, to: usize, kind: MessageKind, text: String) {
        self.messages += 1;
        for side in [from, to] {
            self.participants.get_mut(side).into_iter().for_each(|(_, messages)| *messages += 1);
        }
        self.lines.push(Line::Message { from, to, kind, text });
    }

    /// Makes one participant of those that are too many.
    fn finish(self) -> Diagram {
        let Self { mut participants, mut lines, .. } = self;
        if participants.is_empty() {
            participants.push((Participant { name: "no calls".to_owned(), is_thread: true }, 0));
        }
        let mut busiest: Vec<usize> = (0..participants.len()).collect();
        busiest.sort_by_key(|number| {
            std::cmp::Reverse(participants.get(*number).map(|(_, messages)| *messages))
        });
        let most =
            if busiest.len() > MAX_PARTICIPANTS { MAX_PARTICIPANTS - 1 } else { MAX_PARTICIPANTS };
        let kept: BTreeSet<usize> = busiest.into_iter().take(most).collect();
        let numbers: HashMap<usize, usize> =
            kept.iter().enumerate().map(|(new, old)| (*old, new)).collect();
        let others = numbers.len();
        let shown = |number: usize| numbers.get(&number).copied().unwrap_or(others);
        for line in &mut lines {
            match line {
                Line::Message { from, to, kind, text } => {
                    let class = participants.get(*to).filter(|_| shown(*to) == others);
                    if let Some((class, _)) = class.filter(|_| *kind != MessageKind::Thrown) {
                        *text = format!("{}.{text}", simple(&class.name));
                    }
                    (*from, *to) = (shown(*from), shown(*to));
                }
                Line::Begin(of) | Line::End(of) | Line::Note(Some(of), _) => *of = shown(*of),
                _ => {}
            }
        }
        let count = participants.len();
        let mut participants: Vec<Participant> = participants
            .into_iter()
            .enumerate()
            .filter(|(number, _)| kept.contains(number))
            .map(|(_, (participant, _))| participant)
            .collect();
        with_simple_names(&mut participants);
        if count > others {
            let name = format!("{} others", count - others);
            participants.push(Participant { name, is_thread: false });
        }
        Diagram { participants, lines }
    }
}

/// The class of a method, and how a message names the method.
pub(super) fn class_and_name(names: &MethodNames<'_>, method: MethodId) -> (String, String) {
    let short = names.get(method, NameForm::Short);
    let Some(info) = names.methods().get(method).map(|method| method.info()) else {
        return ("?".to_owned(), short);
    };
    let in_class = short.strip_prefix(simple(&info.class));
    let name = in_class.and_then(|name| name.strip_prefix('.')).unwrap_or(&short);
    let brackets = if name.contains(' ') { "" } else { "()" };
    (info.class.to_string(), format!("{name}{brackets}"))
}

/// The part of a name after the last dot.
fn simple(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// Classes without their packages, if no other one has the same name then.
fn with_simple_names(participants: &mut [Participant]) {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for participant in participants.iter() {
        *counts.entry(simple(&participant.name).to_owned()).or_default() += 1;
    }
    for participant in participants.iter_mut().filter(|participant| !participant.is_thread) {
        let name = simple(&participant.name);
        if counts.get(name) == Some(&1) {
            participant.name = name.to_owned();
        }
    }
}
