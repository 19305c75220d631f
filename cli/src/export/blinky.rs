//! The lines of blinky, a tracer of instructions: what methods and instructions there are, and when each ran.
//!
//! | line | |
//! |---|---|
//! | `$$method$$,`*id*`,`*name*`,`*owner*`,`*access* | a method, before it runs first; the name with its descriptor, the owner in internal form |
//! | `$`*type*`$,`*id*`,`*method*`,`*line*`,`*index*`,`*opcode*`,`*operand*`,`*operand*`,`*operand* | an instruction of the method before |
//! | `$$$,`*id*`,`*thread*`,`*time*`,`*depth*`,`*host*`,`*instruction*`,$`*type*`$` | it runs; for some types, further fields follow |
//!
//! Each kind of line has ids of its own, from 1 on. A line or an index that is not known is -1, another field that is
//! missing is `null`. So each kind of line has a fixed number of fields, of which the last one is not empty: blinky's reader
//! ignores empty fields at the end of a line, and refuses lines with too few. In all fields, a comma, a backslash, control
//! characters, and the separators of lines U+2028 and U+2029 are written like `\u002C`.
//!
//! Every method has a line of type `enter`, with opcode -2, in static methods -3, in constructors -5, and one of type `exit`
//! with opcode -4, to which exits by exceptions refer; other exits refer to the return. Each call has another one of type
//! `complete` with opcode -4, each line of source one of type `line` with opcode -1. Another version of a
//! method, of another class loader for example, has lines of its own, like another method.
//!
//! Lines are in the order in which the instructions ran. The order is exact within a thread; between threads, [as far as it is
//! known](flow_codec::read::Merged). Where it is not known, the lines of a thread come one after the other.
//!
//! *time* is in nanoseconds since the recording began. *depth* is the number of recorded calls around the method. *host* is the
//! identity of `this`, 0 before it is initialised; in static methods the name of the class.
//!
//! | type | further fields |
//! |---|---|
//! | `enter` | the class of `this` with the name and descriptor of the method; `NA` if it is not known |
//! | `invoke` | `~` |
//! | `field` | the identity of the value, 0 for a number or null; that of the object, or the name of the class of a static field |
//! | `arrayload`, `arraystore` | the identity of the array, the index, the identity of the element as above, the length |

use std::collections::HashMap;

use flow_codec::format::instructions::{EventType, Instruction};
use flow_codec::format::methods::access_of;
use flow_codec::read::{Executed, Methods, Trace};
use flow_codec::{MethodId, ThreadId};

use crate::output::push_number;

/// A field that is missing.
const MISSING: &str = "null";
const ACC_STATIC: u32 = 0x0008;
const GETSTATIC: u8 = 178;
const PUTSTATIC: u8 = 179;

/// Writes the lines of a trace.
pub(crate) struct Blinky<'a> {
    methods: &'a Methods,
    /// The methods that have lines, each with where the code of its version is.
    known: HashMap<(MethodId, usize), Known>,
    instructions: u64,
    executions: u64,
}

/// The thread whose instructions are written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlinkyThread {
    id: ThreadId,
    /// The last return, until the exit.
    returned: u64,
}

impl BlinkyThread {
    pub(crate) fn new(id: ThreadId) -> Self {
        Self { id, returned: 0 }
    }
}

/// The lines of a method.
struct Known {
    is_static: bool,
    /// The class in internal form.
    owner: String,
    enter: u64,
    exit: u64,
    /// Those of instructions, by index: of the line that begins there, itself, and that a call is complete.
    at: HashMap<u16, [u64; 3]>,
}

impl<'a> Blinky<'a> {
    pub(crate) fn new(trace: &'a Trace) -> Self {
        let (methods, known) = (trace.methods(), HashMap::new());
        Self { methods, known, instructions: 0, executions: 0 }
    }

    /// Appends what ran in a thread.
    pub(crate) fn add(&mut self, thread: &mut BlinkyThread, one: &Executed<'a>, out: &mut Vec<u8>) {
        let version = (one.method, std::ptr::from_ref(one.code).addr());
        if !self.known.contains_key(&version) {
            let known = self.describe(one, out);
            self.known.insert(version, known);
        }
        let Some(known) = self.known.get(&version) else { return };
        let ids = one.instruction.and_then(|one| known.at.get(&one.at));
        let ids = ids.copied().unwrap_or_default();
        let [line, itself, complete] = ids;
        let id = match one.kind {
            EventType::Enter => known.enter,
            EventType::Exit if one.is_unwound || thread.returned == 0 => known.exit,
            EventType::Exit => thread.returned,
            EventType::Line => line,
            EventType::Complete => complete,
            _ => itself,
        };
        thread.returned = if one.kind == EventType::Return { id } else { 0 };
        self.executions += 1;
        out.extend_from_slice(b"$$$,");
        push_number(out, self.executions);
        out.push(b',');
        push_number(out, thread.id.get());
        out.push(b',');
        match one.time.estimate_ns {
            Some(ns) => push_number(out, ns),
            None => out.extend_from_slice(b"-1"),
        }
        out.push(b',');
        push_number(out, one.depth);
        out.push(b',');
        match known.is_static {
            true => push_field(out, &known.owner),
            false => push_number(out, one.this.hash.unwrap_or_default().into()),
        }
        out.push(b',');
        push_number(out, id);
        out.extend_from_slice(format!(",${}$", one.kind.name()).as_bytes());
        self.push_operands(one, out);
        out.push(b'\n');
    }

