//! Values: the arguments of calls, their results, and the messages of exceptions, in methods that `values=` names; reads
//! and writes of fields that `fields=` names, and of elements of arrays; exceptions that reach a handler in methods that
//! `exceptions=` names.
//!
//! A value belongs to the call that is the topmost one at its position. Values are bytes, one value after the other: a
//! probe appends them in [words](super::raw), and in the [marks](super::marks#kinds) of the thread they are pieces of one
//! stream. No value continues after an entry, an exit, a gap or a pause: what is left of one there is dropped.
//!
//! | part | bytes | |
//! |---|---|---|
//! | type and role | 1 | the type in the lower four bits, the role in the four above them |
//! | number | 1 | of an argument, from 0 on, `this` not counted; of roles 10 and 11 the part; otherwise 0 |
//! | content | | depends on the type |
//!
//! | role | |
//! |---:|---|
//! | 0 | an argument |
//! | 1 | `this` |
//! | 2 | the result |
//! | 3 | the message of the exception that leaves the call |
//! | 4 | of an access: the [id](super::ids#fields) of the field, an int |
//! | 5 | of an access: the object that has the field, or the array |
//! | 6 | of an access: the index of the element, an int |
//! | 7 | an access: what was read |
//! | 8 | an access: what will be written |
//! | 9 | the *version* of the method, an int: see below |
//! | 10 | a part of an exception that reached a handler: see *Handlers* |
//! | 11 | a part of a wait of the thread: see [`waits`] |
//!
//! Classes of one name, each in its own class loader or redefined, may have different versions of a method, which share its
//! [id](super::ids). A call of a version other than 0 begins with a value of role 9, also if only lines or instructions of the
//! method are recorded: readers interpret the call by the [line](super::methods) of that version.
//!
//! An access is one value of role 7 or 8 after those that belong to it: of a field roles 4 and 5, of a static one 4 alone, of
//! an element 6 and 5. They begin with 4 or 6; what comes before one of these and has no end is dropped. A field that a
//! constructor writes before it calls another one has no object. A read follows the access; a write comes before it, and
//! may fail. Elements of type byte may be those of a `boolean[]`. Of an array of role 5 there are no elements.
//!
//! **Handlers.** An exception has reached a handler of the topmost call: a `catch`, or code that compilers make of `finally`,
//! `synchronized` and the like, which throws it again. The parts of role 10 follow each other in the order of their numbers;
//! 0 begins, 4 ends, 2 and 3 are missing if they are not known. What comes before a 0 and has no end is dropped. The
//! mark's position is where the handler begins.
//!
//! | number | type | part |
//! |---:|---|---|
//! | 0 | int | the line in which the handler begins; 0 if the class has no line numbers |
//! | 1 | object | the exception, by its class and identity |
//! | 2 | text | the class and method on top of the exception's stack trace: where it was created |
//! | 3 | int | the line there |
//! | 4 | text, null or redacted | the message |
//!
//! | type | name | content |
//! |---:|---|---|
//! | 0 | null | nothing |
//! | 1 | boolean | 4 bytes: 0 or 1 |
//! | 2 | byte | 4 bytes |
//! | 3 | char | 4 bytes: the UTF-16 code unit |
//! | 4 | short | 4 bytes |
//! | 5 | int | 4 bytes |
//! | 6 | float | 4 bytes: its bits |
//! | 7 | long | 8 bytes |
//! | 8 | double | 8 bytes: its bits |
//! | 9 | object | its class; 4 bytes of identity |
//! | 10 | text | a string: how many code units it has; how many bytes follow; the beginning of it in UTF-8 |
//! | 11 | array | its class; 4 bytes of identity; its length; the type of its elements, one byte; how many of them follow; these |
//! | 12 | redacted | nothing: `redact=` names the value, which was not stored anywhere |
//! | 13 | boxed | an object of a class like `Integer`: the type of its value, one byte from 1 to 8; the value |
//! | 14 | constant | of an enum: its class; how many bytes follow; its name in UTF-8 |
//! | 15 | content | an object with what is in it: its class; 4 bytes of identity; a form, one byte; what follows from it |
//!
//! | form | what follows |
//! |---:|---|
//! | 1 | a text that represents the object, such as a number or a date: how many bytes follow; it in UTF-8 |
//! | 2 | elements: how many the object has; how many of them follow; these |
//! | 3 | entries of a map: how many it has; how many of them follow; of each the key and the value |
//! | 4 | fields: how many there are; how many of them follow; of each how many bytes follow, its name in UTF-8, its value |
//! | 5 | components of a record, like fields |
//!
//! What is inside such an object is a byte with its type, and the content of this type. Objects are inside each other up to 15 deep.
//!
//! Numbers of 4 and 8 bytes have the lowest byte first, the others are LEB128, maybe with more groups than needed. A class is 1 more than its
//! [id](super::ids#classes), or 0 if that is not known. The identity is that of `System.identityHashCode`. Elements are of
//! types 1 to 8; of other arrays, there are none and the type is 9. Lone halves of surrogate pairs are the text `\uD800`.
//!
//! # Example
//!
//! A call of `total(int, String)` with 5 and "abc", and its result, null. `codec/tests/golden/values.hex` has these bytes.
//!
//! | bytes | |
//! |---|---|
//! | `05 00 05 00 00 00` | argument 0, an int, 5 |
//! | `0A 01 03 03 61 62 63` | argument 1, a text of 3 code units, all 3 bytes of it |
//! | `20 00` | the result, null |
//!
//! # Example of content
//!
//! A call with an `Optional` of class 4 and identity 9 that holds "a", and with a record of class 5 and identity 7 with one
//! component, `n`, which is 1. `codec/tests/golden/content.hex` has these bytes.
//!
//! | bytes | |
//! |---|---|
//! | `0F 00 05 09 00 00 00 02 01 01 0A 01 01 61` | argument 0: one element of one, a text of one code unit |
//! | `0F 01 06 07 00 00 00 05 01 01 01 6E 05 01 00 00 00` | argument 1: one component of one, `n`, an int |
//!
//! # Example of a version
//!
//! A call of version 1 of `total(int)` with 5. `codec/tests/golden/version.hex` has these bytes.
//!
//! | bytes | |
//! |---|---|
//! | `95 00 01 00 00 00` | version 1 |
//! | `05 00 05 00 00 00` | argument 0, an int, 5 |
//!
//! # Example of accesses
//!
//! A call that writes 7 to the static field with the id 300, and reads element 2 of an array of class 4, identity 9 and
//! length 3, which is 1. `codec/tests/golden/accesses.hex` has these bytes.
//!
//! | bytes | |
//! |---|---|
//! | `45 00 2C 01 00 00` | the field |
//! | `85 00 07 00 00 00` | 7 is written |
//! | `65 00 02 00 00 00` | the index |
//! | `5B 00 05 09 00 00 00 03 09 00` | the array |
//! | `75 00 01 00 00 00` | 1 was read |
//!
//! # Example of a handler
//!
//! A handler in line 43 gets an exception of class 4 and identity 9 that `a.B.c` created in its line 7, with the message "no".
//! `codec/tests/golden/handlers.hex` has these bytes.
//!
//! | bytes | |
//! |---|---|
//! | `A5 00 2B 00 00 00` | line 43 |
//! | `A9 01 05 09 00 00 00` | the exception |
//! | `AA 02 05 05 61 2E 42 2E 63` | `a.B.c` |
//! | `A5 03 07 00 00 00` | line 7 |
//! | `AA 04 02 02 6E 6F` | the message |

