//! Assembles class files, and lists what rewritten ones contain.

use flow_codec::MethodId;

use super::super::{ClassFile, Detail, Ids, LineProbes, Probes, Skip, rewrite};
use crate::rewrite::class_file::bytes::u16_at;
use crate::rewrite::class_file::code::Code;
use crate::rewrite::class_file::frames::Frames;
use crate::rewrite::class_file::opcode::{BIPUSH, INVOKESTATIC, LDC, LDC_W, SIPUSH};
use crate::rewrite::class_file::pool::{Pool, probe_class, tag};

/// A class file under construction: `p/C`, with the superclass that [`Class::new`] gets.
pub(super) struct Class {
    major: u16,
    pool: Vec<u8>,
    count: u16,
    head: Vec<u8>,
    fields: Vec<Vec<u8>>,
    methods: Vec<Vec<u8>>,
}

/// The code of a method under construction.
#[derive(Clone, Default)]
pub(super) struct Body {
    pub(super) code: Vec<u8>,
    /// Start, end, handler; each catches everything.
    pub(super) handlers: Vec<[u16; 3]>,
    /// Content of a `StackMapTable`.
    pub(super) frames: Option<Vec<u8>>,
    /// Places and lines.
    pub(super) lines: Vec<[u16; 2]>,
    /// Starts and lengths of a variable in local variable 0.
    pub(super) variables: Vec<[u16; 2]>,
}

impl<const N: usize> From<[u8; N]> for Body {
    fn from(code: [u8; N]) -> Self {
        Self { code: code.to_vec(), ..Self::default() }
    }
}

impl Class {
    pub(super) fn new(major: u16, superclass: &str) -> Self {
        let mut class = Self {
            major,
            pool: Vec::new(),
            count: 1,
            head: Vec::new(),
            fields: Vec::new(),
            methods: Vec::new(),
        };
        let (this, superclass) = (class.class("p/C"), class.class(superclass));
        class.head = [0x21, this, superclass, 0].map(u16::to_be_bytes).concat();
        class
    }

    fn add(&mut self, tag: u8, content: &[u8]) -> u16 {
        self.pool.push(tag);
        self.pool.extend(content);
        self.count += 1;
        self.count - 1
    }

    pub(super) fn utf8(&mut self, text: &str) -> u16 {
        let len = u16::try_from(text.len()).unwrap().to_be_bytes();
        self.add(tag::UTF8, &[&len, text.as_bytes()].concat())
    }

    pub(super) fn unknown_constant(&mut self) {
        self.add(99, &[0, 0]);
    }

    pub(super) fn class(&mut self, name: &str) -> u16 {
        let name = self.utf8(name).to_be_bytes();
        self.add(tag::CLASS, &name)
    }

    pub(super) fn string(&mut self, text: &str) -> u16 {
        let text = self.utf8(text).to_be_bytes();
        self.add(tag::STRING, &text)
    }

    fn member(&mut self, tag: u8, class: &str, name: &str, descriptor: &str) -> [u8; 2] {
        let class = self.class(class);
        let (name, descriptor) = (self.utf8(name), self.utf8(descriptor));
        let pair = [name, descriptor].map(u16::to_be_bytes).concat();
        let name_and_type = self.add(tag::NAME_AND_TYPE, &pair);
        let pair = [class, name_and_type].map(u16::to_be_bytes).concat();
        self.add(tag, &pair).to_be_bytes()
    }

    /// A reference to a field, as the operand of an instruction.
    pub(super) fn field(&mut self, class: &str, name: &str, descriptor: &str) -> [u8; 2] {
        self.member(tag::FIELD, class, name, descriptor)
    }

    /// A reference to a method, as the operand of an instruction.
    pub(super) fn method(&mut self, class: &str, name: &str, descriptor: &str) -> [u8; 2] {
        self.member(tag::METHOD, class, name, descriptor)
    }

    pub(super) fn add_field(&mut self, access: u16, name: &str, descriptor: &str) {
        let (name, descriptor) = (self.utf8(name), self.utf8(descriptor));
        self.fields.push([access, name, descriptor, 0].map(u16::to_be_bytes).concat());
    }

