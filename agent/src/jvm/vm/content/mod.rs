//! What is in objects: numbers, dates, collections, records, and fields of the program's own classes. It is read from fields and
//! elements: no Java code runs. What other threads change meanwhile may be read half done, so nothing is followed without limit.

#![expect(unsafe_code, reason = "calls through the function table of JNI")]

mod known;
mod plan;
mod texts;
mod waits;

use std::ptr;

use flow_codec::format::values::{Identity, ObjectContent, Primitive, Value, kind};
use jni::sys::jobject;

use self::known::Known;
pub(super) use self::known::{KnownField, field};
use self::plan::{OwnField, Plan, Reads};
use super::Vm;
use super::handle::Versions as _;
use super::java_threads::Field;
use crate::certain::Certain as _;
use crate::recorder::Recorder;

/// About how many bytes a value may have with its content: what comes after these is counted only.
const MAX_BYTES: usize = 2_048;
/// A chain in a table, or a way in a tree, is not followed further.
const MAX_STEPS: usize = 4_096;
/// Objects that only hold another one, such as a reference to itself, are not followed further. A reader knows twice as many.
const MAX_NESTED: u32 = 7;
/// How many characters of each part of an address are read.
const MAX_ADDRESS: usize = 1_000;
/// The most parts of 32 bits of an integer that are read: it has 1,233 digits then.
const MAX_DIGITS: usize = 128;

/// Reads one value.
#[derive(Debug)]
pub(in crate::jvm) struct ContentReader<'a> {
    vm: &'a Vm<'a>,
    recorder: &'a Recorder,
    /// How many elements are read.
    max: usize,
    /// How many characters are read.
    max_text: usize,
    /// How many bytes are left.
    left: usize,
    /// How many objects are being read, each inside the one before.
    nested: u32,
}