pub mod waits;

use self::waits::WaitKind;
use super::leb128::{put, take};
use crate::{MethodId, ThreadId, Undecoded};

/// What a value is to its call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Role {
    /// An argument, by its number from 0 on.
    Argument(u8),
    /// The object whose method it is.
    This,
    /// What it returns.
    Result,
    /// The message of the exception that leaves it.
    Message,
    /// Of an access: the id of the field. A [`CallValue`] has it in its [place](CallValue::place).
    Field,
    /// Of an access: the object or array. A [`CallValue`] has it in its [place](CallValue::place).
    Object,
    /// Of an access: the index of the element. A [`CallValue`] has it in its [place](CallValue::place).
    Index,
    /// What was read.
    Read,
    /// What will be written.
    Write,
    /// The version of the method, unless that is 0. [Timelines](crate::read::Timeline) report it with the calls and values that
    /// it is about.
    Version,
    /// Of an exception that reached a handler: the line of that. A [`CallValue`] has it in its [`Handled`].
    HandlerLine,
    /// Of an exception that reached a handler: the exception. A [`CallValue`] has it in its [`Handled`].
    Exception,
    /// Of an exception that reached a handler: the class and method that created it. A [`CallValue`] has it in its [`Handled`].
    CreatedIn,
    /// Of an exception that reached a handler: the line there. A [`CallValue`] has it in its [`Handled`].
    CreatedAt,
    /// The message of an exception that reached a handler.
    Handled,
    /// Of a wait that begins: its kind. A [`CallValue`] has it in its [`BegunWait`].
    WaitKind,
    /// Of a wait that begins: what the thread waits for. A [`CallValue`] has it in its [`BegunWait`].
    WaitObject,
    /// Of a wait that begins: the thread that holds the object. A [`CallValue`] has it in its [`BegunWait`].
    Holder,
    /// When a wait began.
    WaitBegin,
    /// When the wait that began last ended.
    WaitEnd,
}

/// A number, a character or a truth value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Primitive {
    /// `boolean`
    Boolean(bool),
    /// `byte`
    Byte(i8),
    /// `char`: a UTF-16 code unit.
    Char(u16),
    /// `short`
    Short(i16),
    /// `int`
    Int(i32),
    /// `float`: its bits.
    Float(u32),
    /// `long`
    Long(i64),
    /// `double`: its bits.
    Double(u64),
}

/// A value.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Value {
    /// No object.
    Null,
    /// A primitive value.
    Primitive(Primitive),
    /// An object.
    Object(Identity),
    /// A string.
    Text {
        /// How many code units it has.
        units: u64,
        /// Its beginning.
        beginning: String,
    },
    /// An array.
    Array {
        /// The array as an object.
        array: Identity,
        /// How many elements it has.
        length: u64,
        /// The first of them, if they are primitive.
        elements: Vec<Primitive>,
    },
    /// `redact=` names it.
    Redacted,
    /// An object that holds a primitive value.
    Boxed(Primitive),
    /// A constant of an enum.
    Constant {
        /// Its class, if that is known.
        class: Option<MethodId>,
        /// Its name.
        name: String,
    },
    /// An object, and what is in it.
    Content {
        /// Which object it is.
        object: Identity,
        /// What is in it.
        content: ObjectContent,
    },
}

/// What is in an object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ObjectContent {
    /// A text that represents the object, such as a number or a date.
    Text(String),
    /// The elements.
    Elements {
        /// How many it has.
        length: u64,
        /// The first of them.
        elements: Vec<Value>,
    },
    /// The entries of a map.
    Entries {
        /// How many it has.
        length: u64,
        /// The first of them, each with key and value.
        entries: Vec<(Value, Value)>,
    },
    /// The fields, or the components of a record.
    Fields {
        /// Whether it is a record.
        is_record: bool,
        /// How many there are.
        length: u64,
        /// The first of them, each with its name.
        fields: Vec<(String, Value)>,
    },
}

