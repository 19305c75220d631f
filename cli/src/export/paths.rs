//! What a format of calls that are added up by path has to do.

use std::io;

use flow_codec::read::Trace;

use super::stacks::Stacks;

/// A format of calls that are added up by path.
pub(crate) trait Paths {
    /// About how many bytes it would have, before one is made.
    fn size(&self, stacks: &Stacks<'_>, trace: &Trace) -> u64;

    /// The most frames on top of one another that it shows.
    fn frames(&self, stacks: &Stacks<'_>) -> usize {
        stacks.most_frames()
    }

    /// Whether there is such a thing without a call.
    fn can_be_empty(&self) -> bool {
        true
    }

    /// Writes it.
    ///
    /// # Errors
    /// Those of the destination.
    fn write(&self, stacks: &Stacks<'_>, trace: &Trace, to: &mut dyn io::Write) -> io::Result<()>;
}
