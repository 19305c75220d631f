//! The classes of exceptions that end calls, for both engines.

use flow_codec::MethodId;

use crate::recorder::Recorder;

/// Returns the id of a class, of which name and loader are known. Its name is on disk before this returns.
pub fn class_of(recorder: &Recorder, class: Option<(String, String)>) -> Option<MethodId> {
    let (name, loader) = class?;
    let id = recorder.methods().assign_class(name, loader);
    id.inspect_err(|error| recorder.stop_storing(error)).ok()
}
