//! Reads a recording again and again.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use flow_codec::read::Trace;
use flow_codec::{MethodId, MethodMap, ThreadId};
use flow_query::process::{Follower, Handle, Router};

use super::look::{Edge, Look, MethodRow, ThreadRow};
use super::received::Received;
use crate::args::TopArgs;
use crate::failure::Failure;
use crate::input::source::Source;
use crate::live::{By, Edges, Sum, Sums, Wanted};
use crate::output::{Format, Labels};
use flow_query::open::is_open;

/// How many new bytes are read in a look; of more, the end of what each thread has.
const MOST_BYTES: u64 = 1 << 20;

/// A recording, and how far it was read.
#[derive(Debug)]
pub(super) struct Watch<'a> {
    dir: PathBuf,
    /// What receives it, if that is here.
    received: Option<Received>,
    args: &'a TopArgs,
    /// As it was at the last look.
    source: Option<Source>,
    jvms: BTreeMap<PathBuf, Jvm>,
    /// When the last look was.
    last: Option<Instant>,
}

/// What is known about a JVM.
#[derive(Debug)]
struct Jvm {
    follower: Follower,
    router: Router,
    sums: Handle<Sums>,
}

impl Jvm {
    fn new(args: &TopArgs, trace: &Trace) -> Self {
        let wanted = Wanted {
            by: By::Both,
            has_clock: false,
            include: args.filter.filter().included(trace),
            exclude: args.filter.exclude.clone(),
        };
        let mut router = Router::default();
        let sums = router.add("sums", Sums::new(wanted));
        Self { follower: Follower::of_newest(MOST_BYTES), router, sums }
    }
}

impl<'a> Watch<'a> {
    pub(super) fn new(dir: PathBuf, received: Option<Received>, args: &'a TopArgs) -> Self {
        Self { dir, received, args, source: None, jvms: BTreeMap::new(), last: None }
    }

    /// Whether a signal ends it.
    pub(super) fn is_interrupted(&self) -> bool {
        self.received.as_ref().is_some_and(Received::is_interrupted)
    }

    /// What happened since the last look. The first look begins at the end of what was recorded.
    pub(super) fn look(&mut self) -> Result<Look, Failure> {
        let (mut source, unreadable) = Source::open_again(&self.dir, self.source.take())?;
        let is_first = self.last.is_none();
        if is_first {
            self.args.filter.filter().expect_own(&source.traces)?;
        }
        let now = Instant::now();
        let interval = self.last.replace(now).map_or_else(Default::default, |last| now - last);
        let mut look = Look { title: title(&source), interval, ..Look::default() };
        look.said = self.received.as_ref().and_then(Received::said);
        look.damage.extend(unreadable.iter().map(|(_, error)| error.to_string()));
        for trace in &mut source.traces {
            let mut files = std::mem::take(&mut trace.files);
            files.retain(|file| self.args.threads.include(trace, file.id));
            trace.files = files;
        }
        for trace in &source.traces {
            let jvm = self.jvms.entry(trace.dir.clone());
            let jvm = jvm.or_insert_with(|| Jvm::new(self.args, trace));
            jvm.add(&source, trace, is_first, &mut look);
        }
        self.source = Some(source);
        Ok(look)
    }
}

impl Jvm {
    /// Adds what is new in a trace.
    fn add(&mut self, source: &Source, trace: &Trace, is_first: bool, look: &mut Look) {
        let passed = match is_first {
            true => self.follower.skip_to_end(trace, &mut self.router),
            false => self.follower.pass(trace, &mut self.router),
        };
        look.damage.extend(passed.damage.iter().map(ToString::to_string));
        let failed = self.router.failed().iter();
        look.damage.extend(failed.map(|failed| format!("{} (an error of flow)", failed.panic)));
        let Some(sums) = self.router.get_mut(&self.sums) else { return };
        if is_first {
            // What happened before the first look does not count.
            sums.take();
        } else {
            look.bytes += passed.bytes;
            look.read_bytes += passed.read_bytes;
        }
        let is_recording = is_open(trace);
        let now_ns = is_recording.then(|| now_ns(trace)).flatten();
        look.is_recording |= is_recording;
        look.age_ns = look.age_ns.max(now_ns);
        let mut labels = Labels::new(&trace.methods, Format::Text, false);
        for file in &trace.files {
            let alive = is_alive(trace, file.id);
            if let Some(now_ns) = now_ns.filter(|_| alive) {
                sums.pass_time_until(file.id, now_ns);
            }
            let stack = sums.stack(file.id);
            let calls = stack.map_or(0, |stack| stack.calls);
            if alive || calls > 0 {
                let name = trace.threads.get(file.id).map_or("", |thread| &thread.name);
                let shown = stack.map_or(&[][..], |stack| &stack.shown);
                let last_ns = stack.and_then(|stack| stack.last_ns);
                look.threads.push(ThreadRow {
                    trace: if source.several { source.name(&trace.dir) } else { String::new() },
                    id: file.id.get(),
                    name: name.to_owned(),
                    calls,
                    stack: shown.iter().map(|id| labels.get(*id).to_owned()).collect(),
                    is_partial: stack.is_some_and(|stack| stack.is_partial),
                    idle_ns: now_ns.zip(last_ns).map(|(now, last)| now.saturating_sub(last)),
                });
            }
        }
        let (methods, edges, breaks) = sums.take();
        look.gaps += breaks.lost;
        look.pauses += breaks.suspended;
        add_sums(trace, &methods, &edges, &mut labels, look);
    }
}