/// How deep objects with content are inside each other at most.
const MAX_DEPTH: u32 = 15;

/// Which object it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Identity {
    /// The id of its class, if that is known.
    pub class: Option<MethodId>,
    /// What `System.identityHashCode` returns for it.
    pub hash: u32,
}

/// A value, and what it is to its call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallValue {
    /// What it is to the call.
    pub role: Role,
    /// The value.
    pub value: Value,
    /// What is accessed, if it is an access.
    pub place: Option<Box<Place>>,
    /// The exception, if it is the message of one that reached a handler.
    #[doc(hidden)]
    pub handled: Option<Box<Handled>>,
    /// The wait, if it is the time at which one began.
    #[doc(hidden)]
    pub wait: Option<Box<BegunWait>>,
    /// For an argument, the version of the method, from which readers get the name of the parameter. Not part of the bytes.
    pub version: u16,
}

/// A field or an element.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Place {
    /// The id of the field; `None` of elements.
    pub field: Option<MethodId>,
    /// The object that has the field, or the array; `None` of static fields.
    pub object: Option<Value>,
    /// The index of the element.
    pub index: Option<i32>,
}

/// An exception that reached a handler.
#[doc(hidden)]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Handled {
    /// The line in which the handler begins, if it is known.
    pub line: Option<u16>,
    /// The exception.
    pub exception: Identity,
    /// The class and method on top of its stack trace, if it is known.
    pub created_in: Option<String>,
    /// The line there, if it is known.
    pub created_at: Option<u32>,
}

/// A wait that begins.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BegunWait {
    /// How the thread waits.
    pub kind: WaitKind,
    /// What it waits for, if that is an object.
    pub object: Option<Identity>,
    /// The thread that held the object when the wait began, if that is known.
    pub holder: Option<ThreadId>,
}

/// The numbers of types.
pub mod kind {
    /// See [`Value::Null`](super::Value::Null).
    pub const NULL: u8 = 0;
    /// The first of the primitive types.
    pub const BOOLEAN: u8 = 1;
    /// `byte`
    pub const BYTE: u8 = 2;
    /// `char`
    pub const CHAR: u8 = 3;
    /// `short`
    pub const SHORT: u8 = 4;
    /// `int`
    pub const INT: u8 = 5;
    /// `float`
    pub const FLOAT: u8 = 6;
    /// `long`
    pub const LONG: u8 = 7;
    /// The last of the primitive types.
    pub const DOUBLE: u8 = 8;
    /// See [`Value::Object`](super::Value::Object).
    pub const OBJECT: u8 = 9;
    /// See [`Value::Text`](super::Value::Text).
    pub const TEXT: u8 = 10;
    /// See [`Value::Array`](super::Value::Array).
    pub const ARRAY: u8 = 11;
    /// See [`Value::Redacted`](super::Value::Redacted).
    pub const REDACTED: u8 = 12;
    /// See [`Value::Boxed`](super::Value::Boxed).
    pub const BOXED: u8 = 13;
    /// See [`Value::Constant`](super::Value::Constant).
    pub const CONSTANT: u8 = 14;
    /// See [`Value::Content`](super::Value::Content).
    pub const CONTENT: u8 = 15;
}

/// The numbers of forms of content.
mod form {
    pub(super) const TEXT: u8 = 1;
    pub(super) const ELEMENTS: u8 = 2;
    pub(super) const ENTRIES: u8 = 3;
    pub(super) const FIELDS: u8 = 4;
    pub(super) const COMPONENTS: u8 = 5;
}

const ROLE_SHIFT: u32 = 4;

impl Role {
    /// The first two bytes of such a value, without its type.
    #[doc(hidden)]
    #[must_use]
    pub const fn head(self) -> [u8; 2] {
        match self {
            Self::Argument(number) => [0, number],
            Self::This => [1 << ROLE_SHIFT, 0],
            Self::Result => [2 << ROLE_SHIFT, 0],
            Self::Message => [3 << ROLE_SHIFT, 0],
            Self::Field => [4 << ROLE_SHIFT, 0],
            Self::Object => [5 << ROLE_SHIFT, 0],
            Self::Index => [6 << ROLE_SHIFT, 0],
            Self::Read => [7 << ROLE_SHIFT, 0],
            Self::Write => [8 << ROLE_SHIFT, 0],
            Self::Version => [9 << ROLE_SHIFT, 0],
            Self::HandlerLine => [10 << ROLE_SHIFT, 0],
            Self::Exception => [10 << ROLE_SHIFT, 1],
            Self::CreatedIn => [10 << ROLE_SHIFT, 2],
            Self::CreatedAt => [10 << ROLE_SHIFT, 3],
            Self::Handled => [10 << ROLE_SHIFT, 4],
            Self::WaitKind => [11 << ROLE_SHIFT, 0],
            Self::WaitObject => [11 << ROLE_SHIFT, 1],
            Self::Holder => [11 << ROLE_SHIFT, 2],
            Self::WaitBegin => [11 << ROLE_SHIFT, 3],
            Self::WaitEnd => [11 << ROLE_SHIFT, 4],
        }
    }

