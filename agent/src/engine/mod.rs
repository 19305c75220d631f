//! How calls are seen. An engine turns events of the JVM into recorder calls; the rest of the agent does not
//! know which engine runs.

pub mod events;
pub mod exceptions;
pub mod instrument;
pub mod sample;
mod skip_list;
pub mod waits;

use std::sync::Arc;

use flow_codec::ThreadId;

use crate::filter::LoaderKind;
use crate::recorder::{
    DescribeMethod, MethodFacts, RawMethod, Recorder, ThreadFacts, ThreadRecorder,
};

/// The JVM has stopped answering, because it is ending.
#[derive(Clone, Copy, Debug)]
pub struct Ending;

/// What an engine asks the JVM, from a callback that lasts for `'a`.
pub trait Jvm<'a> {
    /// A loaded class.
    type Class: Copy;

    /// A method of an event, to be described while its class is alive.
    type Method<'m>: DescribeMethod
    where
        Self: 'm;

    /// Returns a method of an event.
    fn method(&self, raw: RawMethod) -> Self::Method<'_>;

    /// Returns the recorder that is kept for the current thread, if there is one.
    ///
    /// # Errors
    /// The JVM is ending, and so is the recording.
    fn thread_recorder(&self) -> Result<Option<&'a ThreadRecorder>, Ending>;

    /// Keeps a recorder for the current thread; `None` if the JVM refuses.
    fn keep_thread_recorder(&self, recorder: Arc<ThreadRecorder>) -> Option<&'a ThreadRecorder>;

    /// Takes back the recorder that is kept for the current thread.
    fn take_thread_recorder(&self) -> Option<Arc<ThreadRecorder>>;

    /// Describes the current thread, except for its frames; `None` if the JVM does not say which one it is.
    fn current_thread_facts(&self) -> Option<ThreadFacts>;

    /// Returns how many frames the current thread has. The JVM walks its whole stack.
    fn current_frames(&self) -> u32;

    /// Returns whether threads can be distinguished: not before VMStart has been handled.
    fn knows_threads(&self) -> bool;

    /// Returns the loaded classes that `select` accepts and that can be changed. It gets the name, the supertypes that the filter
    /// is about, and the loader.
    fn loaded_classes(
        &self,
        select: impl Fn(&str, &[String], LoaderKind) -> bool,
    ) -> Vec<Self::Class>;

    /// Passes classes through the class file hooks again. All of them or none.
    ///
    /// # Errors
    /// The number of the JVMTI error.
    fn retransform(&self, classes: &[Self::Class]) -> Result<(), u32>;

    /// Returns the name of a loaded class.
    fn name_of(&self, class: Self::Class) -> String;

    /// Describes the methods that the current thread is in, outermost first, as far as the JVM knows them.
    fn current_stack(&self) -> Vec<Option<MethodFacts>>;

    /// Returns the live platform threads, each with the methods it is in that have been replaced since it
    /// entered them, outermost first.
    fn replaced_frames(&self) -> Vec<(ThreadId, Vec<MethodFacts>)>;
}

/// Describes the current thread, which is about to record. The frames of a virtual thread, of which there may be
/// many more than calls, are counted only if exits of frames may follow whose entries were not recorded.
fn starting_thread<'a>(recorder: &Recorder, vm: &impl Jvm<'a>) -> Option<ThreadFacts> {
    // Asked before the pause that may follow: the frames of the thread are those that it has here.
    let are_old = recorder.may_have_old_frames();
    let facts = vm.current_thread_facts()?;
    let frames = if facts.is_virtual && !are_old { 0 } else { vm.current_frames() };
    Some(ThreadFacts { frames, ..facts })
}
