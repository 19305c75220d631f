//! The values of calls that are running, until they end.

use flow_codec::format::values::CallValue;

/// The values of the open frames of a thread. Accesses to fields are left out: a call may make any number of them.
#[derive(Default, Debug)]
pub(crate) struct OpenValues {
    /// Each with the number of frames that were open, its own included.
    values: Vec<(usize, CallValue)>,
}

impl OpenValues {
    /// Adds values of the topmost of this many frames.
    pub(crate) fn add(&mut self, frames: usize, values: &[CallValue]) {
        let values = values.iter().filter(|value| !value.role.is_access());
        self.values.extend(values.map(|value| (frames, value.clone())));
    }

    /// Takes the values of the topmost of this many frames, which ends.
    #[inline]
    pub(crate) fn leave(&mut self, frames: usize) -> Vec<CallValue> {
        match self.values.last() {
            Some((last, _)) if *last >= frames => self.take_from(frames),
            _ => Vec::new(),
        }
    }

    #[cold]
    fn take_from(&mut self, frames: usize) -> Vec<CallValue> {
        let first = self.values.partition_point(|(of, _)| *of < frames);
        self.values.drain(first..).map(|(_, value)| value).collect()
    }
}