    /// What the first two bytes of a value say; `None` if there is no such role.
    #[doc(hidden)]
    #[must_use]
    pub const fn of([first, number]: [u8; 2]) -> Option<Self> {
        Some(match (first >> ROLE_SHIFT, number) {
            (0, number) => Self::Argument(number),
            (1, _) => Self::This,
            (2, _) => Self::Result,
            (3, _) => Self::Message,
            (4, _) => Self::Field,
            (5, _) => Self::Object,
            (6, _) => Self::Index,
            (7, _) => Self::Read,
            (8, _) => Self::Write,
            (9, _) => Self::Version,
            (10, 0) => Self::HandlerLine,
            (10, 1) => Self::Exception,
            (10, 2) => Self::CreatedIn,
            (10, 3) => Self::CreatedAt,
            (10, 4) => Self::Handled,
            (11, 0) => Self::WaitKind,
            (11, 1) => Self::WaitObject,
            (11, 2) => Self::Holder,
            (11, 3) => Self::WaitBegin,
            (11, 4) => Self::WaitEnd,
            _ => return None,
        })
    }

    /// Whether it is that of an access.
    #[doc(hidden)]
    #[must_use]
    pub const fn is_access(self) -> bool {
        matches!(self, Self::Read | Self::Write)
    }
}

impl Primitive {
    /// The number of its type.
    #[must_use]
    pub(crate) const fn kind(self) -> u8 {
        match self {
            Self::Boolean(_) => kind::BOOLEAN,
            Self::Byte(_) => kind::BYTE,
            Self::Char(_) => kind::CHAR,
            Self::Short(_) => kind::SHORT,
            Self::Int(_) => kind::INT,
            Self::Float(_) => kind::FLOAT,
            Self::Long(_) => kind::LONG,
            Self::Double(_) => kind::DOUBLE,
        }
    }

    fn encode(self, bytes: &mut Vec<u8>) {
        let four = match self {
            Self::Boolean(value) => i32::from(value),
            Self::Byte(value) => value.into(),
            Self::Char(value) => value.into(),
            Self::Short(value) => value.into(),
            Self::Int(value) => value,
            Self::Float(bits) => bits.cast_signed(),
            Self::Long(value) => return bytes.extend_from_slice(&value.to_le_bytes()),
            Self::Double(bits) => return bytes.extend_from_slice(&bits.to_le_bytes()),
        };
        bytes.extend_from_slice(&four.to_le_bytes());
    }

    fn decode(kind: u8, bytes: &mut &[u8]) -> Result<Self, Undecoded> {
        if let kind::LONG | kind::DOUBLE = kind {
            let eight = u64::from_le_bytes(chunk(bytes)?);
            return Ok(if kind == kind::LONG {
                Self::Long(eight.cast_signed())
            } else {
                Self::Double(eight)
            });
        }
        let four: [u8; 4] = chunk(bytes)?;
        let [first, second, ..] = four;
        Ok(match kind {
            kind::BOOLEAN => Self::Boolean(first != 0),
            kind::BYTE => Self::Byte(first.cast_signed()),
            kind::CHAR => Self::Char(u16::from_le_bytes([first, second])),
            kind::SHORT => Self::Short(i16::from_le_bytes([first, second])),
            kind::INT => Self::Int(i32::from_le_bytes(four)),
            kind::FLOAT => Self::Float(u32::from_le_bytes(four)),
            _ => return Err(INVALID),
        })
    }
}

const INVALID: Undecoded = Undecoded::Invalid("a value with its role");

impl CallValue {
    /// A value that is no access.
    #[doc(hidden)]
    #[must_use]
    pub const fn new(role: Role, value: Value) -> Self {
        Self { role, value, place: None, handled: None, wait: None, version: 0 }
    }

    /// An exception that reached a handler, with its message.
    #[doc(hidden)]
    #[must_use]
    pub fn handled(handled: Handled, message: Value) -> Self {
        Self { handled: Some(Box::new(handled)), ..Self::new(Role::Handled, message) }
    }

    /// Returns the version of the call, if this value has that role.
    #[doc(hidden)]
    #[must_use]
    pub const fn as_version(&self) -> Option<u16> {
        match (self.role, &self.value) {
            (Role::Version, Value::Primitive(Primitive::Int(number @ 0..=0xFFFF))) => {
                let [low, high, ..] = number.to_le_bytes();
                Some(u16::from_le_bytes([low, high]))
            }
            _ => None,
        }
    }

    /// Appends the value.
    #[doc(hidden)]
    pub fn encode(&self, bytes: &mut Vec<u8>) {
        if let Some(Place { field, object, index }) = self.place.as_deref() {
            let number = |number: i32| Value::Primitive(Primitive::Int(number));
            // Ids that probes can pass are not larger.
            let field = field.map(|field| number(i32::try_from(field.get()).unwrap_or(i32::MAX)));
            let index = index.map(number);
            for (role, part) in
                [(Role::Field, &field), (Role::Index, &index), (Role::Object, object)]
            {
                part.iter().for_each(|part| part.encode(role, bytes));
            }
        }
        self.handled.iter().for_each(|handled| handled.encode(bytes));
        self.wait.iter().for_each(|wait| wait.encode(bytes));
        self.value.encode(self.role, bytes);
    }

    /// Decodes the value at the start of `bytes`, and shortens them by it.
    ///
    /// # Errors
    /// There is no whole value. The bytes stay as they are, or are shortened by what belongs to no value.
    #[doc(hidden)]
    pub fn decode(bytes: &mut &[u8]) -> Result<Self, Undecoded> {
        let mut parts = Parts::default();
        let mut rest = *bytes;
        loop {
            let part = rest;
            let (role, value) = Value::decode(&mut rest)?;
            if let Role::Field | Role::Index | Role::HandlerLine | Role::WaitKind = role {
                // What came before it has no end.
                *bytes = part;
                parts = Parts::default();
            }
            if let Some(value) = parts.add(role, value)? {
                *bytes = rest;
                return parts.into_value(role, value);
            }
        }
    }
}

