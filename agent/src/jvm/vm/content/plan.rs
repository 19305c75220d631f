//! How objects of each class are read. A class is judged once: its number is in its tag.

use std::sync::Arc;

use flow_codec::format::values::kind;
use flow_codec::{MethodId, Name};
use jni::sys::jclass;
use parking_lot::RwLock;

use super::super::Vm;
use super::super::java_threads::Field;
use super::known::Known;
use crate::engine::exceptions;
use crate::filter::LoaderKind;
use crate::jvm::vm::ClassName;
use crate::recorder::Recorder;

/// How objects of a class are read.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) class: Option<MethodId>,
    pub(super) is_redacted: bool,
    pub(super) reads: Reads,
}

/// What is read of an object.
#[derive(Debug)]
pub(super) enum Reads {
    /// Which object it is.
    Identity,
    Text,
    /// Of a class like `Integer`, with this type.
    Boxed(u8),
    Constant,
    /// Elements of this type.
    Array(u8),
    Known(Known),
    Fields {
        is_record: bool,
        /// The fields are those that a preset names, which a text consists of.
        at_any_depth: bool,
        /// A preset names some of the fields.
        has_preset: bool,
        fields: Vec<OwnField>,
    },
}

/// A field of the program's.
#[derive(Debug)]
pub(super) struct OwnField {
    pub(super) name: String,
    pub(super) id: Field,
    /// The first character of its descriptor.
    pub(super) kind: u8,
    pub(super) is_redacted: bool,
}

/// More classes than this are judged again each time.
const MAX_PLANS: usize = 1 << 16;
/// More fields of an object are not read.
const MAX_FIELDS: usize = 32;
/// The bits of a tag that are the number of a plan; those above are its generation.
const NUMBER_BITS: u32 = 17;

/// The plans of the filter of a recording.
#[derive(Debug)]
struct Plans {
    generation: u64,
    plans: Vec<Arc<Plan>>,
}

static PLANS: RwLock<Plans> = RwLock::new(Plans { generation: 0, plans: Vec::new() });

