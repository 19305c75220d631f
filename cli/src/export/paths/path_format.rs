//! The interface of formats that add up calls by path.

use std::io;

use flow_codec::read::Trace;

use super::stacks::Stacks;

/// A format that adds up calls by path.
pub(crate) trait PathFormat {
    /// Estimates the size of the file in bytes.
    fn size(&self, stacks: &Stacks<'_>, trace: &Trace) -> u64;

    /// The most frames that the format shows on top of one another.
    fn frames(&self, stacks: &Stacks<'_>) -> usize {
        stacks.most_frames()
    }

    /// Returns whether a file without calls is valid.
    fn can_be_empty(&self) -> bool {
        true
    }

    /// Writes the file.
    ///
    /// # Errors
    /// Errors of the destination.
    fn write(&self, stacks: &Stacks<'_>, trace: &Trace, to: &mut dyn io::Write) -> io::Result<()>;
}
