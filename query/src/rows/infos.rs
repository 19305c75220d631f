//! The rows of what is known about a trace as a whole, and of its threads.

use flow_codec::ThreadId;
use flow_codec::format::manifest::Manifest;
use flow_codec::read::OpenFrames;
use serde::Serialize;

use super::OnlyJson;

/// The marks of a trace, counted.
#[derive(Clone, Copy, Serialize, Debug, Default)]
#[non_exhaustive]
pub struct MarkCounts {
    /// Marks with a time.
    pub times: u64,
    /// The usual interval between two of them, in nanoseconds: half of all are shorter.
    pub median_ns: Option<u64>,
    /// Exits by exception.
    pub unwound: u64,
    /// Notes of the program.
    pub notes: u64,
    /// Tests that were started.
    pub tests: u64,
    /// Pauses of the recording.
    pub pauses: u64,
    /// Places where events are missing.
    pub gaps: u64,
    /// Runs of instructions.
    pub runs: u64,
    /// Lines that were reached.
    pub lines: u64,
    /// Bytes of values.
    pub value_bytes: u64,
}

crate::rows! {
    /// A trace.
    pub struct InfoRow<'a> {
        /// `finished`, `terminated` (a signal such as SIGTERM ended the program; the trace is complete), `stopped`, `repaired`, `killed`, `recording`, `snapshot`; `unreceived`: the collector or the JVM ended before the end of the trace arrived; `unfinished`: killed, or still being recorded; or `unknown`
        state: &'static str,
        methods: usize,
        calls: u64,
        /// sums over the threads
        bytes: u64,
        shapes: Option<u64>,
        /// how many shapes are stored, and their size; `null` if there are none
        shapes_bytes: Option<u64>,
        /// what is known beside calls: how many times, exceptions, notes, tests, pauses, gaps and lines
        marks: OnlyJson<&'a MarkCounts>,
        /// `trace.json`
        manifest: OnlyJson<Option<&'a Manifest>>,
        /// an object per thread, with the columns of CSV and `open`: the frames entered before recording; `null` if there are none
        threads: OnlyJson<Vec<ThreadRow<'a>>>,
    }

    /// A run in a folder of recordings.
    pub struct RunRow {
        /// the file of its first JVM; `DIR/.` if the folder itself is a trace
        run: String,
        /// when it began, in nanoseconds since 1970
        start_unix_ns: Option<u64>,
        /// until its last JVM ended; `null` if one was killed or still records
        duration_ns: Option<u64>,
        /// how many calls were recorded; likewise
        calls: Option<u64>,
        /// the size of its files
        bytes: u64,
        tests: u64,
        /// how many tests it ran, and how many of these failed
        failed: u64,
        /// how it ended, as for `flow info`; of several JVMs, that of the first one that did not finish
        state: &'static str,
        jvms: usize,
        version: String,
        /// how many JVMs were recorded, and the version and the command line of the first one
        command: String,
    }

    /// A thread, from its file and from `threads.jsonl`.
    pub struct ThreadRow<'a> {
        thread: ThreadId,
        name: &'a str,
        /// its id; `user`, `daemon` or `virtual`
        kind: &'static str,
        calls: u64,
        max_frames: u64,
        /// its calls, its deepest stack, the size of its events
        bytes: u64,
        /// `ended`, `alive`, `killed`, `damaged`, `truncated` or `unknown`
        state: &'static str,
        /// the CPU time of the thread from its start, before its first recorded call, too; `null` if unknown
        cpu_ns: Option<u64>,
        /// the frames that were entered before recording; `null` if there are none
        open: OnlyJson<Option<&'a OpenFrames>>,
    }
}
