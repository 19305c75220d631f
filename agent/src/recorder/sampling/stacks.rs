//! Sampled stacks: from what signal handlers found to methods, lines and the file `samples`.
//!
//! A handler stores handles of methods, which mean nothing once their class is unloaded, and may then be given to
//! another class. So the classes of all handles are known before: each class is added when it is prepared, with a
//! reference that does not keep it alive. To resolve a handle, its class is held first; if it is gone, or was prepared
//! after the sample, the method is unknown. What was resolved is kept until the class is gone.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use flow_codec::format::samples::{
    BatchEncoder, Cause, Found, Frame, Sample, SampleClock, Sampling,
};
use flow_codec::{MethodId, ThreadId};
use parking_lot::{Condvar, Mutex};

use crate::recorder::{DescribeMethod, MethodFacts, RawMethod, Recorder, ThreadFacts};
use crate::sink::{LineFile, SinkError};
use crate::sys::allocator;
use crate::sys::stack_ring::{RawFrame, Shot};

/// A reference to a class that does not keep it alive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClassHandle(pub usize);

/// A reference to a thread that does not keep its object alive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreadHandle(pub usize);

/// The JVM, as the thread sees it that resolves methods.
pub trait DescribeClasses {
    /// Calls `body` while the class cannot be unloaded; `None` if it has been.
    fn with_class<T>(&self, class: ClassHandle, body: impl FnOnce() -> T) -> Option<T>;
    /// Returns a method of a class that is held.
    fn method_of(&self, raw: RawMethod) -> impl DescribeMethod;
    /// Returns the bytecode indexes at which lines begin, with these lines. For such a method too.
    fn lines_of(&self, raw: RawMethod) -> Vec<(u32, u32)>;
    /// Gives the reference up.
    fn give_up(&self, class: ClassHandle);
    /// Reads at most this many frames of a thread, the innermost first, with bytecode indexes, or -1 in native methods;
    /// `None` if the thread has ended.
    fn stack_of(&self, thread: ThreadHandle, max_frames: usize) -> Option<Vec<(RawMethod, i32)>>;
    /// Releases the reference.
    fn give_up_thread(&self, thread: ThreadHandle);
}

/// Classes whose references are checked at a time: the table grew by this many.
const MIN_GROWTH: usize = 2000;

/// The class with the method in which a carrier runs a virtual thread.
const CONTINUATION: &str = "jdk.internal.vm.Continuation";

/// What a handle refers to.
#[derive(Debug)]
struct Resolved {
    id: Option<MethodId>,
    /// In the order of bytecode indexes.
    lines: Vec<(u32, u32)>,
    /// Whether the frames outside it are those of the carrier of a virtual thread.
    is_border: bool,
}

impl Resolved {
    fn line(&self, bci: u32) -> Option<u32> {
        let after = self.lines.partition_point(|(start, _)| *start <= bci);
        let (_, line) = self.lines.get(after.checked_sub(1)?)?;
        Some(*line)
    }
}

#[derive(Debug)]
struct KnownMethod {
    class: u32,
    resolved: Option<Arc<Resolved>>,
}

#[derive(Debug)]
struct KnownClass {
    handle: ClassHandle,
    /// By the clock of samples.
    prepared_ns: u64,
}

/// A thread that may be sampled.
#[derive(Debug)]
struct SampledThread {
    facts: ThreadFacts,
    /// Reference to the thread, to read its stack while it waits.
    handle: Option<ThreadHandle>,
    /// The name in its line, if that was written.
    named: Option<String>,
    /// Set when it ends: its processor time, if it has its own.
    ended: Option<Option<u64>>,
}

/// What callbacks of the JVM add to.
#[derive(Debug, Default)]
struct Known {
    methods: HashMap<RawMethod, KnownMethod>,
    classes: HashMap<u32, KnownClass>,
    next_class: u32,
    /// How many classes there were after the last check.
    checked: usize,
    threads: HashMap<ThreadId, SampledThread>,
    ended: Vec<ThreadId>,
}

