//! Instructions that ran, in methods that `instructions=` names: what is stored of a method once, and what each of its
//! instructions adds while it runs.
//!
//! # Code of a method
//!
//! The field `code` of its line in [`methods.jsonl`](super::methods) has what does not change, so it is stored before the
//! first event of the method:
//!
//! ```text
//! "code":{"lines":[[0,12],[6,13]],"handlers":[],"runs":[0,4,6],"instructions":[[0,26],[1,153,"6"],[4,4],[5,172],[6,3],[7,172]]}
//! ```
//!
//! | field | value |
//! |---|---|
//! | `lines` | pairs: the index of an instruction with which a line begins, and the line; in the order of the code |
//! | `handlers` | the indices of instructions with which handlers of exceptions begin; in the order of the code |
//! | `runs` | the indices of instructions with which runs begin; in the order of the code |
//! | `instructions` | for each: its index, its opcode, and its operands as texts; in the order of the code |
//!
//! An index is that of a byte in the code of the class file, as compiled. `wide` is not an instruction of its own: its opcode
//! is that of the instruction that it widens, its index that of `wide`. Operands are:
//!
//! | instructions | operands |
//! |---|---|
//! | loads, stores, `ret` | the local variable |
//! | `iinc` | the increment, the local variable |
//! | jumps | the index that it leads to |
//! | `tableswitch`, `lookupswitch` | the index of the default; the other cases as *key*`:`*index*, with blanks between them |
//! | accesses to fields | class, name and descriptor of the field, names in their internal form |
//! | calls | class, name and descriptor of the method; for `invokedynamic` the class of its bootstrap method |
//! | `bipush`, `sipush` | the number |
//! | `ldc` and its variants | the constant; `int`, `float`, `long`, `double`, `String`, `Class`, `MethodType`, `MethodHandle` or `dynamic` |
//! | `new`, `checkcast`, `instanceof` | the class, `0` |
//! | `newarray`, `anewarray`, `multianewarray` | the type of the elements, or of the array; the number of dimensions |
//!
//! A string constant has at most its first 64 characters, and none if `redact=` names the method or `java.lang.String`: then
//! its type is `redacted`.
//!
//! # Runs
//!
//! A *run* is one instruction, or several that follow each other and of which only the last one can throw an exception,
//! call, or continue elsewhere; no jump leads into it. So all of them run if the first one does, and only that one has a
//! probe. A run ends before the next one begins.
//!
//! # Steps
//!
//! A probe appends *steps*: a run begins, or an operand that is not known before. Operands belong to the instruction with
//! which the last run began, except for *this* and *class*, which belong to the call.
//!
//! | kind | name | value |
//! |---:|---|---|
//! | 0 | run | the index of its first instruction |
//! | 1 | object | the identity of the object or array that is accessed; 0 for null |
//! | 2 | index | of the element of the array |
//! | 3 | length | of the array |
//! | 4 | value | the identity of the object that is loaded from a field or element, or stored; 0 for null |
//! | 5 | this | the identity of the object whose method it is: after the entry, in constructors after the call of another one |
//! | 6 | class | 1 more than the [id](super::ids#classes) of its class, or 0 |
//! | 7 | | not used; a reader skips it |
//!
//! The identity is that of `System.identityHashCode`. In [raw chunks](super::raw) and [marks](super::marks#kinds), steps are
//! in the order in which they happened; steps of a call are between the events of the thread.
//!
//! # Example
//!
//! The method above, `int m(int n) { return n == 0 ? 0 : 1; }`, called with 7: the steps are run 0, run 4. Where it is not
//! static, *this* and *class* come first. In the payload of a mark, as `codec/tests/golden/steps.hex` has them:
//!
//! | bytes | |
//! |---|---|
//! | `85 80 01` | this, identity 2048: 8 × 2048 + 5 |
//! | `EE 12` | class 300: 8 × 301 + 6 |
//! | `00` | run 0 |
//! | `40` | run 4, 4 later: 8 × 8 |

use serde::de::{SeqAccess, Visitor};
use serde::ser::SerializeSeq as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::leb128::{from_zigzag, zigzag};

/// What is known of the code of a method before it runs.
#[doc(hidden)]
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Code {
    /// The index with which a line begins, and the line.
    pub lines: Vec<(u16, u16)>,
    /// Where handlers of exceptions begin.
    pub handlers: Vec<u16>,
    /// Where runs begin.
    pub runs: Vec<u16>,
    /// All instructions.
    pub instructions: Vec<Instruction>,
}