    pub(super) fn add_method(&mut self, access: u16, name: &str, descriptor: &str, body: Body) {
        let mut code = [8u16, 8].map(u16::to_be_bytes).concat();
        code.extend(u32::try_from(body.code.len()).unwrap().to_be_bytes());
        code.extend(body.code);
        let list = |entries: Vec<Vec<u8>>| {
            [u16::try_from(entries.len()).unwrap().to_be_bytes().to_vec(), entries.concat()]
                .concat()
        };
        let numbers = |entry: &[u16]| entry.iter().flat_map(|n| n.to_be_bytes()).collect();
        code.extend(list(
            body.handlers.iter().map(|[a, b, c]| numbers(&[*a, *b, *c, 0])).collect(),
        ));
        let mut attributes = Vec::new();
        if let Some(frames) = body.frames {
            attributes.push(self.attribute("StackMapTable", &frames));
        }
        if !body.lines.is_empty() {
            let lines = list(body.lines.iter().map(|line| numbers(line)).collect());
            attributes.push(self.attribute("LineNumberTable", &lines));
        }
        if !body.variables.is_empty() {
            let name = self.utf8("v");
            let variables = body.variables.iter();
            let variables = variables.map(|[a, b]| numbers(&[*a, *b, name, name, 0])).collect();
            attributes.push(self.attribute("LocalVariableTable", &list(variables)));
        }
        // This one must not survive.
        attributes.push(self.attribute("Unknown", &[0, 1]));
        code.extend(list(attributes));
        let head = [access, self.utf8(name), self.utf8(descriptor)].map(u16::to_be_bytes).concat();
        let attribute = self.attribute("Code", &code);
        self.methods.push([head, list(vec![attribute])].concat());
    }

    fn attribute(&mut self, name: &str, content: &[u8]) -> Vec<u8> {
        let name = self.utf8(name).to_be_bytes();
        let len = u32::try_from(content.len()).unwrap().to_be_bytes();
        [&name[..], &len, content].concat()
    }

    pub(super) fn build(&self) -> Vec<u8> {
        let count = |list: &[Vec<u8>]| u16::try_from(list.len()).unwrap().to_be_bytes();
        [
            &0xCAFE_BABE_u32.to_be_bytes()[..],
            &[0, 0],
            &self.major.to_be_bytes(),
            &self.count.to_be_bytes(),
            &self.pool,
            &self.head,
            &count(&self.fields),
            &self.fields.concat(),
            &count(&self.methods),
            &self.methods.concat(),
            &[0, 0],
        ]
        .concat()
    }
}

pub(super) fn id(number: u64) -> MethodId {
    MethodId::new(number).unwrap()
}

/// Rewrites one method, with id 1, and constructors it calls with id 2.
pub(super) fn rewrite_one(bytes: &[u8], method: usize) -> Result<Vec<u8>, Skip> {
    let class = ClassFile::parse(bytes).unwrap();
    let plan = class.plan(method)?;
    let callees = vec![Some(id(2)); plan.calls.len()];
    match rewrite(
        &class,
        vec![(method, plan, Ids { method: id(1), callees, fields: vec![], first_place: 0 })],
        Probes::Plain,
    ) {
        (Some(new), skipped) => {
            assert_eq!(skipped, []);
            Ok(new)
        }
        (None, skipped) => Err(skipped[0].1),
    }
}

/// The same, with probes for its lines, if that is possible.
pub(super) fn rewrite_lines(bytes: &[u8], method: usize) -> (Vec<u8>, Vec<(usize, Skip)>) {
    rewrite_for(bytes, method, Detail { lines: LineProbes::Each, ..Detail::default() })
}

/// The same, with probes for other details. Fields have the id 3.
pub(super) fn rewrite_for(
    bytes: &[u8],
    method: usize,
    detail: Detail,
) -> (Vec<u8>, Vec<(usize, Skip)>) {
    let class = ClassFile::parse(bytes).unwrap();
    let plan = class.plan_for(method, detail).unwrap();
    let callees = vec![Some(id(2)); plan.calls.len()];
    let fields = vec![id(3); plan.fields.len()];
    let ids = Ids { method: id(1), callees, fields, first_place: 0 };
    let (new, skipped) = rewrite(&class, vec![(method, plan, ids)], Probes::Plain);
    (new.unwrap(), skipped)
}

/// The content of the first method.
#[derive(Debug)]
pub(super) struct Listing {
    /// Instructions in hex; probes as the event they append.
    pub(super) code: Vec<String>,
    /// Exception table: start, end, handler, as numbers in `code`.
    pub(super) handlers: Vec<[usize; 3]>,
    /// Frames: their places, as numbers in `code`.
    pub(super) frames: Vec<usize>,
    /// The bytes of the `StackMapTable`.
    pub(super) table: Vec<u8>,
    /// Places and lines.
    pub(super) lines: Vec<[u16; 2]>,
    /// Starts and lengths of local variables.
    pub(super) variables: Vec<[u16; 2]>,
    pub(super) max_stack: u16,
}