/// What the thread that writes samples uses.
#[derive(Debug)]
struct Writer {
    batch: BatchEncoder,
    /// The last stack of each thread, with the clock of time that passes.
    last: HashMap<ThreadId, LastStack>,
    frames: Vec<Frame>,
    written: Instant,
}

/// The last stack of a thread, and for how many intervals it has been waiting there.
#[derive(Debug, Default)]
struct LastStack {
    frames: Vec<Frame>,
    is_cut: bool,
    waited: u64,
}

/// How far the thread that writes samples is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    NotStarted,
    Running,
    Ending,
    Ended,
}

/// The sampled stacks of a recording.
pub struct Stacks {
    sampling: Sampling,
    max_frames: usize,
    /// The time at which the recording began, by the clock of samples.
    zero_ns: u64,
    file: LineFile,
    known: Mutex<Known>,
    writer: Mutex<Writer>,
    samples: AtomicU64,
    stage: Mutex<Stage>,
    changed: Condvar,
}

impl fmt::Debug for Stacks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stacks").field("sampling", &self.sampling).finish_non_exhaustive()
    }
}

impl Stacks {
    /// The samples of a recording that began at `zero_ns`, of which `file` takes the batches.
    #[must_use]
    pub fn new(sampling: Sampling, max_frames: usize, zero_ns: u64, file: LineFile) -> Self {
        Self {
            sampling,
            max_frames,
            zero_ns,
            file,
            known: Mutex::default(),
            writer: Mutex::new(Writer {
                batch: BatchEncoder::new(sampling),
                last: HashMap::new(),
                frames: Vec::new(),
                written: Instant::now(),
            }),
            samples: AtomicU64::new(0),
            stage: Mutex::new(Stage::NotStarted),
            changed: Condvar::new(),
        }
    }

    /// How often threads are sampled.
    #[must_use]
    pub const fn sampling(&self) -> Sampling {
        self.sampling
    }

    /// The time at which the recording began, by the clock of samples.
    #[must_use]
    pub const fn zero_ns(&self) -> u64 {
        self.zero_ns
    }

    /// The most frames of a stack.
    #[must_use]
    pub const fn max_frames(&self) -> usize {
        self.max_frames
    }