/// An instruction of a method.
#[doc(hidden)]
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Instruction {
    /// Its index.
    pub at: u16,
    /// Its opcode.
    pub op: u8,
    /// What is known of its operands.
    pub operands: Vec<String>,
}

/// What a probe appends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// A run begins with the instruction at this index.
    Run(u16),
    /// An operand that was not known before.
    Operand(Operand, u32),
}

/// What an operand is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operand {
    /// The identity of the object or array that is accessed.
    Object = 1,
    /// The index of an element.
    Index = 2,
    /// The length of an array.
    Length = 3,
    /// The identity of the object that is loaded or stored.
    Value = 4,
    /// The identity of `this`.
    This = 5,
    /// 1 more than the id of the class of `this`, or 0.
    Class = 6,
    /// Not known to this build.
    Other = 7,
}

/// Numbers of steps are this many times their value.
const KINDS: u64 = 8;

impl Operand {
    /// The operand with this number.
    #[doc(hidden)]
    #[must_use]
    pub const fn of(kind: u8) -> Option<Self> {
        Some(match kind {
            1 => Self::Object,
            2 => Self::Index,
            3 => Self::Length,
            4 => Self::Value,
            5 => Self::This,
            6 => Self::Class,
            7 => Self::Other,
            _ => return None,
        })
    }
}

impl Step {
    /// The number for a mark, where the last run began at `last`.
    #[inline]
    pub(super) fn number(self, last: u16) -> u64 {
        match self {
            Self::Run(at) => zigzag(i64::from(at) - i64::from(last)) * KINDS,
            Self::Operand(kind, value) => u64::from(value) * KINDS + kind as u64,
        }
    }

    /// The step of a number.
    pub(super) fn of_number(number: u64, last: u16) -> Option<Self> {
        let value = number / KINDS;
        match Operand::of((number % KINDS).to_le_bytes()[0]) {
            None => {
                let at = i64::from(last).checked_add(from_zigzag(value))?;
                u16::try_from(at).ok().map(Self::Run)
            }
            Some(kind) => Some(Self::Operand(kind, u32::try_from(value).ok()?)),
        }
    }
}

impl Code {
    /// The instructions of the run that begins at an index.
    #[must_use]
    pub fn run(&self, at: u16) -> &[Instruction] {
        let place = |at: u16| self.instructions.partition_point(|one| one.at < at);
        let next = self.runs.partition_point(|run| *run <= at);
        let end = self.runs.get(next).map_or(self.instructions.len(), |next| place(*next));
        self.instructions.get(place(at)..end).unwrap_or_default()
    }

    /// The instruction after one.
    #[must_use]
    pub(crate) fn after(&self, at: u16) -> Option<&Instruction> {
        self.instructions.get(self.instructions.partition_point(|one| one.at <= at))
    }

    /// The line of an instruction, and whether it begins there.
    #[must_use]
    pub fn line(&self, at: u16) -> Option<(u16, bool)> {
        let after = self.lines.partition_point(|(from, _)| *from <= at);
        let (from, line) = *self.lines.get(after.checked_sub(1)?)?;
        Some((line, from == at))
    }
}

impl Serialize for Instruction {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut all = serializer.serialize_seq(Some(2 + self.operands.len()))?;
        all.serialize_element(&self.at)?;
        all.serialize_element(&self.op)?;
        for operand in &self.operands {
            all.serialize_element(operand)?;
        }
        all.end()
    }
}

impl<'de> Deserialize<'de> for Instruction {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Parts;

        impl<'de> Visitor<'de> for Parts {
            type Value = Instruction;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an index, an opcode and operands")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Instruction, A::Error> {
                let missing = |len| serde::de::Error::invalid_length(len, &self);
                let at = all.next_element()?.ok_or_else(|| missing(0))?;
                let op = all.next_element()?.ok_or_else(|| missing(1))?;
                let mut operands = Vec::new();
                while let Some(operand) = all.next_element()? {
                    operands.push(operand);
                }
                Ok(Instruction { at, op, operands })
            }
        }

        deserializer.deserialize_seq(Parts)
    }
}

