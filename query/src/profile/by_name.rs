//! Samples or calls of one run, or of two, by the names of threads and methods.

use std::collections::HashMap;

use super::lean::{LeanFrame, LeanMethod, LeanPlace, LeanProfile, Numbers};
use super::numbered::Numbered;
use crate::analysis::{PathNode, PathTree, Paths, ROOT, Run};
use flow_codec::format::hpl::NATIVE_BCI;
use flow_codec::format::methods::{Inlined, MethodInfo};
use flow_codec::read::Methods;
use flow_codec::{MethodId, ThreadId};

/// Which frames are one.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum FrameGrouping {
    /// Those of the same method.
    #[default]
    Method,
    /// Those at the same line of a method.
    Line,
    /// Those at the same instruction of a method.
    Bci,
}

/// Which threads are one.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum ThreadGrouping {
    /// All.
    #[default]
    Merged,
    /// Threads with the same name are one, and all threads without a name are one.
    Name,
    /// None.
    Id,
}

/// A thread, or the threads that are one.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
#[non_exhaustive]
pub struct ProfileThread {
    /// Its number, if it is one thread.
    pub id: Option<i64>,
    /// The name, empty for the threads that have none; `None` for all threads together.
    pub name: Option<String>,
}

/// A frame, or the frames that are one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct ProfileFrame {
    /// The method, one of [`Profile::methods`].
    pub method: MethodId,
    /// The line, if frames are distinguished by it and it is known.
    pub line: Option<u32>,
    /// The bytecode index, if frames are distinguished by it and it is known; [`NATIVE_BCI`] in a native method.
    pub bci: Option<i32>,
}

/// What a method is identified by.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct MethodKey {
    class: String,
    name: String,
    descriptor: String,
}

/// The figures of two runs, the second one empty if there is only one.
pub type NumbersOfRuns = [Numbers; 2];

/// Samples or calls added up by thread and path, with names.
///
/// A row for each thread is the parent of rows for its outermost frames, and so on. The totals of a thread are the number
/// and the time of its samples.
///
/// Where calls were recorded and not sampled, a count is a number of calls: *self* of the method, *total* with all calls
/// made meanwhile, as in a [`Report`](crate::analysis::Report) without times.
#[derive(Clone, Default, Debug)]
pub struct Profile {
    frame_grouping: FrameGrouping,
    thread_grouping: ThreadGrouping,
    methods: Methods,
    method_ids: HashMap<MethodKey, MethodId>,
    pub(super) frames: Numbered<ProfileFrame>,
    pub(super) threads: Numbered<ProfileThread>,
    pub(super) nodes: Paths<NumbersOfRuns>,
    whole: NumbersOfRuns,
}

/// A row of a profile, with what its figures are shares of.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ProfileRow<'a> {
    /// The thread.
    pub thread: &'a ProfileThread,
    /// The frame; `None` for the row of the thread.
    pub frame: Option<ProfileFrame>,
    /// How many frames are between it and the thread.
    pub depth: usize,
    /// The number of this row, and that of its parent; that of a thread is 0.
    pub number: u32,
    /// The number of the parent.
    pub parent: u32,
    /// The figures of both runs.
    pub numbers: NumbersOfRuns,
    /// Those of its parent.
    pub of_parent: NumbersOfRuns,
    /// Those of its thread.
    pub of_thread: NumbersOfRuns,
}

impl Profile {
    /// Creates an empty one.
    #[must_use]
    pub fn new(frame_grouping: FrameGrouping, thread_grouping: ThreadGrouping) -> Self {
        Self { frame_grouping, thread_grouping, ..Self::default() }
    }

