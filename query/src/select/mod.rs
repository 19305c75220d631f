//! What a question is about: threads, tests, methods and times, as a person names them, and the calls of a trace that these
//! are.

mod call;
mod code;
mod comparison;
mod context;
mod filter;
mod own;
mod pattern;
mod selected;
mod test_runs;
mod threads;
mod time_texts;
mod times;
mod value_conditions;

pub use self::call::CallPlace;
pub use self::context::ContextPattern;
pub use self::filter::Filter;
pub use self::pattern::methods;
pub use self::selected::Selected;
pub use self::test_runs::{Tests, outcome};
pub use self::threads::{Threads, thread_name, thread_title};
pub use self::time_texts::nanoseconds;
pub(crate) use self::times::expect_clock;
pub use self::value_conditions::ValueCondition;

#[doc(hidden)]
pub use self::{
    code::methods_at,
    comparison::{NumberOrder, Operator, TextTest},
    own::{Library, largest_library, named_patterns, own_patterns},
    pattern::{check, globs, is_in, methods_of, nearest, unmatched},
    selected::{bytes_read, start_ns},
    test_runs::{result_rank, test_of, threads_of_test},
    threads::{file_title, is_thread},
    time_texts::window,
    times::{expect_times, has_clock},
    value_conditions::THROWN,
};

use std::ops::Range;

use flow_codec::read::{TimeLimits, Trace};

use crate::Error;

/// The selection of calls, as a person describes it: by thread, by test, by method and by time. Without any, all calls are
/// selected.
///
/// ```
/// use flow_query::select::Select;
///
/// let select = Select::all().thread("pool-*").include("com.app.**").during("1.5s..2s")?.at_least("5ms")?;
/// # Ok::<(), flow_query::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Select {
    pub(crate) threads: Threads,
    pub(crate) tests: Tests,
    pub(crate) filter: Filter,
    pub(crate) call: Option<CallPlace>,
    pub(crate) request: Option<CallPlace>,
    pub(crate) context: Option<ContextPattern>,
    pub(crate) limits: TimeLimits,
}

impl Default for Select {
    fn default() -> Self {
        let (threads, tests, filter) = (Threads::default(), Tests::default(), Filter::default());
        let (call, request, context) = (None, None, None);
        Self { threads, tests, filter, call, request, context, limits: TimeLimits::NONE }
    }
}

impl Select {
    /// Selects all calls.
    #[must_use]
    pub fn all() -> Self {
        Self::default()
    }

    /// Selects these threads, instead of those before.
    #[must_use]
    pub fn in_threads(self, threads: Threads) -> Self {
        Self { threads, ..self }
    }

    /// Selects what these tests called, instead of those before.
    #[must_use]
    pub fn in_tests(self, tests: Tests) -> Self {
        Self { tests, ..self }
    }

    /// Selects calls of these methods, instead of those before.
    #[must_use]
    pub fn of_methods(self, filter: Filter) -> Self {
        Self { filter, ..self }
    }

    /// Selects a call with all that it called, instead of the one before.
    #[must_use]
    pub fn in_call(self, call: Option<CallPlace>) -> Self {
        Self { call, ..self }
    }

    /// Selects a call with all that it called, and what it handed to other threads, instead of the one before.
    #[must_use]
    pub fn in_request(self, request: Option<CallPlace>) -> Self {
        Self { request, ..self }
    }

    /// Selects what happened while a key of a context had a value, and what was handed to other threads then, instead of the one
    /// before.
    #[must_use]
    pub fn in_context(self, context: Option<ContextPattern>) -> Self {
        Self { context, ..self }
    }

    /// Selects calls by time and duration.
    #[must_use]
    pub fn within(self, limits: TimeLimits) -> Self {
        Self { limits, ..self }
    }

    /// Selects this thread, and those that were named before: its id, or its name, with `*` for any text.
    #[must_use]
    pub fn thread(mut self, pattern: &str) -> Self {
        self.threads.add(pattern);
        self
    }

    /// Selects what this test called, and those that were named before: its name, with `*` for any text.
    #[must_use]
    pub fn test(mut self, pattern: &str) -> Self {
        self.tests.add(pattern);
        self
    }

    /// Selects calls of methods that match this pattern, or one of those before: `pkg.Class`, `pkg.Class#method`,
    /// `Class#method(int)`. `*` matches within a package, `**` across packages. Callees of other calls move up to their callers.
    #[must_use]
    pub fn include(mut self, pattern: &str) -> Self {
        self.filter.include.push(pattern.to_owned());
        self
    }

    /// Leaves out calls of methods that match this pattern; their callees move up to their callers.
    #[must_use]
    pub fn exclude(mut self, pattern: &str) -> Self {
        self.filter.exclude.push(flow_codec::Glob::new(pattern));
        self
    }

    /// Selects calls of the application, without libraries.
    #[must_use]
    pub fn own(mut self) -> Self {
        self.filter.own = true;
        self
    }

    /// Selects what happened between two times since the start of the trace, such as `1.5s..2s` or `..2s`.
    ///
    /// # Errors
    /// The text is no range of time.
    pub fn during(mut self, range: &str) -> Result<Self, Error> {
        let Range { start, end } = window(range)?;
        (self.limits.from_ns, self.limits.to_ns) = (start, end);
        Ok(self)
    }

    /// Leaves out calls shorter than a time such as `5ms`. Their time counts as their caller's.
    ///
    /// # Errors
    /// The text is no time.
    pub fn at_least(mut self, duration: &str) -> Result<Self, Error> {
        self.limits.min_ns = nanoseconds(duration)?;
        Ok(self)
    }

    /// The selected calls of a trace.
    ///
    /// # Errors
    /// The selection depends on times, and the trace has none.
    pub(crate) fn of_trace(&self, trace: &Trace) -> Result<Selected, Error> {
        if self.limits != TimeLimits::NONE {
            expect_clock(trace)?;
        }
        Ok(Selected { selection: self.filter.selection(trace), limits: self.limits })
    }
}
