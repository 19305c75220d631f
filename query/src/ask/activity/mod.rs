//! What a program does while it is recorded. The question is asked again and again; each answer has what is new.

mod refresh;
mod reports;
mod sums;
mod waits;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::time::Instant;

use flow_codec::read::Trace;
use flow_codec::{MethodId, MethodMap, MethodNames, NameForm, ThreadId};

pub use self::refresh::{ActiveMethod, ActiveThread, Edge, Refresh};
pub use self::reports::{ReportOn, Reported, Reports};
use self::sums::{By, Edges, Sum, Sums, Wanted, now_ns};
pub use self::waits::{Deadlock, TraceWaits, WaitSum, Waits, WaitsBy};
use crate::Error;
use crate::open::{Traces, is_open};
use crate::process::{Follower, Handle, Router};
use crate::select::{Filter, Threads};

/// How many new bytes are read for an answer; of more, the end of what each thread has.
const MOST_BYTES: u64 = 1 << 20;

/// Asks what methods and threads did since the last answer.
#[derive(Debug)]
pub struct Activity {
    filter: Filter,
    threads: Threads,
    jvms: BTreeMap<PathBuf, Jvm>,
    /// When the last answer was given.
    last: Option<Instant>,
}

/// What is known about a JVM.
#[derive(Debug)]
struct Jvm {
    follower: Follower,
    router: Router,
    sums: Handle<Sums>,
}

impl Activity {
    /// Asks about the selected methods and threads.
    #[must_use]
    pub fn of(filter: Filter, threads: Threads) -> Self {
        Self { filter, threads, jvms: BTreeMap::new(), last: None }
    }

    /// What happened in traces that were [opened again](Traces::open_again) since the last call. The first one begins at the
    /// end of what was recorded.
    ///
    /// # Errors
    /// The application's packages are selected, and a trace does not know them.
    pub fn refresh(&mut self, traces: &mut Traces) -> Result<Refresh, Error> {
        let is_first = self.last.is_none();
        if is_first {
            self.filter.expect_own(traces.iter())?;
        }
        let now = Instant::now();
        let interval = self.last.replace(now).map_or_else(Default::default, |last| now - last);
        let mut refresh = Refresh { title: title(traces), interval, ..Refresh::default() };
        for trace in traces.iter_mut() {
            let mut files = trace.take_files();
            files.retain(|file| self.threads.include(trace, file.id()));
            trace.set_files(files);
        }
        for (number, trace) in traces.iter().enumerate() {
            let jvm = self.jvms.entry(trace.dir().to_path_buf());
            let jvm = jvm.or_insert_with(|| Jvm::new(&self.filter, trace));
            let name = if traces.is_several() { traces.name(trace.dir()) } else { String::new() };
            jvm.add(&name, (number, trace), is_first, &mut refresh);
        }
        Ok(refresh)
    }
}

impl Jvm {
    fn new(filter: &Filter, trace: &Trace) -> Self {
        let mut router = Router::default();
        let sums = router.add("sums", Sums::new(Wanted::new(By::Both, false, filter, trace)));
        Self { follower: Follower::of_newest(MOST_BYTES), router, sums }
    }