    /// Adds the samples of threads that are chosen by their numbers and names to a run. Those of several profiles are added
    /// up. Of a frame that is not shown, its callees move up to its caller, which also gets its samples; the thread has all.
    pub fn add_samples(
        &mut self,
        run: Run,
        profile: &LeanProfile,
        mut is_chosen: impl FnMut(i64, &str) -> bool,
        is_shown: impl Fn(&LeanMethod) -> bool,
    ) {
        let unknown = LeanMethod::default();
        // By node of the other profile: whether it is a thread, and where it is; `None` in threads that are left out.
        let mut places: Vec<Option<(bool, u32)>> = Vec::new();
        for node in profile.nodes() {
            let parent = node.parent.and_then(|parent| places.get(parent).copied().flatten());
            let (is_outermost, parent) = parent.unzip();
            let (here, numbers) = match (node.place, parent) {
                (LeanPlace::Thread(thread), _) => {
                    let name = profile.threads().get(&thread).map_or("", String::as_str);
                    if !is_chosen(thread, name) {
                        places.push(None);
                        continue;
                    }
                    let Numbers { self_count, self_ns, .. } = node.numbers;
                    let samples = Numbers {
                        total_count: self_count,
                        total_ns: self_ns,
                        ..Numbers::default()
                    };
                    (self.thread(thread, name), samples)
                }
                (LeanPlace::Frame(frame), Some(parent))
                    if !is_shown(profile.methods().get(&frame.method).unwrap_or(&unknown)) =>
                {
                    let Numbers { self_count, self_ns, .. } = node.numbers;
                    let is_thread = self.is_thread(parent);
                    let of_self = Numbers { self_count, self_ns, ..Numbers::default() };
                    (parent, if is_thread { Numbers::default() } else { of_self })
                }
                (LeanPlace::Frame(frame), Some(parent)) => {
                    let frame = self.frame(frame, profile.methods().get(&frame.method));
                    let number = self.frames.number(&frame);
                    (self.nodes.child(parent, number), node.numbers)
                }
                (LeanPlace::Frame(_), None) => {
                    places.push(None);
                    continue;
                }
            };
            self.count(run, here, numbers, node.parent.is_none());
            // Each sample has one outermost frame, which waits as long as the thread.
            if let Some(thread) = parent.filter(|_| is_outermost == Some(true)) {
                let waiting_ns = node.numbers.waiting_ns;
                self.count(run, thread, Numbers { waiting_ns, ..Numbers::default() }, true);
            }
            places.push(Some((node.parent.is_none(), here)));
        }
    }

    /// Adds the calls of a thread to a run. Times are those of the tree, if it has any.
    pub fn add_calls(
        &mut self,
        run: Run,
        thread: ThreadId,
        name: &str,
        tree: &PathTree,
        methods: &Methods,
    ) {
        let id = i64::try_from(thread.get()).unwrap_or(i64::MAX);
        let root = self.thread(id, name);
        let has_time = tree.axis().is_some();
        let ns = |ns: u64| if has_time { i64::try_from(ns).unwrap_or(i64::MAX) } else { 0 };
        // Calls made on each path, itself included. Children come after their parents.
        let rows: Vec<_> = tree.rows().collect();
        let mut made = vec![0_u64; tree.len() + 1];
        for (path, row) in rows.iter().rev() {
            let here = made.get_mut(at(path.get())).map_or(0, |here| {
                *here = here.saturating_add(row.calls);
                *here
            });
            let parent = tree.parent(*path).map_or(0, |parent| at(parent.get()));
            if let Some(parent) = made.get_mut(parent) {
                *parent = parent.saturating_add(here);
            }
        }
        let mut places = vec![root; tree.len() + 1];
        for (path, row) in rows {
            let parent = tree.parent(path).and_then(|parent| places.get(at(parent.get())));
            let parent = parent.copied().unwrap_or(root);
            let info = methods.get(row.method).map(|method| &method.info);
            let method = self.method_of_calls(row.method, info);
            let frame = self.frames.number(&ProfileFrame { method, line: None, bci: None });
            let here = self.nodes.child(parent, frame);
            let numbers = Numbers {
                total_count: made.get(at(path.get())).copied().unwrap_or_default(),
                self_count: row.calls,
                total_ns: ns(row.total),
                self_ns: ns(row.self_weight),
                waiting_ns: ns(row.waiting_ns),
            };
            self.count(run, here, numbers, false);
            if let Some(place) = places.get_mut(at(path.get())) {
                *place = here;
            }
        }
        let (total_ns, waiting_ns) = (ns(tree.weight()), ns(tree.waiting_ns(tree.root())));
        let numbers =
            Numbers { total_count: tree.calls(), total_ns, waiting_ns, ..Numbers::default() };
        self.count(run, root, numbers, true);
    }

    fn is_thread(&self, node: u32) -> bool {
        self.nodes.node(node).is_some_and(|node| node.parent == ROOT)
    }