/// Adds what the methods of a trace did.
fn add_sums(
    trace: &Trace,
    methods: &MethodMap<Sum>,
    edges: &Edges,
    labels: &mut Labels<'_>,
    look: &mut Look,
) {
    let mut json = Labels::new(&trace.methods, Format::Json, false);
    let mut rows: HashMap<MethodId, usize> = HashMap::new();
    let mut ids: Vec<_> = methods.iter().map(|(id, _)| id).collect();
    ids.extend(edges.keys().filter_map(|(caller, _)| *caller));
    ids.sort_unstable();
    ids.dedup();
    for id in ids {
        let sum = methods.get(id).copied().unwrap_or_default();
        look.calls += sum.calls;
        rows.insert(id, look.methods.len());
        look.methods.push(MethodRow {
            name: labels.get(id).to_owned(),
            json: json.get(id).to_owned(),
            calls: sum.calls,
            self_ns: sum.self_ns,
        });
    }
    for ((caller, callee), calls) in edges {
        let caller = caller.and_then(|caller| rows.get(&caller).copied());
        if let Some(callee) = rows.get(callee).copied() {
            look.edges.push(Edge { caller, callee, calls: *calls });
        }
    }
}

/// What is recorded: the main class or the program of the first trace, and its process.
fn title(source: &Source) -> String {
    let Some(manifest) = source.traces.first().and_then(|trace| trace.manifest.as_ref()) else {
        return "no trace yet".to_owned();
    };
    let more = match source.traces.len() {
        0 | 1 => String::new(),
        traces => format!(" and {} more", traces - 1),
    };
    format!("process {}{more}", manifest.pid)
}

/// The time since the start of a recording.
fn now_ns(trace: &Trace) -> Option<u64> {
    let start_ns = trace.manifest.as_ref()?.start_unix_ns;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_nanos();
    u64::try_from(now).ok()?.checked_sub(start_ns)
}

fn is_alive(trace: &Trace, id: ThreadId) -> bool {
    trace.threads.get(id).is_none_or(|thread| thread.end_ns.is_none())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use clap::Parser;
    use tempfile::TempDir;

    use super::*;
    use crate::args::{Args, Verb};

    /// A trace of one thread that a test writes.
    struct Growing {
        dir: TempDir,
        args: TopArgs,
    }

    impl Growing {
        fn new(flags: &[&str]) -> Self {
            let args = Args::parse_from([&["flow", "top"][..], flags].concat());
            let Verb::Top(args) = args.verb else { panic!("another verb") };
            let dir = tempfile::tempdir().unwrap();
            let names = "a.B#main()V=1\na.B#run()V=2\na.B#leaf()V=3\n";
            fs::write(dir.path().join("ids.properties"), names).unwrap();
            Self { dir, args }
        }

        fn write(&self, events: &[u8]) {
            fs::write(self.dir.path().join("thread-1.flow"), events).unwrap();
        }

        fn watch(&self) -> Watch<'_> {
            Watch::new(Path::new(self.dir.path()).to_path_buf(), None, &self.args)
        }
    }

    fn calls(look: &Look) -> Vec<(String, u64)> {
        look.methods.iter().map(|row| (row.name.clone(), row.calls)).collect()
    }

    #[test]
    fn a_look_has_what_is_new() {
        let trace = Growing::new(&[]);
        // Enter main, run; leave run.
        trace.write(&[0x81, 0x82, 0x00]);
        let mut watch = trace.watch();
        let first = watch.look().unwrap();
        assert_eq!((first.calls, first.threads[0].stack.len()), (0, 1));
        // The run of exits has become longer: main is left too. Then run, leaf, leaf.
        trace.write(&[0x81, 0x82, 0x01, 0x82, 0x83, 0x00, 0x83]);
        let look = watch.look().unwrap();
        let (run, leaf) = ("a.B.run()".to_owned(), "a.B.leaf()".to_owned());
        assert_eq!(calls(&look), [(run.clone(), 1), (leaf.clone(), 2)]);
        assert_eq!(look.threads[0].stack, [run, leaf]);
        let edges: Vec<_> = look.edges.iter().map(|e| (e.caller, e.callee, e.calls)).collect();
        assert!(edges.contains(&(Some(0), 1, 2)) && edges.contains(&(None, 0, 1)), "{edges:?}");
        assert_eq!((look.bytes, look.read_bytes, look.calls), (5, 5, 3));
        let look = watch.look().unwrap();
        assert_eq!((look.calls, look.methods.len(), look.threads.len()), (0, 0, 1));
    }

    #[test]
    fn hidden_methods_are_in_no_stack() {
        let trace = Growing::new(&["--exclude", "a.B#run"]);
        let mut watch = trace.watch();
        trace.write(&[0x81]);
        watch.look().unwrap();
        trace.write(&[0x81, 0x82, 0x83]);
        let look = watch.look().unwrap();
        assert_eq!(calls(&look), [("a.B.main()".to_owned(), 0), ("a.B.leaf()".to_owned(), 1)]);
        assert_eq!(look.threads[0].stack, ["a.B.main()", "a.B.leaf()"]);
    }

    #[test]
    fn of_too_many_events_the_last_are_read() {
        let trace = Growing::new(&[]);
        let mut watch = trace.watch();
        trace.write(&[0x81]);
        watch.look().unwrap();
        let events = [&[0x81, 0x82][..], &[0x83, 0x00].repeat(3 << 20)].concat();
        trace.write(&events);
        let look = watch.look().unwrap();
        assert!(look.is_estimate() && look.threads[0].is_partial);
        assert!((1 << 18..1 << 20).contains(&look.calls), "{}", look.calls);
        assert!(look.read_bytes <= 1 << 20 && look.bytes > 6 << 20, "{look:?}");
        // As soon as it is slower, each call counts again.
        trace.write(&[&events[..], &[0x83, 0x00]].concat());
        let look = watch.look().unwrap();
        assert_eq!((look.calls, look.is_estimate()), (1, false));
    }
}
