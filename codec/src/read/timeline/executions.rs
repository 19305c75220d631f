//! Turns the steps of a timeline into the instructions that ran.
//!
//! A step says that a run of instructions begins, [`instructions`](crate::format::instructions) says which these are. What
//! follows from the order of instructions is worked out here: that a call has returned, and that a line begins.
//!
//! A call has returned if the next instruction of its frame is the one after it. If a handler of exceptions begins there, the
//! exception counts as caught: compilers put a jump in between.

use std::num::NonZeroU64;

use super::event::{EventKind, TimelineEvent, When};
use crate::MethodId;
use crate::format::instructions::{Code, EventType, Instruction, Operand, Step};
use crate::read::{Method, Methods};

/// Something that happened in a method of which instructions were recorded.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Executed<'m> {
    /// What.
    pub kind: EventType,
    /// When. Instructions have the time of the position between entries and exits at which they ran.
    pub time: When,
    /// How many recorded calls are around that of the method.
    pub depth: u64,
    /// The method.
    pub method: MethodId,
    /// Its code.
    pub code: &'m Code,
    /// The instruction. With [`EventType::Complete`], the one that called; with [`EventType::Line`], the first of the line.
    pub instruction: Option<&'m Instruction>,
    /// The object whose method it is, if that is known.
    pub this: This,
    /// What else is known of its operands.
    pub operands: Operands,
    /// Whether an exception ends the method, with [`EventType::Exit`].
    pub is_unwound: bool,
}

/// The object whose method runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct This {
    /// Its identity.
    pub hash: Option<u32>,
    /// Its class.
    pub class: Option<MethodId>,
}

/// Operands of an instruction that were recorded when it ran.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Operands {
    /// The identity of the object or array that is accessed; 0 for null.
    pub object: Option<u32>,
    /// The index of the element.
    pub index: Option<i32>,
    /// The length of the array.
    pub length: Option<u32>,
    /// The identity of the object that is loaded or stored; 0 for null.
    pub value: Option<u32>,
}

impl Operands {
    /// Adds an operand.
    pub fn add(&mut self, kind: Operand, value: u32) {
        match kind {
            Operand::Object => self.object = Some(value),
            Operand::Index => self.index = Some(value.cast_signed()),
            Operand::Length => self.length = Some(value),
            Operand::Value => self.value = Some(value),
            Operand::This | Operand::Class | Operand::Other => {}
        }
    }
}

/// The instructions of a thread. Memory: the open frames.
#[derive(Debug)]
pub struct Executions<'m> {
    methods: &'m Methods,
    frames: Vec<Frame<'m>>,
    /// What happened last, to which operands may be added.
    last: Option<Executed<'m>>,
    is_paused: bool,
}

#[derive(Clone, Copy, Debug)]
struct Frame<'m> {
    /// If its instructions are recorded.
    method: Option<(MethodId, &'m Code)>,
    this: This,
    /// The instruction that called, if it was the last one.
    called: Option<&'m Instruction>,
}

impl<'m> Executions<'m> {
    /// Begins with no frame open.
    #[must_use]
    pub fn new(methods: &'m Methods) -> Self {
        Self { methods, frames: Vec::new(), last: None, is_paused: false }
    }