    fn count(&mut self, run: Run, node: u32, numbers: Numbers, is_thread: bool) {
        let of = |runs: &mut NumbersOfRuns| match run {
            Run::Before => runs[0].add(numbers),
            Run::After => runs[1].add(numbers),
        };
        if let Some(runs) = self.nodes.counts_mut(node) {
            of(runs);
        }
        if is_thread {
            of(&mut self.whole);
        }
    }

    fn thread(&mut self, id: i64, name: &str) -> u32 {
        let thread = match self.thread_grouping {
            ThreadGrouping::Merged => ProfileThread::default(),
            ThreadGrouping::Name => ProfileThread { id: None, name: Some(name.to_owned()) },
            ThreadGrouping::Id => {
                let name = if name.is_empty() { format!("thread {id}") } else { name.to_owned() };
                ProfileThread { id: Some(id), name: Some(name) }
            }
        };
        self.nodes.child(ROOT, self.threads.number(&thread))
    }

    fn frame(&mut self, frame: LeanFrame, known: Option<&LeanMethod>) -> ProfileFrame {
        let method = match known {
            Some(LeanMethod { file, class, name, descriptor, inlined }) => {
                let source = Some(file.clone()).filter(|file| !file.is_empty());
                self.method([class, name, descriptor], source, inlined)
            }
            None => self.method(["", &format!("?#{}", frame.method), ""], None, &[]),
        };
        let line = u32::try_from(frame.line).ok().filter(|line| *line > 0);
        let line = line.map(|line| match known {
            Some(known) => self.line(method, line, known),
            None => line,
        });
        let bci = Some(frame.bci).filter(|bci| *bci >= 0 || *bci == NATIVE_BCI);
        match self.frame_grouping {
            FrameGrouping::Method => ProfileFrame { method, line: None, bci: None },
            FrameGrouping::Line => ProfileFrame { method, line, bci: None },
            FrameGrouping::Bci => ProfileFrame { method, line, bci },
        }
    }

    fn method_of_calls(&mut self, id: MethodId, info: Option<&MethodInfo>) -> MethodId {
        match info {
            Some(info) => {
                let name = [&*info.class, &info.name, &info.descriptor];
                self.method(name, info.source.clone(), &info.inlined)
            }
            None => self.method(["", &format!("?#{id}"), ""], None, &[]),
        }
    }

    fn method(&mut self, name: [&str; 3], source: Option<String>, inlined: &[Inlined]) -> MethodId {
        let [class, name, descriptor] = name.map(str::to_owned);
        let key = MethodKey { class, name, descriptor };
        if let Some(id) = self.method_ids.get(&key) {
            return *id;
        }
        let id = MethodId::new(self.methods.len() as u64).unwrap_or(MethodId::MAX);
        let MethodKey { class, name, descriptor } = key.clone();
        let inlined = inlined.into();
        let known = MethodInfo { class, name, descriptor, source, ..MethodInfo::default() };
        self.methods.insert(id, MethodInfo { inlined, ..known });
        self.method_ids.insert(key, id);
        id
    }

    /// Returns the number of a line of a method that was recorded as `known`. The map of inlined lines of the method is the
    /// first one that was added. What another one maps differently gets a number that no other line has.
    fn line(&mut self, method: MethodId, number: u32, known: &LeanMethod) -> u32 {
        let find = |inlined: &[Inlined]| {
            inlined.iter().find_map(|from| Some((from.file.clone(), from.line_of(number)?)))
        };
        let Some(info) = self.methods.get(method).map(|method| &method.info) else { return number };
        if info.inlined == known.inlined {
            return number;
        }
        let (wanted, found) = (find(&known.inlined), find(&info.inlined));
        if wanted == found {
            return number;
        }
        let own = || {
            let package = known.class.rsplit_once('.').map_or("", |(package, _)| package);
            (format!("{}/{}", package.replace('.', "/"), known.file), number)
        };
        let (file, line) = wanted.unwrap_or_else(own);
        let same = |from: &&Inlined| from.file == file && from.count == 1 && from.line == line;
        if let Some(from) = info.inlined.iter().find(same) {
            return from.first.into();
        }
        let is_free =
            |number: &u16| info.inlined.iter().all(|from| from.line_of((*number).into()).is_none());
        let Some(first) = (1..=u16::MAX).rev().find(is_free) else { return number };
        let mut info = info.clone();
        let more = Inlined { first, count: 1, line, file };
        info.inlined = info.inlined.into_iter().chain([more]).collect();
        self.methods.insert(method, info);
        first.into()
    }