/// What has come of a value before its end.
#[derive(Default)]
struct Parts {
    place: Option<Box<Place>>,
    handled: Option<Box<Handled>>,
    wait: Option<Box<BegunWait>>,
}

impl Parts {
    /// Adds a part. Returns the value if it is the end, and not a part.
    fn add(&mut self, role: Role, value: Value) -> Result<Option<Value>, Undecoded> {
        match (role, value) {
            (Role::Field, Value::Primitive(Primitive::Int(id))) => {
                let id = u64::try_from(id).ok().and_then(MethodId::new);
                let field = Some(id.ok_or(INVALID)?);
                self.place = Some(Box::new(Place { field, ..Place::default() }));
            }
            (Role::Index, Value::Primitive(Primitive::Int(index))) => {
                self.place = Some(Box::new(Place { index: Some(index), ..Place::default() }));
            }
            (Role::Object, value) => match &mut self.place {
                Some(place) if place.object.is_none() => place.object = Some(value),
                _ => return Err(INVALID),
            },
            (Role::Field | Role::Index, _) => return Err(INVALID),
            (Role::HandlerLine | Role::Exception | Role::CreatedIn | Role::CreatedAt, value) => {
                Handled::add(&mut self.handled, role, value).ok_or(INVALID)?
            }
            (Role::WaitKind | Role::WaitObject | Role::Holder, value) => {
                BegunWait::add(&mut self.wait, role, value).ok_or(INVALID)?;
            }
            (_, value) => return Ok(Some(value)),
        }
        Ok(None)
    }

    /// Returns the value with the parts that belong to it.
    fn into_value(self, role: Role, value: Value) -> Result<CallValue, Undecoded> {
        let place = self.place.filter(|_| role.is_access());
        let handled = self.handled.filter(|_| role == Role::Handled);
        let wait = self.wait.filter(|_| role == Role::WaitBegin);
        let is_time = matches!(value, Value::Primitive(Primitive::Long(_)));
        let is_valid = match role {
            Role::Handled => handled.is_some(),
            Role::WaitBegin => wait.is_some() && is_time,
            Role::WaitEnd => is_time,
            _ => true,
        };
        let value = CallValue { role, value, place, handled, wait, version: 0 };
        is_valid.then_some(value).ok_or(INVALID)
    }
}

impl Handled {
    /// Appends the parts before the message.
    fn encode(&self, bytes: &mut Vec<u8>) {
        let int = |number: i32| Value::Primitive(Primitive::Int(number));
        int(self.line.unwrap_or_default().into()).encode(Role::HandlerLine, bytes);
        Value::Object(self.exception).encode(Role::Exception, bytes);
        if let Some(created_in) = &self.created_in {
            let units = created_in.encode_utf16().count() as u64;
            Value::Text { units, beginning: created_in.clone() }.encode(Role::CreatedIn, bytes);
        }
        let line = self.created_at.and_then(|line| i32::try_from(line).ok());
        line.iter().for_each(|line| int(*line).encode(Role::CreatedAt, bytes));
    }

    /// Adds a part; `None` if it is not one.
    fn add(handled: &mut Option<Box<Self>>, role: Role, value: Value) -> Option<()> {
        match (role, value) {
            (Role::HandlerLine, Value::Primitive(Primitive::Int(line))) => {
                let line = Some(u16::try_from(line).ok()?).filter(|line| *line > 0);
                let exception = Identity { class: None, hash: 0 };
                let begun = Self { line, exception, created_in: None, created_at: None };
                *handled = Some(Box::new(begun));
            }
            (Role::Exception, Value::Object(exception)) => handled.as_mut()?.exception = exception,
            (Role::CreatedIn, Value::Text { beginning, .. }) => {
                handled.as_mut()?.created_in = Some(beginning);
            }
            (Role::CreatedAt, Value::Primitive(Primitive::Int(line))) => {
                handled.as_mut()?.created_at = Some(u32::try_from(line).ok()?);
            }
            _ => return None,
        }
        Some(())
    }
}

impl BegunWait {
    /// Returns the value for a wait that begins at this time.
    #[must_use]
    pub fn began(self, at_ns: u64) -> CallValue {
        let wait = Some(Box::new(self));
        CallValue { wait, ..CallValue::new(Role::WaitBegin, number_value(at_ns)) }
    }

    /// Returns the value for the end of a wait at this time.
    #[must_use]
    pub fn ended(at_ns: u64) -> CallValue {
        CallValue::new(Role::WaitEnd, number_value(at_ns))
    }

    /// Appends the parts before the time.
    fn encode(&self, bytes: &mut Vec<u8>) {
        Value::Primitive(Primitive::Int(self.kind.number())).encode(Role::WaitKind, bytes);
        self.object.map_or(Value::Null, Value::Object).encode(Role::WaitObject, bytes);
        if let Some(holder) = self.holder {
            number_value(holder.get()).encode(Role::Holder, bytes);
        }
    }

    /// Adds a part; `None` if it is not one.
    fn add(wait: &mut Option<Box<Self>>, role: Role, value: Value) -> Option<()> {
        match (role, value) {
            (Role::WaitKind, Value::Primitive(Primitive::Int(number))) => {
                let kind = WaitKind::of_number(number);
                *wait = Some(Box::new(Self { kind, object: None, holder: None }));
            }
            (Role::WaitObject, Value::Object(object)) => wait.as_mut()?.object = Some(object),
            (Role::WaitObject, Value::Null) => wait.as_mut()?.object = None,
            (Role::Holder, Value::Primitive(Primitive::Long(thread))) => {
                wait.as_mut()?.holder = Some(ThreadId::new(thread.cast_unsigned()));
            }
            _ => return None,
        }
        Some(())
    }
}