    /// How many samples were written.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.samples.load(Ordering::Relaxed)
    }

    /// Adds a class that is prepared, before any of its methods runs. Returns `false` if there is no memory.
    pub fn add_class(
        &self,
        handle: ClassHandle,
        methods: impl ExactSizeIterator<Item = RawMethod>,
        prepared_ns: u64,
    ) -> bool {
        let mut known = self.known.lock();
        let Known { methods: table, classes, next_class, .. } = &mut *known;
        let room = allocator::try_to(|| table.try_reserve(methods.len()))
            .and_then(|()| allocator::try_to(|| classes.try_reserve(1)));
        if room.is_err() {
            return false;
        }
        let class = *next_class;
        *next_class = next_class.wrapping_add(1);
        classes.insert(class, KnownClass { handle, prepared_ns });
        // A handle that is known belonged to a class that is gone.
        table.extend(methods.map(|raw| (raw, KnownMethod { class, resolved: None })));
        true
    }

    /// Forgets the lines of all methods, because classes have been replaced.
    pub fn forget_lines(&self) {
        self.known.lock().methods.values_mut().for_each(|method| method.resolved = None);
    }

    /// Adds a thread that may be sampled. Returns the reference if the thread has one already.
    #[must_use]
    pub fn add_thread(
        &self,
        facts: ThreadFacts,
        handle: Option<ThreadHandle>,
    ) -> Option<ThreadHandle> {
        let mut known = self.known.lock();
        let id = facts.id;
        let thread = SampledThread { facts, handle: None, named: None, ended: None };
        let thread = known.threads.entry(id).or_insert(thread);
        if thread.handle.is_some() {
            return handle;
        }
        thread.handle = handle;
        None
    }

    /// Returns whether stacks of threads are read while they wait, so that references to threads are needed.
    #[must_use]
    pub fn reads_stacks(&self) -> bool {
        self.sampling.clock == SampleClock::Wall
    }

    /// Returns whether a thread was added or sampled.
    #[must_use]
    pub fn knows_thread(&self, id: ThreadId) -> bool {
        self.known.lock().threads.contains_key(&id)
    }

    /// A thread ends, with this name.
    pub fn end_thread(&self, id: ThreadId, name: Option<String>, cpu_ns: Option<u64>) {
        let mut known = self.known.lock();
        let Known { threads, ended, .. } = &mut *known;
        if let Some(thread) = threads.get_mut(&id) {
            thread.ended = Some(cpu_ns);
            if let Some(name) = name {
                thread.facts.name = name;
            }
            ended.push(id);
        }
    }

    /// Encodes what a signal handler found.
    pub(crate) fn add(
        &self,
        recorder: &Recorder,
        vm: &impl DescribeClasses,
        shot: &Shot,
        raw: &[RawFrame],
    ) {
        let thread = ThreadId::new(shot.thread);
        let is_virtual = shot.thread != shot.carrier;
        self.name_thread(recorder, thread, is_virtual);
        let mut writer = self.writer.lock();
        let Writer { batch, last, frames, .. } = &mut *writer;
        let at_ns = shot.at_ns.saturating_sub(self.zero_ns);
        // That of a virtual thread is not known: its carrier runs others too.
        let ran_us = (!is_virtual).then_some(shot.ran_us);
        if let Some(before) = last.get_mut(&thread).filter(|before| before.waited > 0) {
            let LastStack { frames, is_cut, waited } = before;
            let found = Found::Stack { frames, is_cut: *is_cut };
            batch.add(&sample(thread, at_ns, *waited, Some(0), found));
            self.samples.fetch_add(1, Ordering::Relaxed);
            *waited = 0;
        }
        if shot.frames <= 0 {
            let cause = Cause(u8::try_from(shot.frames.unsigned_abs()).unwrap_or(u8::MAX));
            batch.add(&sample(thread, at_ns, shot.intervals, ran_us, Found::Missed(cause)));
            // It is elsewhere now.
            last.remove(&thread);
            return;
        }
        let mut is_cut = raw.len() > self.max_frames;
        frames.clear();
        for raw in raw.iter().take(self.max_frames) {
            let resolved = self.resolve(recorder, vm, RawMethod(raw.method), shot.at_ns);
            if is_virtual && resolved.as_ref().is_some_and(|resolved| resolved.is_border) {
                is_cut = false;
                break;
            }
            let bci = u32::try_from(raw.bci).ok();
            let line = bci.and_then(|bci| resolved.as_ref()?.line(bci));
            frames.push(Frame { method: resolved.and_then(|resolved| resolved.id), bci, line });
        }
        frames.reverse();
        let found = Found::Stack { frames, is_cut };
        batch.add(&sample(thread, at_ns, shot.intervals, ran_us, found));
        self.samples.fetch_add(1, Ordering::Relaxed);
        if self.sampling.clock == SampleClock::Wall && !is_virtual {
            let stack = last.entry(thread).or_default();
            stack.frames.clone_from(frames);
            (stack.is_cut, stack.waited) = (is_cut, 0);
        }
    }

    /// Reads the stack of a thread that is in native code or waits, and encodes it.
    pub(crate) fn add_apart(&self, recorder: &Recorder, vm: &impl DescribeClasses, mut shot: Shot) {
        let handle = {
            let known = self.known.lock();
            known.threads.get(&ThreadId::new(shot.thread)).and_then(|thread| thread.handle)
        };
        // One frame more than allowed shows whether the stack is cut.
        let found = handle.and_then(|handle| vm.stack_of(handle, self.max_frames + 1));
        let ended = -i32::from(Cause::THREAD_EXIT.0);
        shot.frames =
            found.as_ref().map_or(ended, |found| i32::try_from(found.len()).unwrap_or(i32::MAX));
        let frames = found.unwrap_or_default().into_iter();
        let frames: Vec<_> =
            frames.map(|(RawMethod(method), bci)| RawFrame { bci, method }).collect();
        self.add(recorder, vm, &shot, &frames);
    }

    /// A thread has not run since its last sample.
    pub fn add_waited(&self, thread: ThreadId, intervals: u64) {
        if let Some(stack) = self.writer.lock().last.get_mut(&thread) {
            stack.waited += intervals;
        }
    }

    /// Counts a sample of a thread that has no stack.
    pub fn add_missed(&self, thread: ThreadId, at_ns: u64, cause: Cause, intervals: u64) {
        let (at_ns, found) = (at_ns.saturating_sub(self.zero_ns), Found::Missed(cause));
        self.writer.lock().batch.add(&sample(thread, at_ns, intervals, None, found));
    }

    fn resolve(
        &self,
        recorder: &Recorder,
        vm: &impl DescribeClasses,
        raw: RawMethod,
        at_ns: u64,
    ) -> Option<Arc<Resolved>> {
        let (class, handle) = {
            let known = self.known.lock();
            let method = known.methods.get(&raw)?;
            let class = known.classes.get(&method.class)?;
            if class.prepared_ns > at_ns {
                return None;
            }
            if let Some(resolved) = &method.resolved {
                return Some(Arc::clone(resolved));
            }
            (method.class, class.handle)
        };
        // Not under the lock: the JVM may stop this thread here, while another one prepares a class.
        let described = vm.with_class(handle, || {
            let method = vm.method_of(raw);
            let MethodFacts { mut info, .. } = method.facts()?;
            method.locate(&mut info);
            let mut lines = vm.lines_of(raw);
            lines.sort_unstable();
            Some((info, lines))
        });
        let (info, lines) = described??;
        let is_border = info.class == CONTINUATION && info.name == "enterSpecial";
        let id = recorder.methods().assign_all(vec![info]);
        let id = id.inspect_err(|error| recorder.stop_storing(error)).ok()?;
        let id = id.first().map(|assigned| assigned.id);
        let resolved = Arc::new(Resolved { id, lines, is_border });
        let mut known = self.known.lock();
        if let Some(method) = known.methods.get_mut(&raw).filter(|method| method.class == class) {
            method.resolved = Some(Arc::clone(&resolved));
        }
        Some(resolved)
    }

    /// Writes the line of a thread that is sampled for the first time, unless the recorder has.
    fn name_thread(&self, recorder: &Recorder, id: ThreadId, is_virtual: bool) {
        let facts = {
            let mut known = self.known.lock();
            let thread = known.threads.entry(id).or_insert_with(|| {
                let facts =
                    ThreadFacts { id, name: String::new(), daemon: true, is_virtual, frames: 0 };
                SampledThread { facts, handle: None, named: None, ended: None }
            });
            if thread.named.is_some() {
                return;
            }
            thread.named = Some(thread.facts.name.clone());
            thread.facts.clone()
        };
        if id.get() != 0 && recorder.thread(id).is_none() {
            recorder.note_sampled_thread(&facts);
        }
    }

    /// Writes the samples to the file, if that is due.
    pub fn write(&self, recorder: &Recorder, vm: &impl DescribeClasses, period: Duration) {
        self.write_ends(recorder, vm);
        let mut writer = self.writer.lock();
        if writer.written.elapsed() < period && writer.batch.len() < MAX_BATCH_BYTES {
            return;
        }
        writer.written = Instant::now();
        if let Some(bytes) = writer.batch.finish() {
            let written = self.file.append(bytes);
            drop(writer);
            if let Err(error) = written {
                recorder.stop_storing(&error);
            }
        }
    }

    /// Adds the samples of threads that wait.
    pub fn add_waiting(&self, at_ns: u64) {
        let mut writer = self.writer.lock();
        let Writer { batch, last, .. } = &mut *writer;
        let at_ns = at_ns.saturating_sub(self.zero_ns);
        for (thread, LastStack { frames, is_cut, waited }) in last {
            let intervals = std::mem::take(waited);
            if intervals > 0 {
                let found = Found::Stack { frames, is_cut: *is_cut };
                batch.add(&sample(*thread, at_ns, intervals, Some(0), found));
                self.samples.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn write_ends(&self, recorder: &Recorder, vm: &impl DescribeClasses) {
        let ended: Vec<_> = {
            let mut known = self.known.lock();
            let Known { threads, ended, .. } = &mut *known;
            ended.drain(..).filter_map(|id| threads.remove(&id)).collect()
        };
        for SampledThread { facts, handle, named, ended } in ended {
            handle.into_iter().for_each(|handle| vm.give_up_thread(handle));
            self.writer.lock().last.remove(&facts.id);
            if let Some(named) = named
                && recorder.thread(facts.id).is_none()
            {
                recorder.note_end_of_sampled(&facts, named != facts.name, ended.flatten());
            }
        }
    }

    /// Releases the references to all threads.
    pub fn give_up_threads(&self, vm: &impl DescribeClasses) {
        let threads: Vec<_> = {
            let mut known = self.known.lock();
            known.threads.values_mut().filter_map(|thread| thread.handle.take()).collect()
        };
        threads.into_iter().for_each(|thread| vm.give_up_thread(thread));
    }

    /// Gives up the references to classes that are gone, if there may be many; all, if `all`.
    pub fn check_classes(&self, vm: &impl DescribeClasses, all: bool) {
        let handles: Vec<(u32, ClassHandle)> = {
            let known = self.known.lock();
            if !all && known.classes.len() < 2 * known.checked + MIN_GROWTH {
                return;
            }
            known.classes.iter().map(|(class, known)| (*class, known.handle)).collect()
        };
        let is_gone = |handle| all || vm.with_class(handle, || ()).is_none();
        let gone: HashMap<u32, ClassHandle> =
            handles.into_iter().filter(|(_, handle)| is_gone(*handle)).collect();
        let mut known = self.known.lock();
        known.methods.retain(|_, method| !gone.contains_key(&method.class));
        known.classes.retain(|class, _| !gone.contains_key(class));
        known.checked = known.classes.len();
        drop(known);
        gone.into_values().for_each(|handle| vm.give_up(handle));
    }

    /// The thread that writes samples begins.
    pub fn begin(&self) {
        *self.stage.lock() = Stage::Running;
    }

    /// Waits for at most this time. Returns `false` once the recording ends.
    pub fn wait(&self, time: Duration) -> bool {
        let mut stage = self.stage.lock();
        if *stage == Stage::Running && !time.is_zero() {
            self.changed.wait_for(&mut stage, time);
        }
        *stage == Stage::Running
    }

    /// The thread that writes samples has written all.
    pub fn ended(&self) {
        *self.stage.lock() = Stage::Ended;
        self.changed.notify_all();
    }

    /// Ends the samples, and waits until they are written, or for `timeout`. Returns `false` in the second case.
    pub fn end(&self, timeout: Duration) -> bool {
        let mut stage = self.stage.lock();
        if *stage == Stage::Running {
            *stage = Stage::Ending;
            self.changed.notify_all();
        }
        let deadline = Instant::now() + timeout;
        while *stage == Stage::Ending {
            if self.changed.wait_until(&mut stage, deadline).timed_out() {
                return *stage != Stage::Ending;
            }
        }
        true
    }

    /// Closes the file.
    pub fn close(&self) {
        self.file.close();
    }
}

const fn sample(
    thread: ThreadId,
    at_ns: u64,
    intervals: u64,
    ran_us: Option<u64>,
    found: Found<'_>,
) -> Sample<'_> {
    Sample { thread, at_ns, intervals, ran_us, found }
}

/// A batch with more bytes is written at once.
const MAX_BATCH_BYTES: usize = 256 << 10;

impl Recorder {
    /// Threads are sampled, too: their starts are written once.
    #[must_use]
    pub fn with_samples(self) -> Self {
        self.shared().threads.expect_samples();
        self
    }

    /// Writes the line of a thread that is sampled, and that has not recorded anything.
    pub(in crate::recorder) fn note_sampled_thread(&self, facts: &ThreadFacts) {
        let home = self.shared().threads.home_of_lines(facts.is_virtual);
        let written = self.shared().threads.write_start(
            facts,
            home,
            self.shared().elapsed_ns(),
            self.shared().lines_to(),
        );
        self.stop_unless(written);
    }

    /// Writes the end of such a thread, after its name if that is another one by now.
    pub(in crate::recorder) fn note_end_of_sampled(
        &self,
        facts: &ThreadFacts,
        is_renamed: bool,
        cpu_ns: Option<u64>,
    ) {
        let at_ns = self.shared().elapsed_ns();
        let written = self.shared().threads.write_end(
            facts,
            is_renamed,
            at_ns,
            cpu_ns,
            self.shared().lines_to(),
        );
        self.stop_unless(written);
    }

    fn stop_unless(&self, written: Result<(), SinkError>) {
        if let Err(error) = written {
            self.stop_storing(&error);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::path::Path;

    use flow_codec::format::methods::MethodInfo;
    use flow_codec::read::Samples;

    use super::*;
    use crate::filter::LoaderKind;
    use crate::recorder::tests::recorder_in;

    /// Classes that can be unloaded.
    #[derive(Default)]
    struct Classes {
        gone: RefCell<Vec<ClassHandle>>,
        given_up: RefCell<Vec<ClassHandle>>,
        /// The code in which threads are.
        stack: Vec<(RawMethod, i32)>,
        threads_given_up: RefCell<Vec<ThreadHandle>>,
    }

    struct Named(RawMethod);

    impl DescribeMethod for Named {
        fn facts(&self) -> Option<MethodFacts> {
            let info = MethodInfo {
                class: "a.A".to_owned(),
                name: format!("m{}", self.0.0),
                descriptor: "()V".to_owned(),
                loader: "app".to_owned(),
                ..MethodInfo::default()
            };
            Some(MethodFacts {
                info,
                loader: LoaderKind::Application,
                types: Vec::new(),
                native: false,
                synthetic: false,
                accessor: false,
                hidden: false,
            })
        }

        fn locate(&self, info: &mut MethodInfo) {
            (info.source, info.line) = (Some("A.java".to_owned()), Some(10));
        }
    }

    impl DescribeClasses for Classes {
        fn with_class<T>(&self, class: ClassHandle, body: impl FnOnce() -> T) -> Option<T> {
            (!self.gone.borrow().contains(&class)).then(body)
        }

        fn method_of(&self, raw: RawMethod) -> impl DescribeMethod {
            Named(raw)
        }

        fn lines_of(&self, _: RawMethod) -> Vec<(u32, u32)> {
            vec![(8, 12), (0, 10), (4, 11)]
        }

        fn give_up(&self, class: ClassHandle) {
            self.given_up.borrow_mut().push(class);
        }

        fn stack_of(
            &self,
            thread: ThreadHandle,
            max_frames: usize,
        ) -> Option<Vec<(RawMethod, i32)>> {
            let lives = !self.threads_given_up.borrow().contains(&thread);
            lives.then(|| self.stack.iter().take(max_frames).copied().collect())
        }

        fn give_up_thread(&self, thread: ThreadHandle) {
            self.threads_given_up.borrow_mut().push(thread);
        }
    }

    fn stacks(dir: &Path, clock: SampleClock) -> Stacks {
        let file = LineFile::create(&dir.join("samples")).unwrap();
        Stacks::new(Sampling { clock, interval_ns: 1000 }, 3, 100, file)
    }

    fn shot(at_ns: u64, frames: i32) -> Shot {
        Shot { thread: 7, carrier: 7, at_ns, intervals: 1, ran_us: 5, frames }
    }

    fn raw(bci: i32, method: usize) -> RawFrame {
        RawFrame { bci, method }
    }

    type Line = (Option<u64>, Option<u32>, Option<u32>);

    /// Each sample: its time, its intervals, and its frames or its cause.
    fn read(dir: &Path) -> Vec<(u64, u64, Result<Vec<Line>, u8>)> {
        let bytes = std::fs::read(dir.join("samples")).unwrap();
        let mut samples = Samples::new(&bytes[..], "samples");
        let mut found = Vec::new();
        while let Some((_, sample)) = samples.next_sample().unwrap() {
            let what = match sample.found {
                Found::Stack { frames, .. } => Ok(frames
                    .iter()
                    .map(|frame| (frame.method.map(MethodId::get), frame.bci, frame.line))
                    .collect()),
                Found::Missed(Cause(cause)) => Err(cause),
            };
            found.push((sample.at_ns, sample.intervals, what));
        }
        assert!(samples.damage().is_empty());
        found
    }

    #[test]
    fn handles_become_methods_with_lines_unless_their_class_is_gone_or_newer() {
        let dir = tempfile::tempdir().unwrap();
        let recorder = recorder_in(dir.path());
        let stacks = stacks(dir.path(), SampleClock::Cpu);
        let vm = Classes::default();
        let (one, two) = (ClassHandle(1), ClassHandle(2));
        assert!(stacks.add_class(one, [RawMethod(16), RawMethod(24)].into_iter(), 0));
        assert!(stacks.add_class(two, [RawMethod(32)].into_iter(), 150));
        let frames = [raw(5, 24), raw(-3, 16), raw(0, 32), raw(9, 99)];
        stacks.add(&recorder, &vm, &shot(200, 2), &frames[..2]);
        vm.gone.borrow_mut().push(one);
        // Known already; the third one is not known, and in a class that is alive.
        stacks.add(&recorder, &vm, &shot(300, 3), &frames[1..]);
        // Before the class was prepared; and the same handles for another class.
        stacks.add(&recorder, &vm, &shot(149, 1), &frames[2..3]);
        assert!(stacks.add_class(ClassHandle(3), [RawMethod(24)].into_iter(), 310));
        vm.gone.borrow_mut().push(ClassHandle(3));
        stacks.add(&recorder, &vm, &shot(320, 1), &frames[..1]);
        stacks.add(&recorder, &vm, &shot(330, -5), &[]);
        stacks.add_missed(ThreadId::new(7), 340, Cause::NO_ROOM, 4);
        assert_eq!(stacks.count(), 4);
        stacks.write(&recorder, &vm, Duration::ZERO);
        let native = (Some(1), None, None);
        assert_eq!(
            read(dir.path()),
            [
                (100, 1, Ok(vec![native, (Some(0), Some(5), Some(11))])),
                (200, 1, Ok(vec![(None, Some(9), None), (Some(2), Some(0), Some(10)), native])),
                (49, 1, Ok(vec![(None, Some(0), None)])),
                (220, 1, Ok(vec![(None, Some(5), None)])),
                (230, 1, Err(5)),
                (240, 4, Err(64)),
            ]
        );
        let ids = std::fs::read_to_string(dir.path().join("ids.properties")).unwrap();
        assert_eq!(ids, "a.A#m24()V=0\na.A#m16()V=1\na.A#m32()V=2\n");
        stacks.check_classes(&vm, false);
        assert!(vm.given_up.borrow().is_empty(), "too few to be checked");
        stacks.check_classes(&vm, true);
        assert_eq!(vm.given_up.borrow().len(), 3);
        let threads = std::fs::read_to_string(dir.path().join("threads.jsonl")).unwrap();
        assert_eq!(threads.lines().count(), 1, "{threads}");
    }

    #[test]
    fn a_thread_that_waits_has_the_stack_of_its_last_sample() {
        let dir = tempfile::tempdir().unwrap();
        let recorder = recorder_in(dir.path());
        let stacks = stacks(dir.path(), SampleClock::Wall);
        let vm = Classes::default();
        assert!(stacks.add_class(ClassHandle(1), [RawMethod(16)].into_iter(), 0));
        let thread = ThreadId::new(7);
        stacks.add_waited(thread, 9);
        stacks.add(&recorder, &vm, &shot(200, 1), &[raw(0, 16)]);
        stacks.add_waited(thread, 2);
        stacks.add_waited(thread, 3);
        stacks.add(&recorder, &vm, &shot(300, 1), &[raw(4, 16)]);
        stacks.add_waited(thread, 4);
        stacks.add_waiting(400);
        stacks.add_waiting(500);
        stacks.write(&recorder, &vm, Duration::ZERO);
        let at = |bci, line| Ok(vec![(Some(0), Some(bci), Some(line))]);
        assert_eq!(
            read(dir.path()),
            [(100, 1, at(0, 10)), (200, 5, at(0, 10)), (200, 1, at(4, 11)), (300, 4, at(4, 11))]
        );
    }

    #[test]
    fn the_stack_of_a_thread_in_native_code_is_read_from_outside() {
        let dir = tempfile::tempdir().unwrap();
        let recorder = recorder_in(dir.path());
        let stacks = stacks(dir.path(), SampleClock::Wall);
        let vm =
            Classes { stack: vec![(RawMethod(24), -1), (RawMethod(16), 4)], ..Classes::default() };
        let methods = [RawMethod(16), RawMethod(24)];
        assert!(stacks.add_class(ClassHandle(1), methods.into_iter(), 0));
        let thread = ThreadId::new(7);
        let facts = ThreadFacts {
            id: thread,
            name: "seven".to_owned(),
            daemon: false,
            is_virtual: false,
            frames: 0,
        };
        assert_eq!(stacks.add_thread(facts.clone(), Some(ThreadHandle(70))), None);
        assert_eq!(stacks.add_thread(facts, Some(ThreadHandle(71))), Some(ThreadHandle(71)));
        stacks.add_apart(&recorder, &vm, shot(200, 0));
        stacks.add_waited(thread, 2);
        stacks.add_waiting(400);
        stacks.end_thread(thread, None, None);
        stacks.write(&recorder, &vm, Duration::ZERO);
        assert_eq!(vm.threads_given_up.borrow()[..], [ThreadHandle(70)]);
        stacks.add_apart(&recorder, &vm, shot(500, 0));
        stacks.write(&recorder, &vm, Duration::ZERO);
        let frames = || Ok(vec![(Some(1), Some(4), Some(11)), (Some(0), None, None)]);
        assert_eq!(read(dir.path()), [(100, 1, frames()), (300, 2, frames()), (400, 1, Err(8))]);
    }

    #[test]
    fn the_end_waits_for_what_is_still_to_be_written() {
        let dir = tempfile::tempdir().unwrap();
        let stacks = stacks(dir.path(), SampleClock::Cpu);
        assert!(stacks.end(Duration::ZERO), "nothing was started");
        stacks.begin();
        assert!(stacks.wait(Duration::ZERO));
        assert!(!stacks.end(Duration::from_millis(1)));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while stacks.wait(Duration::from_millis(1)) {}
                stacks.ended();
            });
            assert!(stacks.end(Duration::from_secs(20)));
        });
    }
}
