//! Reads the lines of `flow export --to blinky`, knowing only what the head of `cli/src/export/blinky.rs` says, and by the
//! rules of blinky's own reader: lines end where Java's `Scanner` ends them, fields are what `String.split(",")` returns,
//! which drops empty ones at the end, types and their number of fields are fixed, and ids are `int`.

use std::collections::HashMap;

/// A method.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BlinkyMethod {
    /// The name with the descriptor.
    pub name: String,
    /// The class in internal form.
    pub owner: String,
    /// The access flags.
    pub access: u32,
}

/// An instruction, or what counts as one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BlinkyInstruction {
    /// The type, without `$`.
    pub kind: String,
    /// The id of the method.
    pub method: u64,
    /// The line, or -1.
    pub line: i64,
    /// The index, or -1.
    pub at: i64,
    /// The opcode; negative for what is no instruction.
    pub op: i16,
    /// The operands.
    pub operands: [String; 3],
}

/// One execution of an instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BlinkyExecution {
    /// The id of the thread.
    pub thread: u64,
    /// The time, or -1.
    pub time: i64,
    /// The depth.
    pub depth: u64,
    /// The object or class.
    pub host: String,
    /// The id of the instruction.
    pub instruction: u64,
    /// The type, without `$`.
    pub kind: String,
    /// Further fields.
    pub more: Vec<String>,
}

/// All lines.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Blinky {
    /// By id.
    pub methods: HashMap<u64, BlinkyMethod>,
    /// By id.
    pub instructions: HashMap<u64, BlinkyInstruction>,
    /// In order.
    pub executions: Vec<BlinkyExecution>,
}

impl Blinky {
    /// Reads lines.
    ///
    /// # Panics
    /// The lines are wrong: ids are not in order, something is used before it is described, a field is wrong, or there are too
    /// few or too many fields.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let mut all = Self::default();
        // The last line ends with a separator.
        for line in text.strip_suffix('\n').unwrap_or_default().split(SEPARATORS) {
            let mut fields: Vec<_> = line.split(',').map(unescaped).collect();
            while fields.pop_if(|last| last.is_empty()).is_some() {}
            let id = fields.get(1).map(|id| number::<i32>(id));
            assert!(id.is_some_and(|id| id > 0), "{line}");
            match &fields[..] {
                [kind, id, name, owner, access] if kind == "$$method$$" => {
                    let (name, owner) = (name.clone(), owner.clone());
                    let method = BlinkyMethod { name, owner, access: number(access) };
                    assert_eq!(number::<usize>(id), all.methods.len() + 1);
                    all.methods.insert(number(id), method);
                }
                [first, id, thread, time, depth, host, instruction, kind, more @ ..]
                    if first == "$$$" =>
                {
                    assert_eq!(number::<usize>(id), all.executions.len() + 1);
                    let instruction = number(instruction);
                    let known = &all.instructions[&instruction];
                    let kind = type_of(kind);
                    assert!(known.kind == kind || kind == "exit", "{line}");
                    assert_eq!(more.len(), further_fields(&kind), "{line}");
                    all.executions.push(BlinkyExecution {
                        thread: number(thread),
                        time: number(time),
                        depth: number(depth),
                        host: host.clone(),
                        instruction,
                        kind,
                        more: more.to_vec(),
                    });
                }
                [kind, id, method, line, at, op, one, two, three] => {
                    assert_eq!(number::<usize>(id), all.instructions.len() + 1);
                    let method = number(method);
                    assert!(all.methods.contains_key(&method));
                    let instruction = BlinkyInstruction {
                        kind: type_of(kind),
                        method,
                        line: number(line),
                        at: number(at),
                        op: number(op),
                        operands: [one, two, three].map(String::clone),
                    };
                    all.instructions.insert(number(id), instruction);
                }
                _ => panic!("{line}"),
            }
        }
        all
    }

    /// The instruction of an execution, and its method.
    #[must_use]
    pub fn of(&self, execution: &BlinkyExecution) -> (&BlinkyInstruction, &BlinkyMethod) {
        let instruction = &self.instructions[&execution.instruction];
        (instruction, &self.methods[&instruction.method])
    }
}

/// What ends a line in Java. `\r\n` would be two, but there are no empty lines.
const SEPARATORS: [char; 5] = ['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'];

/// The types of lines.
const TYPES: [&str; 22] = [
    "enter",
    "exit",
    "line",
    "athrow",
    "return",
    "invoke",
    "complete",
    "var",
    "jump",
    "field",
    "iinc",
    "zero",
    "constant",
    "arrayload",
    "arraystore",
    "math",
    "stack",
    "type",
    "compare",
    "arraylen",
    "monitor",
    "switch",
];

/// How many fields an execution has after its type.
fn further_fields(kind: &str) -> usize {
    match kind {
        "enter" | "invoke" => 1,
        "field" => 2,
        "arrayload" | "arraystore" => 4,
        _ => 0,
    }
}

fn type_of(field: &str) -> String {
    let inner = field.strip_prefix('$').and_then(|field| field.strip_suffix('$'));
    let inner = inner.expect("a type between dollar signs");
    assert!(TYPES.contains(&inner), "{inner}");
    inner.to_owned()
}

fn number<T: std::str::FromStr>(field: &str) -> T {
    field.parse().unwrap_or_else(|_| panic!("a number: {field}"))
}

/// A field without escapes.
fn unescaped(field: &str) -> String {
    let mut parts = field.split("\\u");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (digits, rest) = part.split_at(4);
        let code = u32::from_str_radix(digits, 16).expect("four digits");
        text.push(char::from_u32(code).expect("a character"));
        text.push_str(rest);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        let text = "$$method$$,1,m(I)V,p/A,9\n\
                    $enter$,1,1,-1,-1,-3,null,null,null\n\
                    $constant$,2,1,12,0,18,a\\u002Cb\\u005Cu,String,null\n\
                    $$$,1,7,-1,0,p/A,1,$enter$,NA\n\
                    $$$,2,7,300,0,p/A,2,$constant$\n";
        let all = Blinky::read(text);
        assert_eq!(all.executions.len(), 2);
        let (instruction, method) = all.of(&all.executions[1]);
        assert_eq!((instruction.at, &*instruction.operands[0]), (0, "a,b\\u"));
        assert_eq!((method.access, &*method.owner), (9, "p/A"));
    }

    #[test]
    fn empty_fields_at_the_end_are_none() {
        let text = "$$method$$,1,m(I)V,p/A,9\n$enter$,1,1,-1,-1,-3,,,\n";
        let read = std::panic::catch_unwind(|| Blinky::read(text));
        assert!(read.is_err());
    }
}