/// The kinds of events that a trace of instructions has.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum EventType {
    /// A method begins.
    Enter,
    /// A method ends, by a return or an exception.
    Exit,
    /// A line begins.
    Line,
    /// An exception is thrown.
    Athrow,
    /// A return.
    Return,
    /// A call.
    Invoke,
    /// A call has returned.
    Complete,
    /// A local variable is loaded or stored.
    Var,
    /// A jump.
    Jump,
    /// A field is loaded or stored.
    Field,
    /// A local variable is incremented.
    Iinc,
    /// Nothing is done.
    Zero,
    /// A constant is loaded.
    Constant,
    /// An element is loaded.
    Arrayload,
    /// An element is stored.
    Arraystore,
    /// Arithmetic.
    Math,
    /// Values on the stack are removed, repeated or exchanged.
    Stack,
    /// A type is used: an object or array is created, a cast, a conversion.
    Type,
    /// Two numbers are compared.
    Compare,
    /// The length of an array.
    Arraylen,
    /// A monitor is entered or left.
    Monitor,
    /// A switch.
    Switch,
}

impl EventType {
    /// All of them.
    pub const ALL: [Self; 22] = [
        Self::Enter,
        Self::Exit,
        Self::Line,
        Self::Athrow,
        Self::Return,
        Self::Invoke,
        Self::Complete,
        Self::Var,
        Self::Jump,
        Self::Field,
        Self::Iinc,
        Self::Zero,
        Self::Constant,
        Self::Arrayload,
        Self::Arraystore,
        Self::Math,
        Self::Stack,
        Self::Type,
        Self::Compare,
        Self::Arraylen,
        Self::Monitor,
        Self::Switch,
    ];

    /// The type of an instruction.
    #[must_use]
    pub const fn of(op: u8) -> Self {
        match op {
            1..=20 => Self::Constant,
            21..=45 | 54..=78 | 169 => Self::Var,
            46..=53 => Self::Arrayload,
            79..=86 => Self::Arraystore,
            87..=95 => Self::Stack,
            96..=131 => Self::Math,
            132 => Self::Iinc,
            133..=147 | 187..=189 | 192 | 193 | 197 => Self::Type,
            148..=152 => Self::Compare,
            153..=168 | 198..=201 => Self::Jump,
            170 | 171 => Self::Switch,
            172..=177 => Self::Return,
            178..=181 => Self::Field,
            182..=186 => Self::Invoke,
            190 => Self::Arraylen,
            191 => Self::Athrow,
            194 | 195 => Self::Monitor,
            _ => Self::Zero,
        }
    }

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Enter => "enter",
            Self::Exit => "exit",
            Self::Line => "line",
            Self::Athrow => "athrow",
            Self::Return => "return",
            Self::Invoke => "invoke",
            Self::Complete => "complete",
            Self::Var => "var",
            Self::Jump => "jump",
            Self::Field => "field",
            Self::Iinc => "iinc",
            Self::Zero => "zero",
            Self::Constant => "constant",
            Self::Arrayload => "arrayload",
            Self::Arraystore => "arraystore",
            Self::Math => "math",
            Self::Stack => "stack",
            Self::Type => "type",
            Self::Compare => "compare",
            Self::Arraylen => "arraylen",
            Self::Monitor => "monitor",
            Self::Switch => "switch",
        }
    }
}

/// The name of an opcode.
#[doc(hidden)]
#[must_use]
pub fn mnemonic(op: u8) -> &'static str {
    MNEMONICS.get(usize::from(op)).copied().unwrap_or("?")
}

