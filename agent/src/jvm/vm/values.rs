//! The content of objects that are recorded as values. Fields and elements are read; no Java code runs.

#![expect(unsafe_code, reason = "calls through the function table of JNI")]

use std::fmt::Write as _;
use std::ptr;

use flow_codec::format::values::{Primitive, kind};
use jni::sys::{jarray, jobject};

use super::Vm;
use super::content::{KnownField, field};
use super::handle::Versions as _;
use crate::certain::Certain as _;
use crate::sys::allocator;

/// Shorter strings take no memory of the heap.
const FEW_UNITS: usize = 128;

static ENUM_NAME: KnownField = field(c"java/lang/Enum", c"name", c"Ljava/lang/String;");
static MESSAGE: KnownField = field(c"java/lang/Throwable", c"detailMessage", c"Ljava/lang/String;");
/// By the type of the value, from 1 on.
static BOXES: [KnownField; 8] = [
    field(c"java/lang/Boolean", c"value", c"Z"),
    field(c"java/lang/Byte", c"value", c"B"),
    field(c"java/lang/Character", c"value", c"C"),
    field(c"java/lang/Short", c"value", c"S"),
    field(c"java/lang/Integer", c"value", c"I"),
    field(c"java/lang/Float", c"value", c"F"),
    field(c"java/lang/Long", c"value", c"J"),
    field(c"java/lang/Double", c"value", c"D"),
];

impl Vm<'_> {
    /// How many code units a string has, and its beginning, of at most `max` of them. Lone halves of surrogate pairs are
    /// the text `\uD800`.
    pub(in crate::jvm) fn text(&self, string: jobject, max: usize) -> Option<(u64, String)> {
        let length = self.jni().v1_1().GetStringLength;
        // SAFETY: a reference to a string, not null.
        let length = usize::try_from(unsafe { length(self.jni, string) }).ok()?;
        let wanted = length.min(max);
        let (mut few, mut many) = ([0; FEW_UNITS], Vec::new());
        let units = match few.get_mut(..wanted) {
            Some(units) => units,
            None => {
                allocator::try_reserve(&mut many, wanted).ok()?;
                many.resize(wanted, 0_u16);
                &mut many[..]
            }
        };
        let region = self.jni().v1_2().GetStringRegion;
        let count = i32::try_from(wanted).certain();
        // SAFETY: a part of this string, and room for as many units.
        unsafe { region(self.jni, string, 0, count, units.as_mut_ptr()) };
        let mut units = &*units;
        if length > wanted
            && let Some((0xD800..0xDC00, before)) = units.split_last()
        {
            // The other half is cut off.
            units = before;
        }
        let mut text = String::with_capacity(wanted);
        for unit in char::decode_utf16(units.iter().copied()) {
            match unit {
                Ok(unit) => text.push(unit),
                Err(half) => {
                    let _ = write!(text, "\\u{:04X}", half.unpaired_surrogate());
                }
            }
        }
        Some((length as u64, text))
    }

    /// How many elements an array has, and the first of them, at most `max`, if they are of this primitive type.
    pub(in crate::jvm) fn elements(
        &self,
        array: jarray,
        of: u8,
        max: usize,
    ) -> (u64, Vec<Primitive>) {
        let jni = self.jni().v1_1();
        // SAFETY: a reference to an array, not null.
        let length = unsafe { (jni.GetArrayLength)(self.jni, array) };
        let wanted = usize::try_from(length).certain().min(max);
        let count = i32::try_from(wanted).certain();
        macro_rules! region {
            ($function:ident, $zero:expr, $primitive:expr) => {{
                let mut elements = vec![$zero; wanted];
                // SAFETY: a part of this array, whose type the caller knows, and room for as many elements.
                unsafe { (jni.$function)(self.jni, array, 0, count, elements.as_mut_ptr()) };
                elements.into_iter().map($primitive).collect()
            }};
        }
        let elements = match of {
            kind::BOOLEAN => region!(GetBooleanArrayRegion, false, Primitive::Boolean),
            kind::BYTE => region!(GetByteArrayRegion, 0, Primitive::Byte),
            kind::CHAR => region!(GetCharArrayRegion, 0, Primitive::Char),
            kind::SHORT => region!(GetShortArrayRegion, 0, Primitive::Short),
            kind::INT => region!(GetIntArrayRegion, 0, Primitive::Int),
            kind::LONG => region!(GetLongArrayRegion, 0, Primitive::Long),
            kind::FLOAT => {
                region!(GetFloatArrayRegion, 0.0, |value: f32| Primitive::Float(value.to_bits()))
            }
            kind::DOUBLE => {
                region!(GetDoubleArrayRegion, 0.0, |value: f64| Primitive::Double(value.to_bits()))
            }
            _ => Vec::new(),
        };
        (u64::try_from(length).certain(), elements)
    }

    /// The value in an object of a class like `Integer`.
    pub(in crate::jvm) fn boxed(&self, object: jobject, of: u8) -> Option<Primitive> {
        let field = BOXES.get(usize::from(of.checked_sub(1)?))?;
        let field = ptr::with_exposed_provenance_mut(self.known(field)?.0);
        let jni = self.jni().v1_1();
        macro_rules! get {
            ($function:ident) => {{
                // SAFETY: the object is of the class of the field, which has this type.
                unsafe { (jni.$function)(self.jni, object, field) }
            }};
        }
        Some(match of {
            kind::BOOLEAN => Primitive::Boolean(get!(GetBooleanField)),
            kind::BYTE => Primitive::Byte(get!(GetByteField)),
            kind::CHAR => Primitive::Char(get!(GetCharField)),
            kind::SHORT => Primitive::Short(get!(GetShortField)),
            kind::INT => Primitive::Int(get!(GetIntField)),
            kind::FLOAT => Primitive::Float(get!(GetFloatField).to_bits()),
            kind::LONG => Primitive::Long(get!(GetLongField)),
            _ => Primitive::Double(get!(GetDoubleField).to_bits()),
        })
    }

    /// Returns the whole name of a constant of an enum. It identifies the constant, so `max-value=` does not cut it.
    pub(in crate::jvm) fn constant_name(&self, constant: jobject) -> Option<String> {
        /// The most bytes in the name of a field (JVMS §4.4.7).
        const MAX_NAME: usize = u16::MAX as usize;
        self.text_field(constant, &ENUM_NAME, MAX_NAME)?.map(|(_, name)| name)
    }

    /// The message that an exception was created with, or that the JVM works out for it; `Some(None)` if it has none.
    pub(in crate::jvm) fn message_of(
        &self,
        thrown: jobject,
        max: usize,
    ) -> Option<Option<(u64, String)>> {
        let created_with = self.text_field(thrown, &MESSAGE, max)?;
        Some(created_with.or_else(|| self.helpful_message(thrown, max)))
    }

    fn text_field(
        &self,
        object: jobject,
        field: &KnownField,
        max: usize,
    ) -> Option<Option<(u64, String)>> {
        let field = ptr::with_exposed_provenance_mut(self.known(field)?.0);
        let function = self.jni().v1_1().GetObjectField;
        // SAFETY: the object is of the class of the field, which is a string or null.
        let string = unsafe { function(self.jni, object, field) };
        if string.is_null() {
            return Some(None);
        }
        let text = self.text(string, max);
        self.forget(string);
        text.map(Some)
    }
}