/// A number of 64 bits as a value.
const fn number_value(number: u64) -> Value {
    Value::Primitive(Primitive::Long(number.cast_signed()))
}

impl Value {
    /// The number of its type.
    fn kind(&self) -> u8 {
        match self {
            Self::Null => kind::NULL,
            Self::Redacted => kind::REDACTED,
            Self::Primitive(value) => value.kind(),
            Self::Boxed(_) => kind::BOXED,
            Self::Object(_) => kind::OBJECT,
            Self::Text { .. } => kind::TEXT,
            Self::Array { .. } => kind::ARRAY,
            Self::Constant { .. } => kind::CONSTANT,
            Self::Content { .. } => kind::CONTENT,
        }
    }

    fn encode(&self, role: Role, bytes: &mut Vec<u8>) {
        let [first, number] = role.head();
        bytes.extend_from_slice(&[first | self.kind(), number]);
        self.encode_content(bytes);
    }

    /// Appends what follows its type.
    fn encode_content(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Null | Self::Redacted => {}
            Self::Primitive(value) => value.encode(bytes),
            Self::Boxed(value) => {
                bytes.push(value.kind());
                value.encode(bytes);
            }
            Self::Object(identity) => identity.encode(bytes),
            Self::Text { units, beginning } => {
                put(bytes, *units);
                put_text(bytes, beginning);
            }
            Self::Array { array, length, elements } => {
                array.encode(bytes);
                put(bytes, *length);
                bytes.push(elements.first().map_or(kind::OBJECT, |element| element.kind()));
                put(bytes, elements.len() as u64);
                elements.iter().for_each(|element| element.encode(bytes));
            }
            Self::Constant { class, name } => {
                put_class(bytes, *class);
                put_text(bytes, name);
            }
            Self::Content { object, content } => {
                object.encode(bytes);
                content.encode(bytes);
            }
        }
    }

    /// Appends its type and what follows that: as a part of another value.
    fn encode_inside(&self, bytes: &mut Vec<u8>) {
        bytes.push(self.kind());
        self.encode_content(bytes);
    }

    /// Decodes the value at the start of `bytes`, and shortens them by it, or leaves them as they are.
    fn decode(bytes: &mut &[u8]) -> Result<(Role, Self), Undecoded> {
        let mut rest = *bytes;
        let head: [u8; 2] = chunk(&mut rest)?;
        let [first, _] = head;
        let role = Role::of(head).ok_or(INVALID)?;
        let value = Self::decode_content(first & 0x0F, &mut rest, 0)?;
        *bytes = rest;
        Ok((role, value))
    }

    fn decode_inside(bytes: &mut &[u8], depth: u32) -> Result<Self, Undecoded> {
        let [kind] = chunk(bytes)?;
        Self::decode_content(kind, bytes, depth)
    }

    /// Decodes what follows a type.
    fn decode_content(kind: u8, rest: &mut &[u8], depth: u32) -> Result<Self, Undecoded> {
        Ok(match kind {
            kind::NULL => Self::Null,
            kind::REDACTED => Self::Redacted,
            primitive @ kind::BOOLEAN..=kind::DOUBLE => {
                Self::Primitive(Primitive::decode(primitive, rest)?)
            }
            kind::BOXED => {
                let [kind] = chunk(rest)?;
                Self::Boxed(Primitive::decode(kind, rest)?)
            }
            kind::OBJECT => Self::Object(Identity::decode(rest)?),
            kind::TEXT => {
                let units = number(rest)?;
                Self::Text { units, beginning: text(rest)? }
            }
            kind::ARRAY => {
                let array = Identity::decode(rest)?;
                let length = number(rest)?;
                let [kind] = chunk(rest)?;
                let count = number(rest)?;
                // Each is in the bytes, so no memory is taken for what is not there.
                let elements = (0..count).map(|_| Primitive::decode(kind, rest));
                Self::Array { array, length, elements: elements.collect::<Result<_, _>>()? }
            }
            kind::CONSTANT => {
                let class = class(rest)?;
                Self::Constant { class, name: text(rest)? }
            }
            kind::CONTENT if depth < MAX_DEPTH => {
                let object = Identity::decode(rest)?;
                Self::Content { object, content: ObjectContent::decode(rest, depth + 1)? }
            }
            _ => return Err(INVALID),
        })
    }
}

impl ObjectContent {
    fn encode(&self, bytes: &mut Vec<u8>) {
        let counts = |bytes: &mut Vec<u8>, length: u64, stored: usize| {
            put(bytes, length);
            put(bytes, stored as u64);
        };
        match self {
            Self::Text(text) => {
                bytes.push(form::TEXT);
                put_text(bytes, text);
            }
            Self::Elements { length, elements } => {
                bytes.push(form::ELEMENTS);
                counts(bytes, *length, elements.len());
                elements.iter().for_each(|element| element.encode_inside(bytes));
            }
            Self::Entries { length, entries } => {
                bytes.push(form::ENTRIES);
                counts(bytes, *length, entries.len());
                for (key, value) in entries {
                    key.encode_inside(bytes);
                    value.encode_inside(bytes);
                }
            }
            Self::Fields { is_record, length, fields } => {
                bytes.push(if *is_record { form::COMPONENTS } else { form::FIELDS });
                counts(bytes, *length, fields.len());
                for (name, value) in fields {
                    put_text(bytes, name);
                    value.encode_inside(bytes);
                }
            }
        }
    }