impl Vm<'_> {
    /// Returns how objects of a class are read.
    pub(super) fn plan(&self, recorder: &Recorder, class: jclass) -> Option<Arc<Plan>> {
        let generation = recorder.methods().filter_generation();
        let tag = self.jvmti.tag(class)?.cast_unsigned();
        let number = usize::try_from(tag & ((1 << NUMBER_BITS) - 1)).ok()?;
        if tag >> NUMBER_BITS == generation
            && let plans = PLANS.read()
            && plans.generation == generation
            && let Some(plan) = number.checked_sub(1).and_then(|number| plans.plans.get(number))
        {
            return Some(Arc::clone(plan));
        }
        let plan = Arc::new(self.new_plan(recorder, class)?);
        let mut plans = PLANS.write();
        if plans.generation < generation {
            *plans = Plans { generation, plans: Vec::new() };
        }
        if plans.generation == generation && plans.plans.len() < MAX_PLANS {
            plans.plans.push(Arc::clone(&plan));
            let tag = generation << NUMBER_BITS | plans.plans.len() as u64;
            self.jvmti.set_tag(class, tag.cast_signed());
        }
        Some(plan)
    }

    fn new_plan(&self, recorder: &Recorder, class: jclass) -> Option<Plan> {
        let name = self.class_name(class)?;
        let ClassName { binary, hidden } = &name;
        let loader = self.loader_of(class);
        let reads = match binary.strip_prefix('[') {
            Some(element) => Reads::Array(of_descriptor(element)),
            None if *hidden => Reads::Identity,
            None => self.reads_of(recorder, class, binary, loader.kind),
        };
        let is_redacted = recorder.methods().filter().redacts(binary);
        let name = name.without_number().to_owned();
        let class = exceptions::class_of(recorder, Some((name, loader.label)));
        Some(Plan { class, is_redacted, reads })
    }

    fn reads_of(
        &self,
        recorder: &Recorder,
        class: jclass,
        name: &str,
        loader: LoaderKind,
    ) -> Reads {
        if let Some(reads) = of_name(name) {
            return reads;
        }
        let mut fields = Vec::new();
        let mut is_record = false;
        let mut next = self.superclass(class);
        let is_preset = self.has_preset_fields(recorder, name);
        let mut is_own = recorder.methods().may_have_fields_of(name, loader);
        let mut has_preset = is_preset;
        if is_own || is_preset {
            self.add_fields(recorder, class, name, &mut fields);
        }
        while let Some(class) = next {
            let name = self.class_name(class).map_or_else(String::new, |name| name.binary);
            let loader = self.loader_of(class).kind;
            let reads = of_name(&name);
            is_record |= name == "java.lang.Record";
            is_own &= loader == LoaderKind::Application;
            let is_preset = self.has_preset_fields(recorder, &name);
            has_preset |= is_preset;
            if (is_own || is_preset) && reads.is_none() {
                self.add_fields(recorder, class, &name, &mut fields);
            }
            next = self.superclass(class);
            self.forget(class);
            // A class that extends a list is read as a list, and the classes of constants extend their enum.
            if let Some(reads) = reads {
                next.into_iter().for_each(|class| self.forget(class));
                return reads;
            }
        }
        match fields.is_empty() && !is_record {
            true => Reads::Identity,
            // Also in a class of the application: a text needs them, however deep.
            false => Reads::Fields { is_record, fields, at_any_depth: has_preset, has_preset },
        }
    }

    fn has_preset_fields(&self, recorder: &Recorder, class: &str) -> bool {
        recorder.methods().filter().presets.have_fields_of(class)
    }

    /// Adds the fields of a class that its objects have, and the compiler did not add.
    fn add_fields(
        &self,
        recorder: &Recorder,
        class: jclass,
        class_name: &str,
        fields: &mut Vec<OwnField>,
    ) {
        const STATIC: i32 = 0x0008;
        const SYNTHETIC: i32 = 0x1000;
        let ids = self.jvmti.class_fields(class).into_iter();
        let known: Vec<_> =
            ids.filter_map(|id| self.jvmti.field(class, id).map(|field| (id, field))).collect();
        // Held only now: the JVM may stop this thread where it is asked.
        let filter = recorder.methods().filter();
        let redacts_all = filter.redacts(class_name);
        let only_presets = filter.presets.have_fields_of(class_name);
        for (id, (name, descriptor, modifiers)) in known {
            if modifiers & (STATIC | SYNTHETIC) != 0
                || fields.len() == MAX_FIELDS
                || (only_presets && !filter.presets.have_field(class_name, &name))
            {
                continue;
            }
            let type_name = flow_codec::type_name(&descriptor).unwrap_or_default();
            let field = Name::new(class_name, &name, "");
            let is_redacted = redacts_all
                || filter.redacts_parameter(Some(&name), &type_name)
                || filter.redacts_all_of(field);
            let kind = descriptor.bytes().next().unwrap_or_default();
            let id = Field(id.expose_provenance());
            fields.push(OwnField { name, id, kind, is_redacted });
        }
    }
}

fn of_name(name: &str) -> Option<Reads> {
    Some(match name {
        "java.lang.String" => Reads::Text,
        "java.lang.Boolean" => Reads::Boxed(kind::BOOLEAN),
        "java.lang.Byte" => Reads::Boxed(kind::BYTE),
        "java.lang.Character" => Reads::Boxed(kind::CHAR),
        "java.lang.Short" => Reads::Boxed(kind::SHORT),
        "java.lang.Integer" => Reads::Boxed(kind::INT),
        "java.lang.Float" => Reads::Boxed(kind::FLOAT),
        "java.lang.Long" => Reads::Boxed(kind::LONG),
        "java.lang.Double" => Reads::Boxed(kind::DOUBLE),
        "java.lang.Enum" => Reads::Constant,
        _ => Reads::Known(Known::of(name)?),
    })
}

/// The type of elements with this descriptor.
fn of_descriptor(descriptor: &str) -> u8 {
    match descriptor {
        "Z" => kind::BOOLEAN,
        "B" => kind::BYTE,
        "C" => kind::CHAR,
        "S" => kind::SHORT,
        "I" => kind::INT,
        "F" => kind::FLOAT,
        "J" => kind::LONG,
        "D" => kind::DOUBLE,
        _ => kind::OBJECT,
    }
}
