//! What is new in a thread.

use std::collections::HashMap;

use flow_codec::process::Reached;
use flow_codec::read::{Content, EventKind, Selection, ThreadFile};
use flow_codec::tree::LazyTree;
use flow_codec::{Error, MethodId};

/// How much of a thread is read at most; of more, only the end.
const MOST_BYTES: u64 = 1 << 20;
/// Of a longer thread, the frames that are open at the first look are not known.
const SEARCHED_BYTES: u64 = 256 << 20;

/// What a trace did, by method.
#[derive(Debug, Default)]
pub(super) struct Sums {
    pub(super) methods: HashMap<MethodId, Sum>,
    /// Calls by caller and callee.
    pub(super) edges: HashMap<(Option<MethodId>, MethodId), u64>,
    pub(super) calls: u64,
    pub(super) bytes: u64,
    pub(super) read_bytes: u64,
    pub(super) gaps: u64,
    pub(super) pauses: u64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum {
    pub(super) calls: u64,
    pub(super) self_ns: Option<u64>,
}

/// A thread that is being followed.
#[derive(Debug, Default)]
pub(super) struct Followed {
    reached: Reached,
    /// Open calls, and whether they are shown.
    stack: Vec<(MethodId, bool)>,
    /// Those that are shown.
    pub(super) shown: Vec<MethodId>,
    /// Whether there may be frames below these.
    pub(super) is_partial: bool,
    /// Up to when time was added to methods, and when the last event was.
    credited_ns: Option<u64>,
    pub(super) last_ns: Option<u64>,
    /// Its size at the last look.
    size: Option<(u64, u64, u64)>,
    /// Calls since the last look.
    pub(super) calls: u64,
}

impl Followed {
    /// Goes to the end of a thread, without adding up what it did until now.
    pub(super) fn skip_to_end(
        &mut self,
        file: &ThreadFile,
        selection: &Selection,
    ) -> Result<(), Error> {
        let content = Content::open(file)?;
        if content.len() <= SEARCHED_BYTES {
            let mut tree = LazyTree::open(file, &Default::default())?;
            // The last run of exits may become longer, so not to the very end.
            if let Some(last) = tree.index().intervals().last().map(|interval| interval.start) {
                for method in tree.open_methods(last)? {
                    self.enter(method, selection.contains(method));
                }
                self.reached.continue_at(last.offset);
            }
        }
        self.read(file, selection, &mut Sums::default())
    }

    /// Adds what is new.
    pub(super) fn read(
        &mut self,
        file: &ThreadFile,
        selection: &Selection,
        sums: &mut Sums,
    ) -> Result<(), Error> {
        self.calls = 0;
        let size = file.size();
        if self.size.replace(size) == Some(size) {
            return Ok(());
        }
        let content = Content::open(file)?;
        let new = content.len().saturating_sub(self.reached.next().get());
        sums.bytes += new;
        if new > MOST_BYTES {
            let Some(from) = file.recent_record(&content, MOST_BYTES)? else { return Ok(()) };
            self.reached.continue_at(from);
            (self.is_partial, self.credited_ns) = (true, None);
            self.stack.clear();
            self.shown.clear();
        }
        sums.read_bytes += content.len().saturating_sub(self.reached.next().get());
        let mut timeline = file.timeline_from(self.reached.next())?;
        while let Some(event) = timeline.next() {
            // Damage is skipped.
            let Ok(event) = event else { continue };
            let at = event.time.estimate_ns;
            match event.kind {
                EventKind::Enter(method) => {
                    self.pass_time(at, sums);
                    self.reached.continue_at(timeline.offset());
                    let is_shown = selection.contains(method);
                    if is_shown {
                        let caller = self.shown.last().copied();
                        *sums.edges.entry((caller, method)).or_default() += 1;
                        sums.methods.entry(method).or_default().calls += 1;
                        sums.calls += 1;
                        self.calls += 1;
                    }
                    self.enter(method, is_shown);
                }
                EventKind::Exit { count, .. } => {
                    let position = event.position;
                    let new = self.reached.pass_exits(position.offset, position.exits, count);
                    if let Some(new) = new {
                        self.pass_time(at, sums);
                        self.leave(new.get());
                    }
                }
                EventKind::Gap { .. } => {
                    sums.gaps += 1;
                    self.is_partial = true;
                }
                EventKind::Pause => sums.pauses += 1,
                _ => {}
            }
        }
        Ok(())
    }

    /// Adds the time until now to the method that is on top.
    pub(super) fn pass_time_until(&mut self, now_ns: u64, sums: &mut Sums) {
        let last = self.last_ns;
        self.pass_time(Some(now_ns), sums);
        self.last_ns = last;
    }

    fn pass_time(&mut self, at: Option<u64>, sums: &mut Sums) {
        let Some(at) = at else { return };
        self.last_ns = Some(at);
        let passed = self.credited_ns.map(|before| at.saturating_sub(before));
        self.credited_ns = self.credited_ns.max(Some(at));
        if let (Some(passed), Some(top)) = (passed, self.shown.last()) {
            let sum = sums.methods.entry(*top).or_default();
            sum.self_ns = Some(sum.self_ns.unwrap_or(0).saturating_add(passed));
        }
    }

    fn enter(&mut self, method: MethodId, is_shown: bool) {
        self.stack.push((method, is_shown));
        if is_shown {
            self.shown.push(method);
        }
    }

    fn leave(&mut self, count: u64) {
        let left = usize::try_from(count).unwrap_or(usize::MAX).min(self.stack.len());
        for (_, is_shown) in self.stack.drain(self.stack.len() - left..) {
            if is_shown {
                self.shown.pop();
            }
        }
    }
}