    /// Which threads are one.
    #[must_use]
    pub fn thread_grouping(&self) -> ThreadGrouping {
        self.thread_grouping
    }

    /// Lets names be those of the class files, as [`Methods::show_raw_names`] does.
    pub fn show_raw_names(&mut self) {
        self.methods.show_raw_names();
    }

    /// The methods of the frames.
    #[must_use]
    pub fn methods(&self) -> &Methods {
        &self.methods
    }

    /// The figures of all threads together.
    #[must_use]
    pub fn whole(&self) -> NumbersOfRuns {
        self.whole
    }

    /// How many threads there are, or groups of threads.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads.all().len()
    }

    /// How many rows there are, without those of threads.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.nodes().len() - 1 - self.threads()
    }

    /// Returns whether nothing was added.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All rows, depth first: each after its parent. `key` orders the rows below one parent, the smallest first.
    pub fn rows<K: Ord>(&self, mut key: impl FnMut(&ProfileRow<'_>) -> K) -> Vec<ProfileRow<'_>> {
        let children = self.children();
        let mut rows: Vec<ProfileRow<'_>> = Vec::with_capacity(children.len());
        // The rows still to visit, the next one last.
        let mut to_do: Vec<(K, ProfileRow<'_>)> = Vec::new();
        let mut next = None;
        loop {
            let number = next.map_or(ROOT, |row: ProfileRow<'_>| row.number);
            let start = to_do.len();
            for &child in children.get(at(number)).into_iter().flatten() {
                if let Some(row) = self.row(child, next.as_ref()) {
                    to_do.push((key(&row), row));
                }
            }
            if let Some(of_parent) = to_do.get_mut(start..) {
                of_parent.sort_by(|(a, one), (b, other)| (b, other.number).cmp(&(a, one.number)));
            }
            let Some((_, row)) = to_do.pop() else { return rows };
            rows.push(row);
            next = Some(row);
        }
    }

    /// The nodes directly below each one.
    fn children(&self) -> Vec<Vec<u32>> {
        let nodes = self.nodes.nodes();
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); nodes.len()];
        for (number, node) in (0..).zip(nodes).skip(1) {
            if let Some(of_parent) = children.get_mut(at(node.parent)) {
                of_parent.push(number);
            }
        }
        children
    }

    /// Visits all nodes, depth first, with the depth of each frame; `None` for a thread.
    pub(super) fn walk(&self, mut visit: impl FnMut(&PathNode<NumbersOfRuns>, Option<usize>)) {
        let children = self.children();
        let below = |node: u32| children.get(at(node)).into_iter().flatten().rev();
        let mut to_do: Vec<(u32, Option<usize>)> = below(ROOT).map(|node| (*node, None)).collect();
        while let Some((number, depth)) = to_do.pop() {
            if let Some(node) = self.nodes.node(number) {
                visit(node, depth);
            }
            let inner = depth.map_or(0, |depth| depth + 1);
            to_do.extend(below(number).map(|node| (*node, Some(inner))));
        }
    }

    fn row<'a>(&'a self, number: u32, parent: Option<&ProfileRow<'a>>) -> Option<ProfileRow<'a>> {
        let node = self.nodes.node(number)?;
        let numbers = node.counts;
        Some(match parent {
            None => ProfileRow {
                thread: self.threads.get(node.method)?,
                frame: None,
                depth: 0,
                number,
                parent: ROOT,
                numbers,
                of_parent: self.whole,
                of_thread: numbers,
            },
            Some(parent) => ProfileRow {
                thread: parent.thread,
                frame: Some(*self.frames.get(node.method)?),
                depth: parent.frame.map_or(0, |_| parent.depth + 1),
                number,
                parent: parent.number,
                numbers,
                of_parent: parent.numbers,
                of_thread: parent.of_thread,
            },
        })
    }
}

pub(super) fn at(node: u32) -> usize {
    usize::try_from(node).unwrap_or(usize::MAX)
}