    /// Adds what is new in a trace.
    fn add(
        &mut self,
        name: &str,
        (number, trace): (usize, &Trace),
        is_first: bool,
        refresh: &mut Refresh,
    ) {
        // Before the events are read: what happens meanwhile is not silence.
        let is_recording = is_open(trace);
        let now_ns = is_recording.then(|| now_ns(trace)).flatten();
        let passed = match is_first {
            true => self.follower.skip_to_end(trace, &mut self.router),
            false => self.follower.pass(trace, &mut self.router),
        };
        refresh.damage.extend(passed.damage.iter().map(ToString::to_string));
        let failed = self.router.failed().iter();
        refresh.damage.extend(failed.map(|failed| format!("{} (an error of flow)", failed.panic)));
        let Some(sums) = self.router.get_mut(&self.sums) else { return };
        if is_first {
            // What happened before the first answer does not count.
            sums.take();
        } else {
            refresh.bytes += passed.bytes;
            refresh.read_bytes += passed.read_bytes;
        }
        refresh.is_recording |= is_recording;
        refresh.has_cpu |= trace.has_cpu_time();
        refresh.age_ns = refresh.age_ns.max(now_ns);
        let names = MethodNames::new(trace.methods());
        for file in trace.files() {
            let alive = is_alive(trace, file.id());
            if let Some(now_ns) = now_ns.filter(|_| alive) {
                sums.pass_time_until(file.id(), now_ns);
            }
            let stack = sums.stack(file.id());
            let calls = stack.map_or(0, |stack| stack.calls);
            if alive || calls > 0 {
                let shown = stack.map_or(&[][..], |stack| &stack.shown);
                let last_ns = stack.and_then(|stack| stack.last_ns);
                let thread_name = trace.threads().get(file.id()).map_or("", |thread| &thread.name);
                refresh.threads.push(ActiveThread {
                    trace: name.to_owned(),
                    id: file.id(),
                    name: thread_name.to_owned(),
                    calls,
                    stack: shown.iter().map(|id| names.get(*id, NameForm::Readable)).collect(),
                    is_partial: stack.is_some_and(|stack| stack.is_partial),
                    idle_ns: now_ns.zip(last_ns).map(|(now, last)| now.saturating_sub(last)),
                });
            }
        }
        let (methods, edges, breaks) = sums.take();
        refresh.gaps += breaks.lost;
        refresh.pauses += breaks.suspended;
        add_sums(number, &names, &methods, &edges, refresh);
    }
}

/// Adds what the methods of a trace did.
fn add_sums(
    trace: usize,
    names: &MethodNames<'_>,
    methods: &MethodMap<Sum>,
    edges: &Edges,
    refresh: &mut Refresh,
) {
    let mut rows: HashMap<MethodId, usize> = HashMap::new();
    let mut ids: Vec<_> = methods.iter().map(|(id, _)| id).collect();
    ids.extend(edges.keys().filter_map(|(caller, _)| *caller));
    ids.sort_unstable();
    ids.dedup();
    for id in ids {
        let sum = methods.get(id).copied().unwrap_or_default();
        refresh.calls += sum.calls;
        rows.insert(id, refresh.methods.len());
        refresh.methods.push(ActiveMethod {
            trace,
            id,
            name: names.get(id, NameForm::Readable),
            calls: sum.calls,
            self_ns: sum.self_ns,
            cpu_ns: sum.cpu_ns,
            silent_ns: sum.silent_ns,
        });
    }
    for ((caller, callee), calls) in edges {
        let caller = caller.and_then(|caller| rows.get(&caller).copied());
        if let Some(callee) = rows.get(callee).copied() {
            refresh.edges.push(Edge { caller, callee, calls: *calls });
        }
    }
}

/// What is recorded: the process of the first trace, and how many others there are.
fn title(traces: &[Trace]) -> String {
    let Some(manifest) = traces.first().and_then(|trace| trace.manifest()) else {
        return "no trace yet".to_owned();
    };
    let more = match traces.len() {
        0 | 1 => String::new(),
        traces => format!(" and {} more", traces - 1),
    };
    format!("process {}{more}", manifest.pid)
}

