//! What the page has beside charts: the tests that ran, the requests that were served, what threads handed to each other, and what
//! all threads did in one order.

pub(super) mod handed;
mod merged;
pub(super) mod ran_tests;
mod requests;

use flow_codec::read::{StackSamples, Trace};
use flow_query::reading::{Listener, Selected};
use flow_query::select::Select;
use serde::Serialize;

use self::handed::{HandedParts, PageHandOvers};
use self::merged::PageMerged;
use self::ran_tests::{PageTests, TestCalls};
use self::requests::PageRequests;
use super::names::PageMethods;
use crate::failure::Failure;
use crate::output::Labels;

/// What a page shows: which calls, how they are named, and samples.
type Shown<'a> =
    ((&'a Selected, Select), (&'a PageMethods, &'a Labels<'a>), Option<&'a StackSamples>);

/// The panels of a page.
#[derive(Serialize)]
pub(super) struct Panels {
    tests: PageTests,
    requests: PageRequests,
    merged: PageMerged,
    handed: PageHandOvers,
}

impl Panels {
    /// Reads what is selected of a trace.
    ///
    /// # Errors
    /// A question cannot be asked.
    pub(super) fn read(
        trace: &Trace,
        ((chosen, select), (names, labels), samples): Shown<'_>,
        (of_tests, handed): (TestCalls, HandedParts),
        is_filtered: bool,
        listener: &mut impl Listener,
    ) -> Result<Self, Failure> {
        let tests = PageTests::read(trace, select, of_tests, listener);
        // Where calls are left out, they have other numbers.
        let requests = match is_filtered {
            true => PageRequests::default(),
            false => PageRequests::read(trace, names, listener)?,
        };
        let merged = PageMerged::read(trace, chosen, samples, (names, labels), !is_filtered);
        Ok(Self { tests, requests, merged, handed: handed.finish() })
    }
}