    fn push_operands(&self, one: &Executed<'_>, out: &mut Vec<u8>) {
        let operands = &one.operands;
        let mut number = |number: Option<i64>| {
            let text = number.map_or(MISSING.to_owned(), |number| number.to_string());
            out.extend_from_slice(format!(",{text}").as_bytes());
        };
        let value = match has_objects(one.instruction) {
            true => operands.value.map(i64::from),
            false => Some(0),
        };
        match one.kind {
            EventType::Enter => {
                let class = one.this.class.and_then(|class| self.methods.class(class));
                let info = self.methods.get(one.method).map(|method| method.info());
                match class.zip(info) {
                    Some((class, info)) => {
                        let class = class.replace('.', "/");
                        out.push(b',');
                        push_field(out, &format!("{class}.{}{}", info.name, info.descriptor));
                    }
                    None => out.extend_from_slice(b",NA"),
                }
            }
            EventType::Invoke => out.extend_from_slice(b",~"),
            EventType::Field => {
                number(value);
                match one.instruction {
                    Some(Instruction { op: GETSTATIC | PUTSTATIC, operands, .. }) => {
                        out.push(b',');
                        push_field(out, operands.first().map_or(MISSING, String::as_str));
                    }
                    _ => number(operands.object.map(i64::from)),
                }
            }
            EventType::Arrayload | EventType::Arraystore => {
                number(operands.object.map(i64::from));
                number(operands.index.map(i64::from));
                number(value);
                number(operands.length.map(i64::from));
            }
            _ => {}
        }
    }

    /// Appends the lines of a method and its instructions.
    fn describe(&mut self, one: &Executed<'a>, out: &mut Vec<u8>) -> Known {
        let host = self.known.len() as u64 + 1;
        let info = self.methods.get(one.method).map(|method| method.info().clone());
        let info = info.unwrap_or_default();
        let (owner, access) = (info.class.replace('.', "/"), access_of(&info.flags));
        let is_static = access & ACC_STATIC != 0;
        out.extend_from_slice(format!("$$method$$,{host},").as_bytes());
        push_field(out, &format!("{}{}", info.name, info.descriptor));
        out.push(b',');
        push_field(out, &owner);
        out.extend_from_slice(format!(",{access}\n").as_bytes());

        let mut instruction =
            |kind: EventType, line: Option<u16>, at: Option<u16>, op: i16, operands: &[String]| {
                self.instructions += 1;
                let id = self.instructions;
                let or_none = |number: Option<u16>| number.map_or(-1, i32::from);
                let (name, line, at) = (kind.name(), or_none(line), or_none(at));
                let text = format!("${name}$,{id},{host},{line},{at},{op}");
                out.extend_from_slice(text.as_bytes());
                for number in 0..3 {
                    out.push(b',');
                    push_field(out, operands.get(number).map_or(MISSING, String::as_str));
                }
                out.push(b'\n');
                id
            };
        let opcode = match &*info.name {
            "<init>" => -5,
            _ if is_static => -3,
            _ => -2,
        };
        let enter = instruction(EventType::Enter, None, None, opcode, &[]);
        let mut at = HashMap::new();
        for Instruction { at: index, op, operands } in &one.code.instructions {
            let (line, begins) = one.code.line(*index).unzip();
            let index = Some(*index);
            let begins = begins == Some(true);
            let begun = match begins {
                true => instruction(EventType::Line, line, index, -1, &[]),
                false => 0,
            };
            let kind = EventType::of(*op);
            let itself = instruction(kind, line, index, i16::from(*op), operands);
            let complete = match kind {
                EventType::Invoke => instruction(EventType::Complete, line, index, -4, operands),
                _ => 0,
            };
            index.map(|index| at.insert(index, [begun, itself, complete]));
        }
        let exit = instruction(EventType::Exit, None, None, -4, &[]);
        Known { is_static, owner, enter, exit, at }
    }
}

/// Returns whether an instruction loads or stores objects.
fn has_objects(instruction: Option<&Instruction>) -> bool {
    const AALOAD: u8 = 50;
    const AASTORE: u8 = 83;
    instruction.is_some_and(|Instruction { op, operands, .. }| {
        matches!(*op, AALOAD | AASTORE)
            || matches!(&operands[..], [_, _, descriptor] if descriptor.starts_with(['L', '[']))
    })
}

/// Appends a text that separates no fields.
fn push_field(out: &mut Vec<u8>, text: &str) {
    let is_plain = |c: char| !c.is_control() && !matches!(c, ',' | '\\' | '\u{2028}' | '\u{2029}');
    for c in text.chars() {
        if is_plain(c) {
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        } else {
            out.extend_from_slice(format!("\\u{:04X}", u32::from(c)).as_bytes());
        }
    }
}