    /// Adds an event of a timeline [with instructions](super::Timeline::with_instructions) and passes on what has happened
    /// by then.
    pub fn push(&mut self, event: &TimelineEvent, to: &mut impl FnMut(Executed<'m>)) {
        match &event.kind {
            EventKind::Enter(method) => self.enter(*method, event.time, to),
            EventKind::Exit { count, unwound } => {
                self.exit(*count, unwound.is_some(), event.time, to);
            }
            _ => self.other(event, to),
        }
    }

    /// Adds that a method is entered, like [`push`](Self::push).
    pub(crate) fn enter(
        &mut self,
        method: MethodId,
        time: When,
        to: &mut impl FnMut(Executed<'m>),
    ) {
        self.finish(to);
        let versions = self.methods.get(method).into_iter().flat_map(Method::versions);
        let code = { versions }.find_map(|info| info.code.as_deref());
        let method = code.map(|code| (method, code));
        self.frames.push(Frame { method, this: This::default(), called: None });
        self.last = self.event(EventType::Enter, time);
    }

    /// Adds that frames are left, like [`push`](Self::push).
    pub(crate) fn exit(
        &mut self,
        count: NonZeroU64,
        is_unwound: bool,
        time: When,
        to: &mut impl FnMut(Executed<'m>),
    ) {
        self.finish(to);
        for _ in 0..count.get().min(self.frames.len() as u64) {
            let exit = self.event(EventType::Exit, time).filter(|_| !self.is_paused);
            exit.into_iter().for_each(|exit| to(Executed { is_unwound, ..exit }));
            self.frames.pop();
        }
    }

    /// Adds another event, like [`push`](Self::push).
    pub(crate) fn other(&mut self, event: &TimelineEvent, to: &mut impl FnMut(Executed<'m>)) {
        match event.kind {
            EventKind::Step(Step::Operand(kind, value)) => return self.operand(kind, value),
            EventKind::Step(Step::Run(at)) => return self.run(at, event.time, to),
            EventKind::Version(version) => return self.version(version),
            _ => self.finish(to),
        }
        match &event.kind {
            EventKind::RangeEnd { frames } => {
                let left = usize::try_from(frames.get()).unwrap_or(usize::MAX);
                self.frames.truncate(self.frames.len().saturating_sub(left));
            }
            EventKind::Pause => self.is_paused = true,
            EventKind::Resume => self.is_paused = false,
            // What was called may have returned, or thrown.
            EventKind::Gap { .. } => self.frames.iter_mut().for_each(|frame| frame.called = None),
            _ => {}
        }
    }

    /// Passes on what was held back for its operands.
    pub fn finish(&mut self, to: &mut impl FnMut(Executed<'m>)) {
        self.last.take().into_iter().for_each(to);
    }

    /// Notes that the topmost call, which was entered last, is of another version of its method.
    fn version(&mut self, version: u16) {
        let Some(Frame { method: Some((method, code)), .. }) = self.frames.last_mut() else {
            return;
        };
        let other = self.methods.get(*method).and_then(|one| one.version(version).code.as_deref());
        if let Some(other) = other {
            *code = other;
        }
        if let Some(last) = self.last.as_mut().filter(|last| last.kind == EventType::Enter) {
            last.code = *code;
        }
    }

    fn operand(&mut self, kind: Operand, value: u32) {
        let Some(frame) = self.frames.last_mut() else { return };
        match kind {
            Operand::This => frame.this.hash = Some(value),
            Operand::Class => {
                let class = u64::from(value).checked_sub(1);
                frame.this.class = class.and_then(MethodId::new);
            }
            _ => {}
        }
        let this = frame.this;
        match &mut self.last {
            Some(last) if last.kind == EventType::Enter => last.this = this,
            Some(last) => last.operands.add(kind, value),
            None => {}
        }
    }

    fn run(&mut self, at: u16, time: When, to: &mut impl FnMut(Executed<'m>)) {
        self.finish(to);
        let Some(Frame { method: Some((_, code)), called, .. }) = self.frames.last_mut() else {
            // A call whose entry is not known.
            return;
        };
        let code = *code;
        if let Some(call) = called.take()
            && code.after(call.at).is_some_and(|next| next.at == at)
            && code.handlers.binary_search(&at).is_err()
        {
            let complete = self.event(EventType::Complete, time);
            let instruction = Some(call);
            complete.into_iter().for_each(|complete| to(Executed { instruction, ..complete }));
        }
        for instruction in code.run(at) {
            self.finish(to);
            if let Some((_, true)) = code.line(instruction.at) {
                let line = self.event(EventType::Line, time);
                let instruction = Some(instruction);
                line.into_iter().for_each(|line| to(Executed { instruction, ..line }));
            }
            let kind = EventType::of(instruction.op);
            if let Some(frame) = self.frames.last_mut().filter(|_| kind == EventType::Invoke) {
                frame.called = Some(instruction);
            }
            let event = self.event(kind, time);
            self.last = event.map(|event| Executed { instruction: Some(instruction), ..event });
        }
    }

    /// An event of the topmost frame.
    fn event(&self, kind: EventType, time: When) -> Option<Executed<'m>> {
        let Frame { method: Some((method, code)), this, .. } = *self.frames.last()? else {
            return None;
        };
        let depth = self.frames.len() as u64 - 1;
        let (operands, is_unwound) = (Operands::default(), false);
        Some(Executed {
            kind,
            time,
            depth,
            method,
            code,
            instruction: None,
            this,
            operands,
            is_unwound,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::methods::MethodInfo;
    use crate::read::Unwound;

    fn methods() -> Methods {
        // 0: iload_0; 1: ifeq 9; 4: invokestatic f; 7: iconst_1; 8: ireturn; 9: pop (a handler); 10: return
        let code = r#"{"lines":[[0,12],[9,13]],"handlers":[9],"runs":[0,4,7,9],"instructions":
            [[0,26],[1,153,"9"],[4,184,"A","f","()V"],[7,4],[8,172],[9,87],[10,177]]}"#;
        let code = Some(Box::new(serde_json::from_str(code).unwrap()));
        let mut methods = Methods::default();
        methods.insert(MethodId::new(1).unwrap(), MethodInfo { code, ..MethodInfo::default() });
        methods.insert(MethodId::new(2).unwrap(), MethodInfo::default());
        methods
    }

    fn show(events: &[EventKind]) -> Vec<String> {
        let methods = methods();
        let mut executions = Executions::new(&methods);
        let mut seen = Vec::new();
        let mut add = |one: Executed<'_>| {
            let at = one.instruction.map_or(String::new(), |one| format!(" {}", one.at));
            let this = one.this.hash.map_or(String::new(), |hash| format!(" this={hash}"));
            let value = one.operands.value.map_or(String::new(), |value| format!(" value={value}"));
            let unwound = if one.is_unwound { " !" } else { "" };
            seen.push(format!("{} {}{at}{this}{value}{unwound}", one.depth, one.kind.name()));
        };
        for kind in events {
            let event = TimelineEvent {
                position: crate::format::marks::Position::default(),
                time: When::UNKNOWN,
                calls: 0,
                number: None,
                kind: kind.clone(),
            };
            executions.push(&event, &mut add);
        }
        executions.finish(&mut add);
        seen
    }

    fn enter(method: u64) -> EventKind {
        EventKind::Enter(MethodId::new(method).unwrap())
    }

    fn exit(unwound: bool) -> EventKind {
        let unwound = unwound.then_some(Unwound { class: None });
        EventKind::Exit { count: NonZeroU64::MIN, unwound }
    }

    fn run(at: u16) -> EventKind {
        EventKind::Step(Step::Run(at))
    }

    fn operand(kind: Operand, value: u32) -> EventKind {
        EventKind::Step(Step::Operand(kind, value))
    }

    #[test]
    fn a_run_is_all_of_its_instructions_and_a_call_that_returned_is_complete() {
        let this = operand(Operand::This, 77);
        let events = [enter(1), this, run(0), run(4), enter(2), exit(false), run(7), exit(false)];
        let expected = [
            "0 enter this=77",
            "0 line 0 this=77",
            "0 var 0 this=77",
            "0 jump 1 this=77",
            "0 invoke 4 this=77",
            "0 complete 4 this=77",
            "0 constant 7 this=77",
            "0 return 8 this=77",
            "0 exit this=77",
        ];
        assert_eq!(show(&events), expected);
    }

    #[test]
    fn a_call_that_threw_is_not_complete() {
        let events = [enter(1), run(4), enter(1), exit(true), run(9), exit(false)];
        let expected = [
            "0 enter",
            "0 invoke 4",
            "1 enter",
            "1 exit !",
            "0 line 9",
            "0 stack 9",
            "0 return 10",
            "0 exit",
        ];
        assert_eq!(show(&events), expected);
    }

    #[test]
    fn operands_belong_to_the_instruction_before_and_exits_of_a_pause_are_none() {
        let events = [
            run(7),
            enter(1),
            run(4),
            operand(Operand::Value, 5),
            operand(Operand::Other, 6),
            EventKind::Pause,
            exit(false),
            EventKind::Resume,
            operand(Operand::This, 7),
            exit(false),
        ];
        assert_eq!(show(&events), ["0 enter", "0 invoke 4 value=5"]);
    }
}