fn is_alive(trace: &Trace, id: ThreadId) -> bool {
    trace.threads().get(id).is_none_or(|thread| thread.end_ns.is_none())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use flow_codec::format::marks::{Mark, MarkEncoder, Position};
    use flow_codec::{Glob, Offset};
    use tempfile::TempDir;

    use super::*;

    /// A trace of one thread that a test writes, and the question about it.
    struct Growing {
        dir: TempDir,
        activity: Activity,
    }

    impl Growing {
        fn new(filter: Filter) -> Self {
            let dir = tempfile::tempdir().unwrap();
            let names = "a.B#main()V=1\na.B#run()V=2\na.B#leaf()V=3\n";
            fs::write(dir.path().join("ids.properties"), names).unwrap();
            Self { dir, activity: Activity::of(filter, Threads::default()) }
        }

        fn write(&self, events: &[u8]) {
            fs::write(self.dir.path().join("thread-1.flow"), events).unwrap();
        }

        fn refresh(&mut self) -> Refresh {
            self.activity.refresh(&mut Traces::open(self.dir.path()).unwrap()).unwrap()
        }
    }

    fn calls(refresh: &Refresh) -> Vec<(String, u64)> {
        refresh.methods.iter().map(|row| (row.name.clone(), row.calls)).collect()
    }

    #[test]
    fn an_answer_has_what_is_new() {
        let mut trace = Growing::new(Filter::default());
        // Enter main, run; leave run.
        trace.write(&[0x81, 0x82, 0x00]);
        let first = trace.refresh();
        assert_eq!((first.calls, first.threads[0].stack.len()), (0, 1));
        // The run of exits has become longer: main is left too. Then run, leaf, leaf.
        trace.write(&[0x81, 0x82, 0x01, 0x82, 0x83, 0x00, 0x83]);
        let refresh = trace.refresh();
        let (run, leaf) = ("a.B.run()".to_owned(), "a.B.leaf()".to_owned());
        assert_eq!(calls(&refresh), [(run.clone(), 1), (leaf.clone(), 2)]);
        assert_eq!(refresh.threads[0].stack, [run, leaf]);
        let edges: Vec<_> = refresh.edges.iter().map(|e| (e.caller, e.callee, e.calls)).collect();
        assert!(edges.contains(&(Some(0), 1, 2)) && edges.contains(&(None, 0, 1)), "{edges:?}");
        assert_eq!((refresh.bytes, refresh.read_bytes, refresh.calls), (5, 5, 3));
        let refresh = trace.refresh();
        assert_eq!((refresh.calls, refresh.methods.len(), refresh.threads.len()), (0, 0, 1));
    }

    #[test]
    fn hidden_methods_are_in_no_stack() {
        let mut trace = Growing::new(Filter::new(&[], &[Glob::new("a.B#run")], false));
        trace.write(&[0x81]);
        trace.refresh();
        trace.write(&[0x81, 0x82, 0x83]);
        let refresh = trace.refresh();
        assert_eq!(calls(&refresh), [("a.B.main()".to_owned(), 0), ("a.B.leaf()".to_owned(), 1)]);
        assert_eq!(refresh.threads[0].stack, ["a.B.main()", "a.B.leaf()"]);
    }

    #[test]
    fn time_in_which_a_thread_waits_is_no_time_in_which_it_runs() {
        let mut trace = Growing::new(Filter::default());
        let marks = |times: &[(u64, u64, u64)]| {
            let (mut bytes, mut encoder) = (Vec::new(), MarkEncoder::with_header());
            for (offset, at_ms, ran_ms) in times {
                let at = Position::before(Offset::new(*offset));
                let (ns, ran_us) = (at_ms * 1_000_000, Some(ran_ms * 1_000));
                encoder.encode(at, &Mark::Time { by_ns: ns, from_ns: ns, ran_us }, &mut bytes);
            }
            encoder.finish(&mut bytes);
            bytes
        };
        let times = [(0, 0, 0), (1, 1, 1), (2, 21, 20), (3, 51, 0), (4, 61, 10)];
        let path = trace.dir.path().join("thread-1.marks");
        trace.write(&[0x81]);
        fs::write(&path, marks(&times[..2])).unwrap();
        trace.refresh();
        // In main for 20 ms, in run for 30 ms, of which none ran, and in main.
        trace.write(&[0x81, 0x82, 0x00, 0x83]);
        fs::write(&path, marks(&times)).unwrap();
        let refresh = trace.refresh();
        assert!(refresh.has_cpu);
        // Between two samples, half of the time counts for each of their stacks.
        let of =
            |row: &ActiveMethod| (row.cpu_ns.map(|ns| ns / 100_000), row.waiting_ns() / 100_000);
        let ran: Vec<_> = refresh.methods.iter().map(of).collect();
        assert_eq!(ran, [(Some(155), 150), (Some(100), 150), (None, 0)]);
        assert_eq!(refresh.weight_ns(), 25_500_000);
    }

    #[test]
    fn of_too_many_events_the_last_are_read() {
        let mut trace = Growing::new(Filter::default());
        trace.write(&[0x81]);
        trace.refresh();
        let events = [&[0x81, 0x82][..], &[0x83, 0x00].repeat(3 << 20)].concat();
        trace.write(&events);
        let refresh = trace.refresh();
        assert!(refresh.is_estimate() && refresh.threads[0].is_partial);
        assert!((1 << 18..1 << 20).contains(&refresh.calls), "{}", refresh.calls);
        assert!(refresh.read_bytes <= 1 << 20 && refresh.bytes > 6 << 20, "{refresh:?}");
        // As soon as it is slower, each call counts again.
        trace.write(&[&events[..], &[0x83, 0x00]].concat());
        let refresh = trace.refresh();
        assert_eq!((refresh.calls, refresh.is_estimate()), (1, false));
    }
}
