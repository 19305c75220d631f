//! Which sums of methods are known only roughly.

use std::collections::HashMap;

use flow_codec::MethodId;
use flow_codec::read::{Clock, Trace};
use flow_query::analysis::TimedReport;

use crate::output::{Progress, Weight};
use flow_query::reading::{Selected, visit_timed};

/// Whether the bounds of the total and of the self weight of a method are wide.
pub(super) type Rough = HashMap<MethodId, [bool; 2]>;

/// Finds them in a pass of its own, as `flow report` does. Damage is reported by the pass that builds the page.
pub(super) fn rough<const CPU: bool>(trace: &Trace, chosen: &Selected) -> Rough {
    let clock = Clock::default();
    let mut report = TimedReport::<CPU>::new(&clock);
    for file in trace.files() {
        visit_timed(file, chosen, &mut Progress::hidden(), &clock, &mut report);
        report.end_thread();
    }
    report.rows().into_iter().map(|row| (row.method, Weight::from(row).rough())).collect()
}
