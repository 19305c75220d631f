//! What engines ask of the JVM.

#![expect(unsafe_code, reason = "the pointer to a recorder that the JVM keeps for each thread")]

use std::ptr;
use std::sync::Arc;

use flow_codec::ThreadId;
use jni::sys::{jclass, jobject};

use super::java_threads::THREAD_ID;
use super::{LoadedClass, MethodHandle, Vm};
use crate::engine::{Ending, Jvm};
use crate::filter::LoaderKind;
use crate::recorder::{DescribeMethod as _, MethodFacts, RawMethod, ThreadFacts, ThreadRecorder};

impl<'a> Jvm<'a> for Vm<'a> {
    type Class = LoadedClass;
    type Method<'m>
        = MethodHandle<'m, 'a>
    where
        Self: 'm;

    fn method(&self, raw: RawMethod) -> Self::Method<'_> {
        MethodHandle { vm: self, raw }
    }

    #[inline]
    fn thread_recorder(&self) -> Result<Option<&'a ThreadRecorder>, Ending> {
        let kept = self.jvmti.thread_local().map_err(|_| Ending)?.cast::<ThreadRecorder>();
        // SAFETY: only `keep_thread_recorder` keeps pointers, from an `Arc` it leaked; only the
        // thread's own end takes it back, and that is not while another callback of it runs.
        Ok(unsafe { kept.as_ref() })
    }

    fn keep_thread_recorder(&self, recorder: Arc<ThreadRecorder>) -> Option<&'a ThreadRecorder> {
        let kept = Arc::into_raw(recorder);
        if self.jvmti.set_thread_local(kept.cast()).is_err() {
            // SAFETY: the pointer is from the line above and nobody else has seen it.
            drop(unsafe { Arc::from_raw(kept) });
            return None;
        }
        // SAFETY: as in `thread_recorder`.
        unsafe { kept.as_ref() }
    }

    fn take_thread_recorder(&self) -> Option<Arc<ThreadRecorder>> {
        let kept = self.jvmti.thread_local().ok()?.cast::<ThreadRecorder>();
        if kept.is_null() || self.jvmti.set_thread_local(ptr::null()).is_err() {
            return None;
        }
        // SAFETY: `keep_thread_recorder` leaked it, and nobody finds it any more.
        Some(unsafe { Arc::from_raw(kept) })
    }

    fn current_thread_facts(&self) -> Option<ThreadFacts> {
        self.thread_facts(self.thread)
    }

    fn current_frames(&self) -> u32 {
        self.jvmti.frame_count(self.thread).unwrap_or_default()
    }

    fn knows_threads(&self) -> bool {
        THREAD_ID.get().is_some()
    }

    fn loaded_classes(
        &self,
        select: impl Fn(&str, &[String], LoaderKind) -> bool,
    ) -> Vec<LoadedClass> {
        let selected = |class: &jclass| {
            let name = self.class_name(*class).filter(|name| !name.hidden);
            name.filter(|name| !name.binary.starts_with('[')).is_some_and(|name| {
                let types = self.types_for_filter(*class);
                select(&name.binary, &types, self.loader_of(*class).kind)
            }) && self.jvmti.is_modifiable(*class)
        };
        let mut classes = self.jvmti.loaded_classes();
        self.expect_references(classes.len());
        // In place: there may be very many classes, and no memory for another list.
        classes.retain(|class| selected(class) || self.forgets(*class));
        classes.into_iter().map(|class| LoadedClass(class.expose_provenance())).collect()
    }

    fn retransform(&self, classes: &[LoadedClass]) -> Result<(), u32> {
        let classes: Vec<jclass> = classes.iter().map(|class| class.reference()).collect();
        self.change_classes(&classes)
    }

    fn name_of(&self, class: LoadedClass) -> String {
        self.class_name(class.reference()).map_or_else(String::new, |name| name.binary)
    }

    fn current_stack(&self) -> Vec<Option<MethodFacts>> {
        let stack = self.jvmti.stack(self.thread);
        let methods = stack.into_iter().rev().map(|method| method.expose_provenance());
        methods.map(|method| self.method(RawMethod(method)).facts()).collect()
    }

    fn replaced_frames(&self) -> Vec<(ThreadId, Vec<MethodFacts>)> {
        let threads = self.jvmti.all_threads();
        self.expect_references(threads.len());
        let frames_of = |thread: jobject| {
            let id = self.thread_id(thread)?;
            let stack = self.jvmti.stack(thread);
            let replaced = stack.into_iter().rev().filter(|method| self.jvmti.is_obsolete(*method));
            let facts = replaced
                .filter_map(|method| self.method(RawMethod(method.expose_provenance())).facts());
            Some((id, facts.collect()))
        };
        threads
            .into_iter()
            .filter_map(|thread| {
                let frames = frames_of(thread);
                self.forget(thread);
                frames
            })
            .collect()
    }
}