#[rustfmt::skip]
const MNEMONICS: [&str; 202] = [
    "nop", "aconst_null", "iconst_m1", "iconst_0", "iconst_1", "iconst_2", "iconst_3", "iconst_4", "iconst_5",
    "lconst_0", "lconst_1", "fconst_0", "fconst_1", "fconst_2", "dconst_0", "dconst_1", "bipush", "sipush",
    "ldc", "ldc_w", "ldc2_w", "iload", "lload", "fload", "dload", "aload",
    "iload_0", "iload_1", "iload_2", "iload_3", "lload_0", "lload_1", "lload_2", "lload_3",
    "fload_0", "fload_1", "fload_2", "fload_3", "dload_0", "dload_1", "dload_2", "dload_3",
    "aload_0", "aload_1", "aload_2", "aload_3",
    "iaload", "laload", "faload", "daload", "aaload", "baload", "caload", "saload",
    "istore", "lstore", "fstore", "dstore", "astore",
    "istore_0", "istore_1", "istore_2", "istore_3", "lstore_0", "lstore_1", "lstore_2", "lstore_3",
    "fstore_0", "fstore_1", "fstore_2", "fstore_3", "dstore_0", "dstore_1", "dstore_2", "dstore_3",
    "astore_0", "astore_1", "astore_2", "astore_3",
    "iastore", "lastore", "fastore", "dastore", "aastore", "bastore", "castore", "sastore",
    "pop", "pop2", "dup", "dup_x1", "dup_x2", "dup2", "dup2_x1", "dup2_x2", "swap",
    "iadd", "ladd", "fadd", "dadd", "isub", "lsub", "fsub", "dsub", "imul", "lmul", "fmul", "dmul",
    "idiv", "ldiv", "fdiv", "ddiv", "irem", "lrem", "frem", "drem", "ineg", "lneg", "fneg", "dneg",
    "ishl", "lshl", "ishr", "lshr", "iushr", "lushr", "iand", "land", "ior", "lor", "ixor", "lxor", "iinc",
    "i2l", "i2f", "i2d", "l2i", "l2f", "l2d", "f2i", "f2l", "f2d", "d2i", "d2l", "d2f", "i2b", "i2c", "i2s",
    "lcmp", "fcmpl", "fcmpg", "dcmpl", "dcmpg", "ifeq", "ifne", "iflt", "ifge", "ifgt", "ifle",
    "if_icmpeq", "if_icmpne", "if_icmplt", "if_icmpge", "if_icmpgt", "if_icmple", "if_acmpeq", "if_acmpne",
    "goto", "jsr", "ret", "tableswitch", "lookupswitch",
    "ireturn", "lreturn", "freturn", "dreturn", "areturn", "return",
    "getstatic", "putstatic", "getfield", "putfield",
    "invokevirtual", "invokespecial", "invokestatic", "invokeinterface", "invokedynamic",
    "new", "newarray", "anewarray", "arraylength", "athrow", "checkcast", "instanceof",
    "monitorenter", "monitorexit", "wide", "multianewarray", "ifnull", "ifnonnull", "goto_w", "jsr_w",
];

#[cfg(test)]
mod tests {
    use super::super::example::bytes_of_example;
    use super::super::leb128::take;
    use super::*;

    const CODE: &str = r#"{"lines":[[0,12],[6,13]],"handlers":[],"runs":[0,4,6],"instructions":[[0,26],[1,153,"6"],[4,4],[5,172],[6,3],[7,172]]}"#;

    #[test]
    fn the_documented_code_comes_back() {
        let text = include_str!("instructions.rs");
        assert!(text.contains(&format!("//! \"code\":{CODE}\n")));
        let code: Code = serde_json::from_str(CODE).unwrap();
        assert_eq!(serde_json::to_string(&code).unwrap(), CODE);
        let run = |at| code.run(at).iter().map(|one| one.at).collect::<Vec<_>>();
        assert_eq!([run(0), run(4), run(6), run(9)], [vec![0, 1], vec![4, 5], vec![6, 7], vec![]]);
        assert_eq!(code.line(0), Some((12, true)));
        assert_eq!(code.line(5), Some((12, false)));
        assert_eq!(code.line(6), Some((13, true)));
        assert_eq!(code.after(1).map(|one| one.at), Some(4));
        assert_eq!(code.after(7), None);
        for wrong in ["[]", "[1]", "[1,300]", "[70000,1]", "[1,2,3]"] {
            serde_json::from_str::<Instruction>(wrong).unwrap_err();
        }
    }

    #[test]
    fn the_documented_steps_come_back() {
        let bytes = bytes_of_example(include_str!("instructions.rs"));
        let (mut rest, mut last, mut steps) = (&bytes[..], 0, Vec::new());
        while !rest.is_empty() {
            let number = take(&mut rest).unwrap();
            let step = Step::of_number(number, last).unwrap();
            assert_eq!(step.number(last), number);
            if let Step::Run(at) = step {
                last = at;
            }
            steps.push(step);
        }
        let operands = [(Operand::This, 2048), (Operand::Class, 301)];
        let operands = operands.map(|(kind, value)| Step::Operand(kind, value));
        assert_eq!(steps, [&operands[..], &[Step::Run(0), Step::Run(4)]].concat());
        assert_eq!(Step::of_number(8 << 20, 0), None);
        assert_eq!(Step::of_number(8, 0), None);
        assert_eq!(Step::of_number(9 << 40, 0), None);
    }

    #[test]
    fn every_type_of_event_has_instructions_or_is_of_calls_and_lines() {
        let mut seen: Vec<_> = (0..202).map(EventType::of).collect();
        seen.extend([EventType::Enter, EventType::Exit, EventType::Line, EventType::Complete]);
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, EventType::ALL);
        assert_eq!([mnemonic(0), mnemonic(132), mnemonic(201)], ["nop", "iinc", "jsr_w"]);
        assert_eq!([mnemonic(96), mnemonic(172), mnemonic(202)], ["iadd", "ireturn", "?"]);
    }
}