    /// Decodes it from the start of `bytes`. Each part is in the bytes, so no memory is taken for what is not there.
    fn decode(bytes: &mut &[u8], depth: u32) -> Result<Self, Undecoded> {
        let [form] = chunk(bytes)?;
        if form == form::TEXT {
            return Ok(Self::Text(text(bytes)?));
        }
        let (length, count) = (number(bytes)?, number(bytes)?);
        let inside = |bytes: &mut &[u8]| Value::decode_inside(bytes, depth);
        Ok(match form {
            form::ELEMENTS => {
                let elements = (0..count).map(|_| inside(bytes)).collect::<Result<_, _>>()?;
                Self::Elements { length, elements }
            }
            form::ENTRIES => {
                let entries = (0..count).map(|_| Ok((inside(bytes)?, inside(bytes)?)));
                Self::Entries { length, entries: entries.collect::<Result<_, _>>()? }
            }
            form::FIELDS | form::COMPONENTS => {
                let fields = (0..count).map(|_| Ok((text(bytes)?, inside(bytes)?)));
                let is_record = form == form::COMPONENTS;
                Self::Fields { is_record, length, fields: fields.collect::<Result<_, _>>()? }
            }
            _ => return Err(INVALID),
        })
    }
}

impl Identity {
    fn encode(self, bytes: &mut Vec<u8>) {
        put_class(bytes, self.class);
        bytes.extend_from_slice(&self.hash.to_le_bytes());
    }

    fn decode(bytes: &mut &[u8]) -> Result<Self, Undecoded> {
        let class = class(bytes)?;
        Ok(Self { class, hash: u32::from_le_bytes(chunk(bytes)?) })
    }
}

fn put_class(bytes: &mut Vec<u8>, class: Option<MethodId>) {
    put(bytes, class.map_or(0, |class| class.get() + 1));
}

fn class(bytes: &mut &[u8]) -> Result<Option<MethodId>, Undecoded> {
    Ok(number(bytes)?.checked_sub(1).and_then(MethodId::new))
}

fn put_text(bytes: &mut Vec<u8>, text: &str) {
    put(bytes, text.len() as u64);
    bytes.extend_from_slice(text.as_bytes());
}

fn text(bytes: &mut &[u8]) -> Result<String, Undecoded> {
    let len = number(bytes)?;
    let len = usize::try_from(len).map_err(|_| Undecoded::Incomplete)?;
    let (text, rest) = bytes.split_at_checked(len).ok_or(Undecoded::Incomplete)?;
    *bytes = rest;
    Ok(String::from_utf8_lossy(text).into_owned())
}

fn number(bytes: &mut &[u8]) -> Result<u64, Undecoded> {
    let mut rest = *bytes;
    match take(&mut rest) {
        Some(number) => {
            *bytes = rest;
            Ok(number)
        }
        // Nine groups may be followed by one more.
        None if bytes.len() < super::leb128::MAX_BYTES => Err(Undecoded::Incomplete),
        None => Err(INVALID),
    }
}