impl Listing {
    /// Reads the first method of a class file.
    pub(super) fn of(bytes: &[u8]) -> Self {
        let class = ClassFile::parse(bytes).unwrap();
        let content = class.methods[0].code.clone().unwrap();
        let code = Code::parse(&bytes[content.start + 6..content.end], &class.pool).unwrap();
        let (mut listing, mut places) = (Vec::new(), Vec::new());
        let mut pushed: Option<i32> = None;
        for instruction in code.instructions() {
            let instruction = instruction.unwrap();
            let text = &code.bytes[instruction.pc..instruction.next];
            let probe = probe_of(text, &class.pool);
            match (probe, pushed.take()) {
                (Some(name), Some(value)) if name.starts_with("append") => {
                    let len: usize = name["append".len()..].parse().unwrap();
                    listing.pop();
                    listing.push(hex("append", &(!value).to_le_bytes()[..len]));
                }
                (Some(name), Some(value)) if name == "note" => {
                    listing.pop();
                    listing.push(hex("note", &(!value).to_le_bytes()[..1]));
                }
                (Some(name), Some(value)) if name == "step" => {
                    listing.pop();
                    listing.push(format!("step {}", value & 0xFFFF));
                }
                (Some(name), Some(value)) if name == "handled" => {
                    listing.pop();
                    listing.push(format!("handled {value}"));
                }
                (Some(name), Some(value)) if name == "place" || name == "firstPlace" => {
                    listing.pop();
                    listing.push(format!("{name} {value}"));
                }
                (Some(name), Some(value)) if name == "line" => {
                    listing.pop();
                    listing.push(format!("line {}", value & 0xFFFF));
                }
                (Some(name), None) if name == "unwound" => {
                    // After a copy of the exception.
                    assert_eq!(listing.pop().as_deref(), Some("59"));
                    listing.push(name);
                }
                (Some(name), None) => {
                    listing.push(name);
                    places.push(instruction.pc);
                }
                _ => {
                    listing.push(hex("", text));
                    places.push(instruction.pc);
                }
            }
            pushed = number_of(text, &class);
        }
        places.push(code.bytes.len());
        let number = |pc: usize| places.iter().position(|place| *place == pc).unwrap_or(usize::MAX);
        let handlers = code.handlers.iter().map(|handler| {
            [handler.start, handler.end, handler.handler].map(|pc| number(pc.into()))
        });
        let table = code.tables.frames.map_or(&[0, 0][..], |(_, table)| table);
        let frames = Frames::new(table).unwrap().map(|frame| number(frame.unwrap().pc));
        let pairs = |table: &[u8], step: usize| -> Vec<[u16; 2]> {
            let entries = table[2..].chunks(step);
            entries.map(|e| [0, 2].map(|at| u16_at(e, at).unwrap())).collect()
        };
        Self {
            handlers: handlers.collect(),
            frames: frames.collect(),
            table: table.to_vec(),
            lines: code.tables.lines.iter().flat_map(|(_, table)| pairs(table, 4)).collect(),
            variables: code.tables.variables.iter().flat_map(|(_, t)| pairs(t, 10)).collect(),
            max_stack: code.max_stack,
            code: listing,
        }
    }
}

fn hex(word: &str, bytes: &[u8]) -> String {
    let bytes = bytes.iter().map(|byte| format!("{byte:02X}"));
    let words = (!word.is_empty()).then(|| word.to_owned()).into_iter().chain(bytes);
    words.collect::<Vec<_>>().join(" ")
}

fn probe_of(instruction: &[u8], pool: &Pool<'_>) -> Option<String> {
    let [INVOKESTATIC, a, b] = *instruction else { return None };
    let callee = pool.method(u16::from_be_bytes([a, b])).unwrap();
    let name = String::from_utf8(callee.name.to_vec()).unwrap();
    (callee.class == probe_class()).then_some(name)
}

fn number_of(instruction: &[u8], class: &ClassFile<'_>) -> Option<i32> {
    match *instruction {
        [BIPUSH, byte] => Some(byte.cast_signed().into()),
        [SIPUSH, a, b] => Some(i16::from_be_bytes([a, b]).into()),
        [LDC, index] => class.pool.integer(index.into()),
        [LDC_W, a, b] => class.pool.integer(u16::from_be_bytes([a, b])),
        _ => None,
    }
}

impl Pool<'_> {
    fn integer(&self, index: u16) -> Option<i32> {
        let mut entry = self.entry(index, &[tag::INTEGER]).ok()?;
        Some(entry.u32().ok()?.cast_signed())
    }
}
