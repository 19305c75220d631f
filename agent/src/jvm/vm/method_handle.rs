//! Methods of events.

use std::ptr;

use flow_codec::format::methods::{MethodInfo, flag_names};
use jvmti_rs::sys;

use super::Vm;
use super::signature::class_name;
use crate::recorder::{DescribeMethod, MethodFacts, RawMethod};
use crate::rewrite::{SourceMap, is_accessor, is_visibility_bridge};

/// One method of an event.
#[derive(Clone, Copy, Debug)]
pub struct MethodHandle<'v, 'a> {
    pub(super) vm: &'v Vm<'a>,
    pub(super) raw: RawMethod,
}

impl MethodHandle<'_, '_> {
    fn id(&self) -> sys::jmethodID {
        ptr::with_exposed_provenance_mut(self.raw.0)
    }

    /// Returns `false` without the capabilities, without which no filter leaves synthetic methods out.
    fn is_visibility_bridge(&self, access: u32, name: &str, descriptor: &str, code: &[u8]) -> bool {
        let Vm { jvmti, .. } = *self.vm;
        let Some(class) = jvmti.declaring_class(self.id()) else { return false };
        let constants = jvmti.constants(class);
        self.vm.forget(class);
        constants.is_some_and(|(count, constants)| {
            is_visibility_bridge(access, (name, descriptor), code, (count, &constants))
        })
    }
}

impl DescribeMethod for MethodHandle<'_, '_> {
    fn facts(&self) -> Option<MethodFacts> {
        const NATIVE: u32 = 0x0100;
        const BRIDGE: u32 = 0x0040;
        const SYNTHETIC: u32 = 0x1000;
        let Vm { jvmti, .. } = *self.vm;
        let (name, descriptor) = jvmti.method_name(self.id())?;
        let access = jvmti.modifiers(self.id())?;
        let class = jvmti.declaring_class(self.id())?;
        let class_name = jvmti.class_signature(class).map(|signature| class_name(&signature));
        let loader = self.vm.loader_of(class);
        let types = self.vm.types_for_filter(class);
        self.vm.forget(class);
        let class_name = class_name?;
        // Empty without the capability, without which no filter leaves accessors out.
        let code = jvmti.bytecodes(self.id()).unwrap_or_default();
        let accessor = is_accessor(&name, &descriptor, access, &code);
        let synthetic = access & SYNTHETIC != 0
            && !(access & BRIDGE != 0
                && self.is_visibility_bridge(access, &name, &descriptor, &code));
        let mut flags = flag_names(access);
        if class_name.hidden {
            flags.push("hidden".into());
        }
        Some(MethodFacts {
            info: MethodInfo {
                class: class_name.binary,
                name,
                descriptor,
                source: None,
                line: None,
                loader: loader.label,
                flags,
                ..MethodInfo::default()
            },
            loader: loader.kind,
            types,
            native: access & NATIVE != 0,
            synthetic,
            accessor,
            hidden: class_name.hidden,
        })
    }

    fn locate(&self, info: &mut MethodInfo) {
        let Vm { jvmti, .. } = *self.vm;
        let mut lines = jvmti.lines(self.id());
        lines.sort_by_key(|(start, _)| *start);
        let lines: Vec<u32> = lines.into_iter().map(|(_, line)| line).collect();
        info.line = lines.first().copied();
        let Some(class) = jvmti.declaring_class(self.id()) else { return };
        info.source = jvmti.source_file(class);
        info.interface = self.vm.interface_of_proxy(class, &info.name).map(Into::into);
        let map = jvmti.source_debug_extension(class);
        self.vm.forget(class);
        if let Some(map) = map.and_then(|text| SourceMap::parse(text.as_bytes())) {
            map.locate(&lines, info);
        }
    }
}