fn chunk<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], Undecoded> {
    let (chunk, rest) = bytes.split_first_chunk().ok_or(Undecoded::Incomplete)?;
    *bytes = rest;
    Ok(*chunk)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values() -> Vec<Value> {
        let class = MethodId::new(300);
        let identity = Identity { class, hash: 0xFEDC_BA98 };
        let primitives = [
            Primitive::Boolean(true),
            Primitive::Byte(-1),
            Primitive::Char(0xD800),
            Primitive::Short(-300),
            Primitive::Int(i32::MIN),
            Primitive::Float((-0.5_f32).to_bits()),
            Primitive::Long(i64::MIN + 7),
            Primitive::Double(f64::NAN.to_bits()),
        ];
        let mut values = vec![
            Value::Null,
            Value::Redacted,
            Value::Object(identity),
            Value::Object(Identity { class: None, ..identity }),
            Value::Text { units: 1000, beginning: "ab\u{20AC}\u{1F600}".to_owned() },
            Value::Text { units: 0, beginning: String::new() },
            Value::Array { array: identity, length: 5, elements: Vec::new() },
            Value::Array { array: identity, length: 1 << 20, elements: vec![Primitive::Int(7); 3] },
            Value::Constant { class, name: "RED".to_owned() },
        ];
        let content = |content| Value::Content { object: identity, content };
        let five = || Value::Primitive(Primitive::Int(5));
        let inner =
            content(ObjectContent::Elements { length: 3, elements: vec![five(), Value::Null] });
        values.extend([
            content(ObjectContent::Text("1.19".to_owned())),
            content(ObjectContent::Entries { length: 1, entries: vec![(five(), inner.clone())] }),
            content(ObjectContent::Entries { length: 2, entries: Vec::new() }),
        ]);
        for is_record in [false, true] {
            let fields = vec![("a".to_owned(), inner.clone()), ("b".to_owned(), Value::Redacted)];
            values.push(content(ObjectContent::Fields { is_record, length: 7, fields }));
        }
        values.extend(primitives.map(Value::Primitive));
        values.extend(primitives.map(Value::Boxed));
        values
    }

    #[test]
    fn values_come_back_and_every_part_of_one_is_incomplete() {
        let roles =
            [Role::Argument(0), Role::Argument(255), Role::This, Role::Result, Role::Message];
        for (value, role) in values().into_iter().zip(roles.into_iter().cycle()) {
            let value = CallValue::new(role, value);
            let mut bytes = Vec::new();
            value.encode(&mut bytes);
            for len in 0..bytes.len() {
                let mut part = &bytes[..len];
                assert_eq!(CallValue::decode(&mut part), Err(Undecoded::Incomplete), "{value:?}");
                assert_eq!(part.len(), len);
            }
            bytes.push(0xEE);
            let mut rest = &bytes[..];
            assert_eq!((CallValue::decode(&mut rest), rest), (Ok(value), &[0xEE][..]));
        }
    }

    #[test]
    fn accesses_come_back_with_their_places() {
        let object = values().into_iter().map(Some).chain([None]);
        for (number, object) in (0..).zip(object) {
            let (field, index) = match number % 2 {
                0 => (MethodId::new(300), None),
                _ => (None, Some(i32::MIN + number)),
            };
            let place = Some(Box::new(Place { field, object, index }));
            let role = if number % 3 == 0 { Role::Read } else { Role::Write };
            let access = CallValue { place, ..CallValue::new(role, Value::Null) };
            let mut bytes = Vec::new();
            access.encode(&mut bytes);
            for len in 0..bytes.len() {
                let part = CallValue::decode(&mut &bytes[..len]);
                assert_eq!(part, Err(Undecoded::Incomplete), "{access:?}");
            }
            // After one without an end.
            let mut two = bytes[..bytes.len() - 2].to_vec();
            let first = two.len();
            two.extend(&bytes[..bytes.len() - 1]);
            let mut rest = &two[..];
            assert_eq!(CallValue::decode(&mut rest), Err(Undecoded::Incomplete));
            assert_eq!(rest.len(), two.len() - first, "the first one is gone");
            two.push(0);
            let mut rest = &two[..];
            assert_eq!((CallValue::decode(&mut rest), rest), (Ok(access), &[][..]));
        }
        // An argument belongs to no place.
        let mut bytes = &[0x45, 0, 1, 0, 0, 0, 0x00, 0][..];
        assert_eq!(
            CallValue::decode(&mut bytes),
            Ok(CallValue::new(Role::Argument(0), Value::Null))
        );
    }

    #[test]
    fn exceptions_come_back_with_the_places_of_handler_and_creation() {
        let exception = Identity { class: MethodId::new(300), hash: 9 };
        let text = Value::Text { units: 2, beginning: "no".to_owned() };
        for (number, message) in [text, Value::Null, Value::Redacted].into_iter().enumerate() {
            let is_known = number == 0;
            let handled = Handled {
                line: is_known.then_some(u16::MAX),
                exception,
                created_in: is_known.then(|| "a.B.c".to_owned()),
                created_at: is_known.then_some(7),
            };
            let handled = CallValue::handled(handled, message);
            let mut bytes = Vec::new();
            handled.encode(&mut bytes);
            for len in 0..bytes.len() {
                let part = CallValue::decode(&mut &bytes[..len]);
                assert_eq!(part, Err(Undecoded::Incomplete), "{handled:?}");
            }
            // After one without an end.
            let two = [&bytes[..6], &bytes].concat();
            let mut rest = &two[..];
            assert_eq!((CallValue::decode(&mut rest), rest), (Ok(handled), &[][..]));
        }
    }

    #[test]
    fn waits_come_back_with_what_is_known_of_them() {
        let object = Some(Identity { class: MethodId::new(300), hash: 9 });
        for (kind, object, holder) in [
            (WaitKind::Lock, object, Some(ThreadId::new(26))),
            (WaitKind::Sleep, None, None),
            (WaitKind::Other(-7), object, None),
        ] {
            let wait = BegunWait { kind, object, holder }.began(u64::MAX >> 1);
            let mut bytes = Vec::new();
            wait.encode(&mut bytes);
            for len in 0..bytes.len() {
                let part = CallValue::decode(&mut &bytes[..len]);
                assert_eq!(part, Err(Undecoded::Incomplete), "{wait:?}");
            }
            // After one without a time.
            let two = [&bytes[..6], &bytes].concat();
            let mut rest = &two[..];
            assert_eq!((CallValue::decode(&mut rest), rest), (Ok(wait), &[][..]));
        }
    }

    #[test]
    fn bytes_that_are_no_value_are_invalid() {
        for bytes in [
            &[0x0F, 0, 0, 0, 0, 0, 0, 0, 0, 0][..],
            &[0x0F, 0, 0, 0, 0, 0, 0, 6, 0, 0],
            // No part of an exception, a message alone, a line beyond the limits, and an exception without one.
            &[0xA0, 5],
            &[0xA0, 4],
            &[0xA5, 0, 0, 0, 1, 0],
            &[0xA9, 1, 0, 0, 0, 0, 0],
            // No part of a wait, a kind that is no number, an object without a wait, and times without one or that are none.
            &[0xB0, 5],
            &[0xB0, 0],
            &[0xB0, 1],
            &[0xB7, 3, 0, 0, 0, 0, 0, 0, 0, 0],
            &[0xB5, 4, 0, 0, 0, 0],
            &[0xC0, 0],
            &[0x40, 0],
            &[0x45, 0, 0xFF, 0xFF, 0xFF, 0xFF],
            &[0x50, 0],
            &[0x65, 0, 0, 0, 0, 0, 0x50, 0, 0x50, 0],
            &[0x0D, 0, 9, 0, 0, 0, 0],
            &[0x0A, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x02],
        ] {
            assert_eq!(CallValue::decode(&mut &*bytes), Err(INVALID), "{bytes:?}");
        }
        // Deeper than anything that is recorded.
        let mut deep = vec![0x0F, 0];
        deep.extend([0, 0, 0, 0, 0, 2, 1, 1, 0x0F].repeat(1000));
        assert_eq!(CallValue::decode(&mut &deep[..]), Err(INVALID));
        let hostile = [0x0F, 0, 0, 0, 0, 0, 0, 2, 1, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F];
        assert_eq!(CallValue::decode(&mut &hostile[..]), Err(Undecoded::Incomplete));
        // More elements than there are bytes.
        let hostile = [0x0B, 0, 0, 0, 0, 0, 0, 1, 5, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F];
        assert_eq!(CallValue::decode(&mut &hostile[..]), Err(Undecoded::Incomplete));
    }
}