/// Receives entries of a map, or elements with `None`. Returns whether there is room for more.
type Put<'p, 'a> = dyn FnMut(&mut ContentReader<'a>, jobject, Option<jobject>) -> bool + 'p;

impl<'a> ContentReader<'a> {
    pub(in crate::jvm) fn new(
        vm: &'a Vm<'a>,
        recorder: &'a Recorder,
        max: usize,
        max_text: usize,
    ) -> Self {
        Self { vm, recorder, max, max_text, left: MAX_BYTES, nested: 0 }
    }

    /// Reads an object of which class and identity are known, and what is in it up to a depth; `None` if nothing is.
    pub(in crate::jvm) fn content(
        &mut self,
        object: jobject,
        identity: Identity,
        depth: u32,
    ) -> Option<Value> {
        let plan = self.plan(object)?;
        match plan.reads {
            Reads::Array(kind::OBJECT) if depth == 0 => None,
            Reads::Array(kind::OBJECT) | Reads::Known(_) | Reads::Fields { .. } => {
                let content = self.read(object, &plan, depth)?;
                Some(Value::Content { object: identity, content })
            }
            _ => None,
        }
    }

    /// Reads the fields of an object, if a preset names one of them.
    pub(in crate::jvm) fn fields_of_preset(
        &mut self,
        object: jobject,
        identity: Identity,
    ) -> Option<Value> {
        let plan = self.plan(object)?;
        let Reads::Fields { has_preset: true, .. } = plan.reads else { return None };
        let content = self.read(object, &plan, 1)?;
        Some(Value::Content { object: identity, content })
    }

    fn plan(&self, object: jobject) -> Option<std::sync::Arc<Plan>> {
        let class = self.vm.class_of(object)?;
        let plan = self.vm.plan(self.recorder, class);
        self.vm.forget(class);
        plan
    }

    /// Reads a part of another object, and gives the reference back.
    fn part(&mut self, object: jobject, depth: u32) -> Value {
        if object.is_null() {
            self.left = self.left.saturating_sub(1);
            return Value::Null;
        }
        let value = self.part_held(object, depth);
        self.vm.forget(object);
        let bytes = match &value {
            Value::Text { beginning, .. } => beginning.len() + 4,
            Value::Content { content: ObjectContent::Text(text), .. } => text.len() + 8,
            Value::Constant { name, .. } => name.len() + 4,
            Value::Array { elements, .. } => 12 + 4 * elements.len(),
            _ => 8,
        };
        self.left = self.left.saturating_sub(bytes);
        value
    }

    fn part_held(&mut self, object: jobject, depth: u32) -> Value {
        let Some(plan) = self.plan(object) else {
            return Value::Object(Identity { class: None, hash: 0 });
        };
        if plan.is_redacted {
            return Value::Redacted;
        }
        let class = plan.class;
        let unnamed = Identity { class, hash: 0 };
        let read = match plan.reads {
            Reads::Identity => None,
            Reads::Text => {
                let text = self.vm.text(object, self.max_text.min(self.left.max(self.max)));
                text.map(|(units, beginning)| Value::Text { units, beginning })
            }
            Reads::Boxed(of) => self.vm.boxed(object, of).map(Value::Boxed),
            Reads::Constant => {
                self.vm.constant_name(object).map(|name| Value::Constant { class, name })
            }
            Reads::Array(of) if of != kind::OBJECT => {
                let (length, elements) = self.vm.elements(object, of, self.max);
                Some(Value::Array { array: unnamed, length, elements })
            }
            // Which of several equal ones it is says little, and the JVM must be asked for it.
            Reads::Known(_) | Reads::Array(_) => {
                let content = self.read(object, &plan, depth);
                content.map(|content| Value::Content { object: unnamed, content })
            }
            Reads::Fields { .. } => self.read(object, &plan, depth).map(|content| {
                let hash = self.vm.identity(object);
                Value::Content { object: Identity { class, hash }, content }
            }),
        };
        read.unwrap_or_else(|| Value::Object(Identity { class, hash: self.vm.identity(object) }))
    }

    fn read(&mut self, object: jobject, plan: &Plan, depth: u32) -> Option<ObjectContent> {
        if self.nested == MAX_NESTED {
            return None;
        }
        self.nested += 1;
        let content = self.read_nested(object, plan, depth);
        self.nested -= 1;
        content
    }

    fn read_nested(&mut self, object: jobject, plan: &Plan, depth: u32) -> Option<ObjectContent> {
        match &plan.reads {
            Reads::Known(known) => self.known(object, *known, depth),
            Reads::Array(_) => {
                let length = self.vm.length(object);
                let put = |reader: &mut Self, put: &mut Put<'_, 'a>| {
                    reader.array(object, 0..length, |_| true, put);
                };
                Some(self.elements(length as u64, depth, put))
            }
            Reads::Fields { is_record, fields, at_any_depth, .. } if depth > 0 || *at_any_depth => {
                let (is_record, length) = (*is_record, fields.len() as u64);
                // The fields that a preset names are parts of its text, and lists of parameters.
                let depth = if *at_any_depth { depth.max(2) } else { depth };
                let mut read = Vec::new();
                for field in fields {
                    if self.left == 0 {
                        break;
                    }
                    self.left = self.left.saturating_sub(field.name.len() + 1);
                    read.push((field.name.clone(), self.own_field(object, field, depth - 1)));
                }
                Some(ObjectContent::Fields { is_record, length, fields: read })
            }
            _ => None,
        }
    }

    fn own_field(&mut self, object: jobject, field: &OwnField, depth: u32) -> Value {
        if field.is_redacted {
            return Value::Redacted;
        }
        let id = ptr::with_exposed_provenance_mut(field.id.0);
        let (jni, env) = (self.vm.jni().v1_1(), self.vm.jni);
        macro_rules! get {
            ($function:ident) => {{
                // SAFETY: the object is of the class that has the field, whose type begins like this.
                unsafe { (jni.$function)(env, object, id) }
            }};
        }
        self.left = self.left.saturating_sub(5);
        Value::Primitive(match field.kind {
            b'Z' => Primitive::Boolean(get!(GetBooleanField)),
            b'B' => Primitive::Byte(get!(GetByteField)),
            b'C' => Primitive::Char(get!(GetCharField)),
            b'S' => Primitive::Short(get!(GetShortField)),
            b'I' => Primitive::Int(get!(GetIntField)),
            b'J' => Primitive::Long(get!(GetLongField)),
            b'F' => Primitive::Float(get!(GetFloatField).to_bits()),
            b'D' => Primitive::Double(get!(GetDoubleField).to_bits()),
            _ => {
                let part = get!(GetObjectField);
                return self.part(part, depth);
            }
        })
    }

    /// Collects elements until there is no room for more, or none if nothing is read at this depth.
    fn elements(
        &mut self,
        length: u64,
        depth: u32,
        all: impl FnOnce(&mut Self, &mut Put<'_, 'a>),
    ) -> ObjectContent {
        let mut elements = Vec::new();
        if depth > 0 {
            all(self, &mut |reader, element, _| {
                elements.push(reader.part(element, depth - 1));
                elements.len() < reader.max && reader.left > 0
            });
        }
        ObjectContent::Elements { length: length.max(elements.len() as u64), elements }
    }

    fn entries(
        &mut self,
        length: u64,
        depth: u32,
        all: impl FnOnce(&mut Self, &mut Put<'_, 'a>),
    ) -> ObjectContent {
        let mut entries = Vec::new();
        if depth > 0 {
            all(self, &mut |reader, key, value| {
                let key = reader.part(key, depth - 1);
                let value = match value {
                    Some(value) if reader.redacts_value_of(&key) => {
                        reader.vm.forget(value);
                        Value::Redacted
                    }
                    Some(value) => reader.part(value, depth - 1),
                    None => Value::Null,
                };
                entries.push((key, value));
                entries.len() < reader.max && reader.left > 0
            });
        }
        ObjectContent::Entries { length: length.max(entries.len() as u64), entries }
    }

    /// Returns whether a key of a map has a name that is redacted.
    fn redacts_value_of(&self, key: &Value) -> bool {
        matches!(key, Value::Text { beginning, .. } if self.recorder.methods().filter().redacts(beginning))
    }

    fn known(&mut self, object: jobject, known: Known, depth: u32) -> Option<ObjectContent> {
        let text = |text: Option<String>| text.map(ObjectContent::Text);
        let vm = self.vm;
        let int = |field: &KnownField| vm.int_field(object, field);
        let long = |field: &KnownField| vm.long_field(object, field);
        match known {
            Known::Decimal => text(self.decimal(object)),
            Known::Integer => text(self.integer(object)),
            Known::Uuid => {
                text(Some(texts::uuid(long(&known::UUID_MOST)?, long(&known::UUID_LEAST)?)))
            }
            Known::LocalDate => text(self.date(object)),
            Known::LocalTime => text(self.time(object)),
            Known::LocalDateTime => text(self.date_time(object)),
            Known::Instant => text(Some(texts::instant(
                long(&known::INSTANT_SECONDS)?,
                int(&known::INSTANT_NANOS)?,
            ))),
            Known::Duration => text(Some(texts::duration(
                long(&known::DURATION_SECONDS)?,
                int(&known::DURATION_NANOS)?,
            ))),
            Known::OffsetDateTime => {
                let date_time = self.inside(object, &known::OFFSET_DATE_TIME, Self::date_time)?;
                let offset = self.inside(object, &known::OFFSET_OFFSET, Self::offset)?;
                text(Some(date_time + &offset))
            }
            Known::ZonedDateTime => text(self.zoned(object)),
            Known::ZoneOffset => text(self.offset(object)),
            Known::ZoneRegion => text(self.text_of(object, &known::REGION_ID)),
            Known::Date => {
                let ms = long(&known::OLD_DATE)?;
                let nanos = ms.rem_euclid(1_000) * 1_000_000;
                text(Some(texts::instant(ms.div_euclid(1_000), nanos)))
            }
            Known::Builder => text(self.builder(object)),
            Known::Class => text(self.vm.readable_name(object)),
            Known::Uri => text(self.address(object, &known::URI_TEXT)),
            Known::Url => text(self.url(object)),
            Known::AtomicInteger => text(int(&known::ATOMIC_INTEGER).map(|n| n.to_string())),
            Known::AtomicLong => text(long(&known::ATOMIC_LONG).map(|n| n.to_string())),
            Known::AtomicBoolean => text(int(&known::ATOMIC_BOOLEAN).map(|n| (n != 0).to_string())),
            Known::OptionalInt => {
                let value = Primitive::Int(i32::try_from(int(&known::OPTIONAL_INT)?).ok()?);
                self.one_number(object, &known::OPTIONAL_HAS_INT, value)
            }
            Known::OptionalLong => {
                let value = Primitive::Long(long(&known::OPTIONAL_LONG)?);
                self.one_number(object, &known::OPTIONAL_HAS_LONG, value)
            }
            Known::OptionalDouble => {
                let value = Primitive::Double(vm.double_field(object, &known::OPTIONAL_DOUBLE)?);
                self.one_number(object, &known::OPTIONAL_HAS_DOUBLE, value)
            }
            Known::Optional => self.one(object, &known::OPTIONAL, false, depth),
            Known::AtomicReference => self.one(object, &known::ATOMIC_REFERENCE, true, depth),
            Known::SingletonList => self.one(object, &known::SINGLETON_LIST, true, depth),
            Known::SingletonSet => self.one(object, &known::SINGLETON_SET, true, depth),
            Known::EmptyCollection => {
                Some(ObjectContent::Elements { length: 0, elements: Vec::new() })
            }
            Known::EmptyMap => Some(ObjectContent::Entries { length: 0, entries: Vec::new() }),
            Known::WrappedCollection(inner) | Known::WrappedMap(inner) => {
                let inner = vm.object_field(object, inner)?;
                let content = self.plan(inner).and_then(|plan| match plan.is_redacted {
                    true => None,
                    false => self.read(inner, &plan, depth),
                });
                vm.forget(inner);
                content
            }
            _ => self.collection(object, known, depth),
        }
    }

    fn collection(&mut self, object: jobject, known: Known, depth: u32) -> Option<ObjectContent> {
        let vm = self.vm;
        let count = |field: &KnownField| vm.int_field(object, field).map(i64::cast_unsigned);
        // Calls with what a field has, which it then gives back.
        macro_rules! with {
            ($field:expr, |$inner:ident| $body:expr) => {{
                let $inner = vm.object_field(object, $field)?;
                let content = $body;
                vm.forget($inner);
                Some(content)
            }};
        }
        match known {
            Known::ArrayList => {
                let size = count(&known::ARRAY_LIST_SIZE)?;
                with!(&known::ARRAY_LIST, |array| self.first_of(array, size, depth))
            }
            Known::Vector => {
                let size = count(&known::VECTOR_SIZE)?;
                with!(&known::VECTOR, |array| self.first_of(array, size, depth))
            }
            Known::ArraysList => {
                with!(&known::ARRAYS_LIST, |array| self.first_of(array, u64::MAX, depth))
            }
            Known::ListN => with!(&known::LIST_N, |array| self.first_of(array, u64::MAX, depth)),
            Known::CopyOnWriteList => {
                with!(&known::COPY_ON_WRITE, |array| self.first_of(array, u64::MAX, depth))
            }
            Known::SetN => {
                let size = count(&known::SET_N_SIZE)?;
                with!(&known::SET_N, |array| {
                    let length = vm.length(array);
                    let is_there = |element: jobject| !element.is_null();
                    self.elements(size, depth, |reader, put| {
                        reader.array(array, 0..length, is_there, put);
                    })
                })
            }
            Known::MapN => {
                let size = count(&known::MAP_N_SIZE)?;
                with!(&known::MAP_N, |array| {
                    self.entries(size, depth, |reader, put| reader.pairs(array, put))
                })
            }
            _ => self.linked(object, known, depth),
        }
    }

    /// Collections of a few elements or of nodes.
    fn linked(&mut self, object: jobject, known: Known, depth: u32) -> Option<ObjectContent> {
        let vm = self.vm;
        let count = |field: &KnownField| vm.int_field(object, field).map(i64::cast_unsigned);
        match known {
            Known::List12 => self.up_to_two(object, &known::LIST_0, &known::LIST_1, depth),
            Known::Set12 => self.up_to_two(object, &known::SET_0, &known::SET_1, depth),
            Known::Map1 => self.one_entry(object, &known::MAP_KEY, &known::MAP_VALUE, depth),
            Known::SingletonMap => {
                self.one_entry(object, &known::SINGLETON_KEY, &known::SINGLETON_VALUE, depth)
            }
            Known::LinkedList => {
                let size = count(&known::LINKED_LIST_SIZE)?;
                Some(self.elements(size, depth, |reader, put| {
                    reader.chain(
                        vm.object_field(object, &known::LINKED_LIST),
                        &known::LINKED_NEXT,
                        (&known::LINKED_ITEM, None),
                        put,
                    );
                }))
            }
            Known::ArrayDeque => self.deque(object, depth),
            Known::HashMap | Known::LinkedHashMap => {
                let size = count(&known::HASH_MAP_SIZE)?;
                Some(self.entries(size, depth, |reader, put| {
                    reader.hash_map(object, matches!(known, Known::LinkedHashMap), put);
                }))
            }
            Known::ConcurrentHashMap => {
                let size = vm.long_field(object, &known::CONCURRENT_COUNT)?.max(0).cast_unsigned();
                Some(self.entries(size, depth, |reader, put| reader.concurrent_map(object, put)))
            }
            Known::TreeMap => {
                let size = count(&known::TREE_MAP_SIZE)?;
                Some(self.entries(size, depth, |reader, put| reader.tree_map(object, put)))
            }
            Known::HashSet => self.keys(object, &known::HASH_SET, depth),
            Known::TreeSet => self.keys(object, &known::TREE_SET, depth),
            _ => None,
        }
    }

    /// The elements of a set, which are the keys of the map in this field.
    fn keys(&mut self, set: jobject, field: &KnownField, depth: u32) -> Option<ObjectContent> {
        let map = self.vm.object_field(set, field)?;
        let known = self.plan(map).and_then(|plan| match plan.reads {
            Reads::Known(known) => Some(known),
            _ => None,
        });
        let size = |field: &KnownField| self.vm.int_field(map, field).map(i64::cast_unsigned);
        let content = match known {
            Some(Known::TreeMap) => size(&known::TREE_MAP_SIZE)
                .map(|size| self.elements(size, depth, |reader, put| reader.tree_map(map, put))),
            Some(Known::HashMap | Known::LinkedHashMap) => {
                size(&known::HASH_MAP_SIZE).map(|size| {
                    let is_linked = matches!(known, Some(Known::LinkedHashMap));
                    self.elements(size, depth, |reader, put| reader.hash_map(map, is_linked, put))
                })
            }
            _ => None,
        };
        self.vm.forget(map);
        content
    }

    fn inside(
        &self,
        object: jobject,
        field: &KnownField,
        read: impl FnOnce(&Self, jobject) -> Option<String>,
    ) -> Option<String> {
        let inner = self.vm.object_field(object, field)?;
        let text = read(self, inner);
        self.vm.forget(inner);
        text
    }

    fn decimal(&self, decimal: jobject) -> Option<String> {
        let scale = i32::try_from(self.vm.int_field(decimal, &known::DECIMAL_SCALE)?).ok()?;
        let unscaled = match self.vm.long_field(decimal, &known::DECIMAL_COMPACT)? {
            // It does not fit.
            i64::MIN => self.inside(decimal, &known::DECIMAL_VALUE, Self::integer)?,
            compact => compact.to_string(),
        };
        // A text of this length would be cut.
        (scale.unsigned_abs() < 10_000).then(|| texts::decimal(&unscaled, scale))
    }

    fn integer(&self, integer: jobject) -> Option<String> {
        let sign = i32::try_from(self.vm.int_field(integer, &known::INTEGER_SIGN)?).ok()?;
        let digits = self.vm.object_field(integer, &known::INTEGER_DIGITS)?;
        let (length, elements) = self.vm.elements(digits, kind::INT, MAX_DIGITS);
        self.vm.forget(digits);
        let digits = elements.into_iter().map(|digit| match digit {
            Primitive::Int(digit) => digit.cast_unsigned(),
            _ => 0,
        });
        let digits: Vec<_> = digits.collect();
        (digits.len() as u64 == length).then(|| texts::integer(sign, &digits))
    }

    fn date(&self, date: jobject) -> Option<String> {
        let small =
            |short, byte| self.vm.int_field(date, short).or_else(|| self.vm.int_field(date, byte));
        let year = self.vm.int_field(date, &known::DATE_YEAR)?;
        let month = small(&known::DATE_MONTH, &known::DATE_MONTH_BYTE)?;
        Some(texts::date(year, month, small(&known::DATE_DAY, &known::DATE_DAY_BYTE)?))
    }

    fn time(&self, time: jobject) -> Option<String> {
        let int = |field| self.vm.int_field(time, field);
        Some(texts::time(
            int(&known::TIME_HOUR)?,
            int(&known::TIME_MINUTE)?,
            int(&known::TIME_SECOND)?,
            int(&known::TIME_NANO)?,
            false,
        ))
    }

    fn date_time(&self, date_time: jobject) -> Option<String> {
        let date = self.inside(date_time, &known::DATE_TIME_DATE, Self::date)?;
        let time = self.inside(date_time, &known::DATE_TIME_TIME, Self::time)?;
        Some(format!("{date}T{time}"))
    }

    fn offset(&self, offset: jobject) -> Option<String> {
        self.text_of(offset, &known::OFFSET_ID)
    }

    fn zoned(&self, zoned: jobject) -> Option<String> {
        let date_time = self.inside(zoned, &known::ZONED_DATE_TIME, Self::date_time)?;
        let offset = self.inside(zoned, &known::ZONED_OFFSET, Self::offset)?;
        let region = self.inside(zoned, &known::ZONED_ZONE, |reader, zone| {
            let plan = reader.plan(zone)?;
            match plan.reads {
                Reads::Known(Known::ZoneRegion) => {
                    let id = reader.text_of(zone, &known::REGION_ID)?;
                    Some(format!("[{id}]"))
                }
                _ => Some(String::new()),
            }
        })?;
        Some(date_time + &offset + &region)
    }

    fn text_of(&self, object: jobject, field: &KnownField) -> Option<String> {
        let string = self.vm.object_field(object, field)?;
        let text = self.vm.text(string, self.max);
        self.vm.forget(string);
        text.map(|(_, text)| text)
    }

    /// The text in a field that is an address or a part of one.
    fn address(&self, object: jobject, field: &KnownField) -> Option<String> {
        if self.recorder.methods().filter().redacts("java.lang.String") {
            return None;
        }
        let string = self.vm.object_field(object, field)?;
        let text = self.vm.text(string, MAX_ADDRESS);
        self.vm.forget(string);
        text.map(|(_, text)| text)
    }

    fn url(&self, url: jobject) -> Option<String> {
        let protocol = self.address(url, &known::URL_PROTOCOL)?;
        let host = self.address(url, &known::URL_AUTHORITY);
        let host = host.map_or_else(String::new, |host| format!("//{host}"));
        Some(format!("{protocol}:{host}{}", self.address(url, &known::URL_FILE)?))
    }

    fn builder(&self, builder: jobject) -> Option<String> {
        const LATIN1: i64 = 0;
        // What it holds is to become a text.
        if self.recorder.methods().filter().redacts("java.lang.String") {
            return None;
        }
        let count = self.vm.int_field(builder, &known::BUILDER_COUNT)?;
        let count = usize::try_from(count).ok()?;
        let is_latin1 = self.vm.int_field(builder, &known::BUILDER_CODER)? == LATIN1;
        let bytes = self.vm.object_field(builder, &known::BUILDER_BYTES)?;
        let shown = count.min(self.max);
        let (_, elements) =
            self.vm.elements(bytes, kind::BYTE, if is_latin1 { shown } else { 2 * shown });
        self.vm.forget(bytes);
        let bytes = elements.into_iter().map(|byte| match byte {
            Primitive::Byte(byte) => byte.cast_unsigned(),
            _ => 0,
        });
        let bytes: Vec<u8> = bytes.collect();
        let mut text = match is_latin1 {
            true => bytes.into_iter().map(char::from).collect(),
            false => {
                let units = bytes.as_chunks().0.iter().map(|unit| u16::from_ne_bytes(*unit));
                String::from_utf16_lossy(&units.collect::<Vec<_>>())
            }
        };
        if shown < count {
            text.push('…');
        }
        Some(text)
    }

    /// What a field has, if it is not null or that counts too.
    fn one(
        &mut self,
        object: jobject,
        field: &KnownField,
        counts_null: bool,
        depth: u32,
    ) -> Option<ObjectContent> {
        let element = self.vm.nullable_field(object, field)?;
        if element.is_null() && !counts_null {
            return Some(ObjectContent::Elements { length: 0, elements: Vec::new() });
        }
        Some(self.elements(1, depth.max(1), |reader, put| {
            put(reader, element, None);
        }))
    }

    fn one_number(
        &self,
        object: jobject,
        has: &KnownField,
        number: Primitive,
    ) -> Option<ObjectContent> {
        let elements = match self.vm.int_field(object, has)? {
            0 => Vec::new(),
            _ => vec![Value::Primitive(number)],
        };
        Some(ObjectContent::Elements { length: elements.len() as u64, elements })
    }

    fn one_entry(
        &mut self,
        object: jobject,
        key: &KnownField,
        value: &KnownField,
        depth: u32,
    ) -> Option<ObjectContent> {
        let vm = self.vm;
        Some(self.entries(1, depth, |reader, put| {
            if let Some(key) = vm.nullable_field(object, key) {
                put(reader, key, vm.nullable_field(object, value));
            }
        }))
    }

    /// A list or set of one or two elements. Of one, the other place has a plain object of the JDK's.
    fn up_to_two(
        &mut self,
        object: jobject,
        first: &KnownField,
        second: &KnownField,
        depth: u32,
    ) -> Option<ObjectContent> {
        let vm = self.vm;
        let other = vm.object_field(object, second);
        let class = other.and_then(|other| vm.class_of(other));
        let name = class.and_then(|class| vm.class_name(class));
        other.into_iter().chain(class).for_each(|reference| vm.forget(reference));
        let has_two = name.is_some_and(|name| name.binary != "java.lang.Object");
        let fields = [Some(first), has_two.then_some(second)];
        Some(self.elements(1 + u64::from(has_two), depth, |reader, put| {
            for field in fields.into_iter().flatten() {
                let element = vm.nullable_field(object, field);
                if element.is_none_or(|element| !put(reader, element, None)) {
                    break;
                }
            }
        }))
    }

    /// The first elements of an array.
    fn first_of(&mut self, array: jobject, size: u64, depth: u32) -> ObjectContent {
        let length = self.vm.length(array);
        let length = usize::try_from(size).unwrap_or(usize::MAX).min(length);
        self.elements(length as u64, depth, |reader, put| {
            reader.array(array, 0..length, |_| true, put);
        })
    }

    /// Elements of an array that count.
    fn array(
        &mut self,
        array: jobject,
        range: impl IntoIterator<Item = usize>,
        counts: impl Fn(jobject) -> bool,
        put: &mut Put<'_, 'a>,
    ) {
        let mut nulls = 0;
        for index in range {
            let Some(element) = self.vm.element(array, index) else { return };
            if !counts(element) {
                nulls += 1;
                if nulls > MAX_STEPS {
                    return;
                }
                self.vm.forget(element);
            } else if !put(self, element, None) {
                return;
            }
        }
    }

    /// Keys and values that alternate in an array.
    fn pairs(&mut self, array: jobject, put: &mut Put<'_, 'a>) {
        let length = self.vm.length(array).min(2 * MAX_STEPS);
        for index in (0..length).step_by(2) {
            let (key, value) = (self.vm.element(array, index), self.vm.element(array, index + 1));
            let (Some(key), Some(value)) = (key, value) else { return };
            if key.is_null() {
                self.vm.forget(value);
            } else if !put(self, key, Some(value)) {
                return;
            }
        }
    }

    /// What the nodes of a chain have, and gives them back. Returns whether there is room for more.
    fn chain(
        &mut self,
        mut node: Option<jobject>,
        next: &KnownField,
        (key, value): (&KnownField, Option<&KnownField>),
        put: &mut Put<'_, 'a>,
    ) -> bool {
        let mut has_room = true;
        for _ in 0..MAX_STEPS {
            let Some(at) = node else { break };
            if let Some(key) = self.vm.nullable_field(at, key) {
                let value = value.and_then(|value| self.vm.nullable_field(at, value));
                has_room = put(self, key, value);
            }
            node = has_room.then(|| self.vm.object_field(at, next)).flatten();
            self.vm.forget(at);
        }
        node.into_iter().for_each(|node| self.vm.forget(node));
        has_room
    }

    fn hash_map(&mut self, map: jobject, is_linked: bool, put: &mut Put<'_, 'a>) {
        let parts = (&known::HASH_KEY, Some(&known::HASH_VALUE));
        if is_linked {
            let first = self.vm.object_field(map, &known::LINKED_MAP);
            self.chain(first, &known::LINKED_AFTER, parts, put);
            return;
        }
        let Some(table) = self.vm.object_field(map, &known::HASH_MAP) else { return };
        let length = self.vm.length(table).min(16 * MAX_STEPS);
        for index in 0..length {
            let node = self.vm.element(table, index).filter(|node| !node.is_null());
            if node.is_some() && !self.chain(node, &known::HASH_NEXT, parts, put) {
                break;
            }
        }
        self.vm.forget(table);
    }

    fn concurrent_map(&mut self, map: jobject, put: &mut Put<'_, 'a>) {
        let parts = (&known::CONCURRENT_KEY, Some(&known::CONCURRENT_VALUE));
        let Some(table) = self.vm.object_field(map, &known::CONCURRENT) else { return };
        let length = self.vm.length(table).min(16 * MAX_STEPS);
        for index in 0..length {
            let node = self.vm.element(table, index).filter(|node| !node.is_null());
            let Some(node) = node else { continue };
            // Others stand for trees, and for a table that grows.
            let is_plain =
                self.vm.int_field(node, &known::CONCURRENT_HASH).is_some_and(|hash| hash >= 0);
            if !is_plain {
                self.vm.forget(node);
            } else if !self.chain(Some(node), &known::CONCURRENT_NEXT, parts, put) {
                break;
            }
        }
        self.vm.forget(table);
    }

    /// The entries of a tree in their order.
    fn tree_map(&mut self, map: jobject, put: &mut Put<'_, 'a>) {
        let mut path: Vec<jobject> = Vec::new();
        let mut next = self.vm.object_field(map, &known::TREE_MAP);
        for _ in 0..MAX_STEPS {
            // A tree of this depth has been changed while it was read.
            if let Some(node) = next.filter(|_| path.len() < 64) {
                next = self.vm.object_field(node, &known::TREE_LEFT);
                path.push(node);
                continue;
            }
            let Some(node) = path.pop() else { break };
            let key = self.vm.nullable_field(node, &known::TREE_KEY);
            let value = self.vm.nullable_field(node, &known::TREE_VALUE);
            let has_room = key.is_none_or(|key| put(self, key, value));
            next = self.vm.object_field(node, &known::TREE_RIGHT).filter(|_| has_room);
            self.vm.forget(node);
            if !has_room {
                break;
            }
        }
        path.into_iter().chain(next).for_each(|node| self.vm.forget(node));
    }

    fn deque(&mut self, deque: jobject, depth: u32) -> Option<ObjectContent> {
        let index = |field| usize::try_from(self.vm.int_field(deque, field)?).ok();
        let (head, tail) = (index(&known::DEQUE_HEAD)?, index(&known::DEQUE_TAIL)?);
        let array = self.vm.object_field(deque, &known::DEQUE)?;
        let length = self.vm.length(array);
        let size = if tail >= head { tail - head } else { (length + tail).saturating_sub(head) };
        let content = self.elements(size as u64, depth, |reader, put| {
            let at =
                (head..head.saturating_add(size)).map(|at| at.checked_rem(length).unwrap_or(0));
            reader.array(array, at, |_| true, put);
        });
        self.vm.forget(array);
        Some(content)
    }
}

impl Vm<'_> {
    /// What a field of an object has: a number of at most 32 bits, or a truth value.
    pub(super) fn int_field(&self, object: jobject, field: &KnownField) -> Option<i64> {
        let id = ptr::with_exposed_provenance_mut(self.known(field)?.0);
        let jni = self.jni().v1_1();
        macro_rules! get {
            ($function:ident) => {{
                // SAFETY: the object is of the class of the field, which has this type.
                unsafe { (jni.$function)(self.jni, object, id) }
            }};
        }
        Some(match field.descriptor.to_bytes() {
            b"Z" => get!(GetBooleanField).into(),
            b"B" => get!(GetByteField).into(),
            b"S" => get!(GetShortField).into(),
            b"I" => get!(GetIntField).into(),
            _ => return None,
        })
    }

    fn long_field(&self, object: jobject, field: &KnownField) -> Option<i64> {
        debug_assert_eq!(field.descriptor, c"J");
        let id = ptr::with_exposed_provenance_mut(self.known(field)?.0);
        // SAFETY: the object is of the class of the field, which is a `long`.
        Some(unsafe { (self.jni().v1_1().GetLongField)(self.jni, object, id) })
    }

    /// The bits of a `double`.
    fn double_field(&self, object: jobject, field: &KnownField) -> Option<u64> {
        debug_assert_eq!(field.descriptor, c"D");
        let id = ptr::with_exposed_provenance_mut(self.known(field)?.0);
        // SAFETY: the object is of the class of the field, which is a `double`.
        Some(unsafe { (self.jni().v1_1().GetDoubleField)(self.jni, object, id) }.to_bits())
    }

    /// A reference to what a field has, which may be null.
    fn nullable_field(&self, object: jobject, field: &KnownField) -> Option<jobject> {
        debug_assert!(
            field.descriptor.to_bytes().starts_with(b"L")
                || field.descriptor.to_bytes().starts_with(b"[")
        );
        let id = ptr::with_exposed_provenance_mut(self.known(field)?.0);
        // SAFETY: the object is of the class of the field, which is a reference.
        Some(unsafe { (self.jni().v1_1().GetObjectField)(self.jni, object, id) })
    }

    /// A reference to what a field has, unless that is null.
    pub(super) fn object_field(&self, object: jobject, field: &KnownField) -> Option<jobject> {
        self.nullable_field(object, field).filter(|object| !object.is_null())
    }

    pub(super) fn length(&self, array: jobject) -> usize {
        // SAFETY: a reference to an array, not null.
        let length = unsafe { (self.jni().v1_1().GetArrayLength)(self.jni, array) };
        usize::try_from(length).certain()
    }

    /// A reference to an element of an array of references, which may be null; `None` if there is no such element.
    pub(super) fn element(&self, array: jobject, index: usize) -> Option<jobject> {
        let index = i32::try_from(index).ok()?;
        // SAFETY: a reference to an array of references; the JVM checks the index.
        let element = unsafe { (self.jni().v1_1().GetObjectArrayElement)(self.jni, array, index) };
        self.unless_called(element)
    }

    /// What `System.identityHashCode` returns for an object.
    pub(super) fn identity(&self, object: jobject) -> u32 {
        self.jvmti.hash_code(object).unwrap_or_default().cast_unsigned()
    }

    pub(super) fn known(&self, known: &KnownField) -> Option<Field> {
        if let Some(id) = known.id.get() {
            return *id;
        }
        let class = self.find_class(known.class);
        let id = class.and_then(|class| {
            let id = self.field(class, known.name, known.descriptor);
            self.forget(class);
            id
        });
        *known.id.get_or_init(|| id)
    }
}
