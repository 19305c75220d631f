//! Sums of times from the shapes of a thread and its marks, without its events.

use crate::dag::Dag;
use flow_codec::read::{Clock, Filtered, Selection, ThreadFile, Visit};
use flow_codec::{Error, Result};

/// Sums of times that can be added up from shapes and marks as well as from events, with the same result. They read the
/// time from a clock that lives for `'c`.
pub trait AddSampled<'c>: Visit + Sized {
    /// Returns the clock that is advanced while records are received.
    #[doc(hidden)]
    fn clock(&self) -> &'c Clock;

    /// Adds the selected calls of a thread, but no times. Returns `false` if events are needed for this; then nothing was
    /// added.
    #[doc(hidden)]
    fn add_calls(&mut self, dag: &Dag, selection: &Selection) -> bool;

    /// Sets how many calls an entry counts as: none while they are counted elsewhere.
    #[doc(hidden)]
    fn set_calls_an_entry(&mut self, calls: u64);

    /// Ends a thread: the next entry is an outermost call.
    fn end_thread(&mut self);

    /// Adds the selected calls of a thread, and ends it, from its shapes and its marks. `None` if events are needed; then
    /// nothing was added. Otherwise the error of the marks, if there is one.
    ///
    /// # Errors
    /// The marks cannot be opened.
    #[doc(hidden)]
    fn add_sampled(
        &mut self,
        dag: &Dag,
        file: &ThreadFile,
        selection: &Selection,
    ) -> Result<Option<Option<Error>>> {
        if dag.bytes() != file.bytes() || !self.add_calls(dag, selection) {
            return Ok(None);
        }
        self.set_calls_an_entry(0);
        let clock = self.clock();
        let damage = dag.visit_sampled(file, clock, &mut Filtered::new(&mut *self, selection));
        self.set_calls_an_entry(1);
        self.end_thread();
        damage.map(Some)
    }
}
