//! Calls, total and self of each method.

use flow_codec::MethodId;
use flow_codec::read::{Clock, ThreadFile, TimeAxis};
use flow_query::analysis::{Report, ReportRow, TimedReport};

use crate::failure::Status;
use crate::output::{Progress, Unit, Weight};
use flow_query::reading::{
    Listener as _, Reading, Selected, add_stored, add_times, report_thread, visit_events,
};

/// The sums of the calls or samples of some threads.
pub(crate) struct ReportSums {
    pub(crate) rows: Vec<(MethodId, Weight)>,
    /// The calls of all methods together or the samples, their total, and how long threads waited in them.
    pub(crate) calls: u64,
    pub(crate) total: u64,
    pub(crate) waiting: u64,
    /// The number of threads with calls or samples.
    pub(crate) threads: u64,
    pub(crate) status: Status,
    /// Describes samples.
    pub(crate) summary: Option<String>,
}

impl ReportSums {
    fn of_calls(
        rows: Vec<ReportRow>,
        (calls, total, waiting): (u64, u64, u64),
        threads: u64,
        status: Status,
    ) -> Self {
        let rows = rows.into_iter().map(|row| (row.method, row.into())).collect();
        Self { rows, calls, total, waiting, threads, status, summary: None }
    }
}

/// Adds up the calls of some threads.
pub(crate) fn sums(
    files: &[ThreadFile],
    chosen: &Selected,
    unit: Unit,
    progress: &mut Progress,
) -> ReportSums {
    match unit.axis() {
        None => counted(files, chosen, progress),
        Some(TimeAxis::Wall) => timed::<false>(files, chosen, progress),
        Some(TimeAxis::Cpu) => timed::<true>(files, chosen, progress),
    }
}

fn counted(files: &[ThreadFile], chosen: &Selected, progress: &mut Progress) -> ReportSums {
    let mut report = Report::default();
    let (mut threads, mut status) = (0, Status::Done);
    for file in files {
        let before = report.calls();
        let reading = read(file, chosen, progress, &mut report);
        threads += u64::from(report.calls() > before);
        status = status.and(reading.report(file, progress));
    }
    let calls = report.calls();
    ReportSums::of_calls(report.rows(), (calls, calls, 0), threads, status)
}

fn timed<const CPU: bool>(
    files: &[ThreadFile],
    chosen: &Selected,
    progress: &mut Progress,
) -> ReportSums {
    let clock = Clock::default();
    let mut report = TimedReport::<CPU>::new(&clock);
    let (mut threads, mut status) = (0, Status::Done);
    for file in files {
        let before = report.calls();
        let reading = add_times(file, chosen, progress, &mut report);
        threads += u64::from(report.calls() > before);
        status = status.and(reading.report(file, progress));
    }
    let (calls, total, waiting) = (report.calls(), report.total_ns(), report.waiting_ns());
    ReportSums::of_calls(report.rows(), (calls, total, waiting), threads, status)
}

/// Counts the calls of a thread.
fn read(
    file: &ThreadFile,
    chosen: &Selected,
    progress: &mut Progress,
    report: &mut Report,
) -> Reading {
    if let Some(reading) = add_stored(file, chosen, progress, report) {
        return reading;
    }
    if chosen.is_all()
        && let Some((parts, tail)) = report_thread(file, progress)
    {
        parts.into_iter().for_each(|part| report.add(part));
        progress.file_done(file.bytes());
        return Reading::ended(tail);
    }
    let reading = visit_events(file, chosen, progress, report);
    report.end_thread();
    reading
}
