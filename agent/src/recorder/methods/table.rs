//! Which of the JVM's methods are recorded, and with which id.
//!
//! An event names a method by the JVM's handle. The handle means nothing once the class is unloaded, and its
//! number may then be given to another method. So a handle is resolved during the event, while its class is
//! alive, and everything known about a class's handles is forgotten when a class is prepared
//! ([`MethodTable::forget`]), which the JVM does before any method of it runs.
//!
//! A look-up has two steps: a small table per OS thread (HOT), then a table that all threads share. The
//! generation invalidates the small tables when the shared one changes.

use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use flow_codec::MethodId;
use flow_codec::format::flow::Encoded;
use flow_codec::format::ids::{CLASS, FIELD, key};
use flow_codec::format::manifest::NotRecorded;
use flow_codec::format::methods::MethodInfo;
use parking_lot::{Mutex, RwLock, RwLockReadGuard};

use super::facts::{DescribeMethod, MethodFacts, RawMethod};
use super::filters::{FilterNumber, Filters};
use super::left_out::LeftOut;
use super::reached::ReachedLines;
use crate::certain::Certain as _;
use crate::filter::{FilterSpec, LoaderKind, Verdict};
use crate::recorder::{Assigned, IdTable};
use crate::sink::SinkError;
use crate::sys::allocator;

/// What a handle refers to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ResolvedMethod {
    /// The method's id, if it is recorded.
    id: Option<MethodId>,
    /// Whether the method returns an object or an array.
    pub returns_reference: bool,
    /// Whether the JVM calls it to find a class. If it throws, the JVM may throw another exception, without an event.
    pub finds_classes: bool,
    /// Whether the filters of this recording decide differently about the method.
    pub is_disputed: bool,
    /// The filter that was in force.
    pub filter: FilterNumber,
}

impl ResolvedMethod {
    /// How an entry of the method is recorded; `None` if it is not.
    #[must_use]
    pub fn recorded(self) -> Option<Recorded> {
        self.id.map(|id| Recorded(Encoded::enter(id)))
    }
}

/// A recorded method: the encoded form of its entry.
#[derive(Clone, Copy, Debug)]
pub struct Recorded(Encoded);

impl Recorded {
    /// What an entry of the method appends to a chunk.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

const SHARDS: usize = 64;

/// A shard with this many handles is emptied. Handles of unloaded classes are never looked up again, and the
/// others are resolved again at their next event.
const MAX_HANDLES: usize = 4096;

/// The methods seen so far.
#[derive(Debug)]
pub struct MethodTable {
    filters: Filters,
    shards: [RwLock<HashMap<RawMethod, ResolvedMethod>>; SHARDS],
    generation: AtomicU64,
    /// Changes with the filter.
    filter_generation: AtomicU64,
    ids: Mutex<IdTable>,
    described: Arc<AtomicU64>,
    left_out: Mutex<LeftOut>,
    reached: ReachedLines,
    /// Classes whose objects are left out of values.
    redacted: RwLock<BTreeSet<MethodId>>,
}

/// Every table has a different generation, so that no two tables share an entry of [`RECENT`].
static GENERATIONS: AtomicU64 = AtomicU64::new(1);

impl MethodTable {
    /// Creates a table that selects methods with `filter` and takes ids from `ids`.
    #[must_use]
    pub fn new(filter: FilterSpec, ids: IdTable) -> Self {
        Self {
            filters: Filters::new(filter),
            shards: std::array::from_fn(|_| RwLock::default()),
            generation: AtomicU64::new(next_generation()),
            filter_generation: AtomicU64::new(next_generation()),
            described: ids.described(),
            ids: Mutex::new(ids),
            left_out: Mutex::default(),
            reached: ReachedLines::default(),
            redacted: RwLock::default(),
        }
    }

    /// Returns what the handle refers to. The name of a recorded method is on disk before this returns.
    ///
    /// # Errors
    /// The name cannot be written.
    pub fn look_up(
        &self,
        raw: RawMethod,
        describe: &impl DescribeMethod,
    ) -> Result<ResolvedMethod, SinkError> {
        loop {
            // Pairs with the stores in `forget` and `change_filter`.
            let generation = self.generation.load(Ordering::Acquire);
            if let Some(resolved) = recent(raw, generation) {
                return Ok(resolved);
            }
            if let Some(resolved) = self.look_up_shared(raw, generation, describe)? {
                remember(raw, generation, resolved);
                return Ok(resolved);
            }
        }
    }

    /// Returns `None` if the generation changes meanwhile. So a thread that has seen a result of a filter sees none of an
    /// earlier filter after that.
    #[cold]
    fn look_up_shared(
        &self,
        raw: RawMethod,
        generation: u64,
        describe: &impl DescribeMethod,
    ) -> Result<Option<ResolvedMethod>, SinkError> {
        let shard = &self.shards[spread(raw) % SHARDS];
        if let Some(resolved) = shard.read().get(&raw)
            && resolved.filter == self.filters.changes()
        {
            return Ok(Some(*resolved));
        }
        // Called without a lock: the JVM may stop this thread here. Two threads may both ask; they get the
        // same id.
        let facts = describe.facts();
        let judged = self.filters.judge(facts.as_ref());
        // Within one generation there is one filter: both change together.
        if self.generation.load(Ordering::Acquire) != generation {
            return Ok(None);
        }
        let resolved = match facts {
            Some(facts) => ResolvedMethod {
                returns_reference: returns_reference(&facts.info.descriptor),
                finds_classes: facts.info.name == "loadClass"
                    && facts.info.descriptor == "(Ljava/lang/String;)Ljava/lang/Class;",
                is_disputed: judged.is_disputed,
                filter: judged.number,
                id: self.resolve(judged.verdict, facts, describe)?,
            },
            None => ResolvedMethod { filter: judged.number, ..ResolvedMethod::default() },
        };
        let mut shard = shard.write();
        if shard.len() >= MAX_HANDLES {
            shard.clear();
            // Otherwise `forget` would not know that threads remember one of these.
            self.generation.store(next_generation(), Ordering::Release);
        }
        allocator::try_to(|| shard.try_reserve(1)).map_err(SinkError::no_memory)?;
        shard.insert(raw, resolved);
        Ok(Some(resolved))
    }

    fn resolve(
        &self,
        verdict: Verdict,
        facts: MethodFacts,
        describe: &impl DescribeMethod,
    ) -> Result<Option<MethodId>, SinkError> {
        let MethodFacts { mut info, .. } = facts;
        match verdict {
            Verdict::Record => {
                describe.locate(&mut info);
                self.ids.lock().assign(info).map(Some)
            }
            Verdict::Exclude => Ok(None),
            Verdict::NotRecorded(reason) => {
                let key = key(&info.class, &info.name, &info.descriptor);
                self.leave_out(reason.name(), key);
                Ok(None)
            }
        }
    }

    /// The filter of methods that is in force. It does not change as long as the result is held.
    pub fn filter(&self) -> RwLockReadGuard<'_, FilterSpec> {
        self.filters.current()
    }

    /// Records other methods from now on. Lines are recorded of the same ones. `and` runs at that moment, while nobody holds
    /// the [filter](Self::filter).
    ///
    /// # Errors
    /// There have been very many filters.
    pub fn change_filter(&self, filter: FilterSpec, and: impl FnOnce()) -> Result<(), String> {
        self.filters.replace(filter, || {
            // Pairs with the loads in `look_up` and `look_up_shared`.
            self.generation.store(next_generation(), Ordering::Release);
            self.filter_generation.store(next_generation(), Ordering::Release);
            and();
        })
    }

    /// A number that is different for each filter of each table.
    #[must_use]
    pub fn filter_generation(&self) -> u64 {
        self.filter_generation.load(Ordering::Acquire)
    }

    /// How often the filter has changed.
    #[must_use]
    pub fn filter_changes(&self) -> FilterNumber {
        self.filters.changes()
    }

    /// Returns whether the filter with this number selects a method.
    #[must_use]
    pub fn is_selected_by(&self, number: FilterNumber, facts: &MethodFacts) -> bool {
        self.filters.selected(number, facts)
    }

    /// Returns whether methods of a class may be or have been recorded.
    #[must_use]
    pub fn may_have_selected(&self, class: &str, types: &[String], loader: LoaderKind) -> bool {
        self.filters.may_have_selected(class, types, loader)
    }

    /// Returns whether fields of objects of a class are stored, because the class may be recorded.
    #[must_use]
    pub fn may_have_fields_of(&self, class: &str, loader: LoaderKind) -> bool {
        self.filters.may_have_fields_of(class, loader)
    }

    /// Returns the ids and versions of methods of a class, all of which are recorded. Their names are on disk before this
    /// returns.
    ///
    /// # Errors
    /// The names cannot be written.
    pub fn assign_all(&self, methods: Vec<MethodInfo>) -> Result<Vec<Assigned>, SinkError> {
        self.ids.lock().assign_all(methods)
    }

    /// Returns the id of a class of exceptions. Its name is on disk before this returns.
    ///
    /// # Errors
    /// The name cannot be written.
    pub fn assign_class(&self, class: String, loader: String) -> Result<MethodId, SinkError> {
        let (name, is_redacted) = (CLASS.to_owned(), self.filter().redacts(&class));
        let info = MethodInfo { class, name, loader, ..MethodInfo::default() };
        let id = self.ids.lock().assign(info)?;
        if is_redacted {
            self.redacted.write().insert(id);
        }
        Ok(id)
    }

    /// Returns the id of a field. Its name is on disk before this returns.
    ///
    /// # Errors
    /// The name cannot be written.
    pub fn assign_field(&self, class: String, name: &str) -> Result<MethodId, SinkError> {
        let name = format!("{FIELD}{name}");
        self.ids.lock().assign(MethodInfo { class, name, ..MethodInfo::default() })
    }

    /// Returns whether values of a class are left out: also if some are, and it is not known which class it is.
    #[must_use]
    pub fn redacts(&self, class: Option<MethodId>) -> bool {
        !self.filter().redact.is_empty()
            && class.is_none_or(|class| self.redacted.read().contains(&class))
    }

    /// Returns the id that a method will have if it is ever recorded.
    ///
    /// # Errors
    /// No ids are left.
    pub fn reserve(&self, key: &str) -> Result<MethodId, SinkError> {
        self.ids.lock().reserve(key)
    }

    /// The lines that are recorded once.
    #[must_use]
    pub fn reached(&self) -> &ReachedLines {
        &self.reached
    }

    /// Records that the engine leaves out a method that the filter selects.
    pub fn leave_out(&self, reason: &'static str, key: String) {
        self.left_out.lock().add(reason, key);
    }

    /// Forgets handles whose class is being prepared: what was known about them belongs to a class that was
    /// unloaded.
    pub fn forget(&self, methods: impl IntoIterator<Item = RawMethod>) {
        let mut known = false;
        for raw in methods {
            let shard = &self.shards[spread(raw) % SHARDS];
            if shard.read().contains_key(&raw) {
                known |= shard.write().remove(&raw).is_some();
            }
        }
        if known {
            // Pairs with the load in `look_up`. A thread that runs a method of the new class has synchronised
            // with its preparation, so it sees the new generation.
            self.generation.store(next_generation(), Ordering::Release);
        }
    }

    /// Names no methods from now on. Waits for a thread that is naming some: otherwise its methods would be in one file
    /// and not in the other.
    pub(in crate::recorder) fn finish(&self, deadline: Instant) {
        if let Some(mut ids) = self.ids.try_lock_until(deadline) {
            ids.finish();
        }
    }

    /// Closes the files: nothing is part of the recording any more.
    pub(in crate::recorder) fn close(&self) {
        self.ids.lock().close();
    }

    /// How many ids have a line in `methods.jsonl`.
    pub(in crate::recorder) fn described(&self) -> u64 {
        self.described.load(Ordering::Relaxed)
    }

    /// Methods that the filter selects and the engine leaves out, by reason.
    pub(in crate::recorder) fn not_recorded(&self) -> Vec<NotRecorded> {
        self.left_out.lock().groups()
    }
}

fn returns_reference(descriptor: &str) -> bool {
    descriptor.rsplit_once(')').is_some_and(|(_, returned)| returned.starts_with(['L', '[']))
}

fn next_generation() -> u64 {
    GENERATIONS.fetch_add(1, Ordering::Relaxed)
}

/// Handles are addresses or small numbers; this makes all bits count.
fn spread(raw: RawMethod) -> usize {
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
    let mixed = (raw.0 as u64).wrapping_mul(GOLDEN) >> 32;
    usize::try_from(mixed).certain()
}

const RECENT: usize = 256;

/// The last look-ups of an OS thread; generation 0 marks an empty entry.
#[derive(Clone, Copy)]
struct Recent {
    raw: RawMethod,
    generation: u64,
    resolved: ResolvedMethod,
}

thread_local! {
    static LAST_SEEN: [Cell<Recent>; RECENT] = const {
        [const {
            let resolved = ResolvedMethod {
                id: None,
                returns_reference: false,
                finds_classes: false,
                is_disputed: false,
                filter: 0,
            };
            Cell::new(Recent { raw: RawMethod(0), generation: 0, resolved })
        }; RECENT]
    };
}

#[inline]
fn recent(raw: RawMethod, generation: u64) -> Option<ResolvedMethod> {
    let entry = LAST_SEEN.with(|entries| entries[spread(raw) % RECENT].get());
    (entry.raw == raw && entry.generation == generation).then_some(entry.resolved)
}

fn remember(raw: RawMethod, generation: u64, resolved: ResolvedMethod) {
    LAST_SEEN
        .with(|entries| entries[spread(raw) % RECENT].set(Recent { raw, generation, resolved }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::StartIds;
    use crate::sink::LineFile;
    use std::fs;
    use std::path::Path;

    pub(crate) struct Named(&'static str, &'static str);

    impl DescribeMethod for Named {
        fn facts(&self) -> Option<MethodFacts> {
            let info = MethodInfo {
                class: self.0.to_owned(),
                name: self.1.to_owned(),
                descriptor: "()V".to_owned(),
                loader: "app".to_owned(),
                ..MethodInfo::default()
            };
            let native = self.1 == "nativeOne";
            let loader = LoaderKind::Application;
            let (synthetic, accessor, hidden) = (false, false, false);
            let types = Vec::new();
            Some(MethodFacts { info, loader, types, native, synthetic, accessor, hidden })
        }

        fn locate(&self, info: &mut MethodInfo) {
            info.line = Some(7);
        }
    }

    fn table(dir: &Path) -> MethodTable {
        let file = |name: &str| LineFile::create(&dir.join(name)).unwrap();
        let ids = IdTable::new(StartIds::default(), file("ids"), file("methods")).unwrap();
        let exclude = vec![flow_codec::Glob::new("x.**")];
        let filter = FilterSpec { exclude, ..FilterSpec::default() };
        MethodTable::new(filter, ids)
    }

    fn first_byte(resolved: ResolvedMethod) -> Option<u8> {
        resolved.recorded().map(|recorded| recorded.as_bytes()[0])
    }

    #[test]
    fn a_reused_handle_is_resolved_anew_after_its_class_is_prepared() {
        let dir = tempfile::tempdir().unwrap();
        let table = table(dir.path());
        let raw = RawMethod(0x7f00);
        let look_up = |name| first_byte(table.look_up(raw, &name).unwrap());
        assert_eq!(look_up(Named("a.A", "m")), Some(0x80));
        assert_eq!(look_up(Named("a.B", "m")), Some(0x80), "known, so not asked again");
        table.forget([raw]);
        assert_eq!(look_up(Named("a.B", "m")), Some(0x81));
        assert_eq!(fs::read_to_string(dir.path().join("ids")).unwrap(), "a.A#m()V=0\na.B#m()V=1\n");
    }

    #[test]
    fn the_number_of_handles_is_bounded_and_all_resolve() {
        let dir = tempfile::tempdir().unwrap();
        let table = table(dir.path());
        let look_up = |raw, name| first_byte(table.look_up(RawMethod(raw), &name).unwrap());
        assert_eq!(look_up(0, Named("a.A", "m")), Some(0x80));
        let handles = SHARDS * MAX_HANDLES * 2;
        (1..handles).for_each(|raw| assert_eq!(look_up(raw, Named("a.B", "m")), Some(0x81)));
        let known: usize = table.shards.iter().map(|shard| shard.read().len()).sum();
        assert!(known <= SHARDS * MAX_HANDLES, "{known}");
        // Dropped from the table, but not by this thread: it must be resolved again.
        table.forget([RawMethod(handles - 1), RawMethod(0)]);
        assert_eq!(look_up(0, Named("a.C", "m")), Some(0x82));
        assert_eq!(look_up(handles - 1, Named("a.A", "m")), Some(0x80));
    }

    #[test]
    fn a_descriptor_shows_whether_a_method_returns_a_reference() {
        for (descriptor, expected) in
            [("()V", false), ("(Ljava/lang/String;)I", false), ("(I)La/B;", true), ("()[I", true)]
        {
            assert_eq!(returns_reference(descriptor), expected, "{descriptor}");
        }
    }

    #[test]
    fn methods_that_are_left_out_are_named_unless_excluded() {
        let dir = tempfile::tempdir().unwrap();
        let table = table(dir.path());
        assert!(table.look_up(RawMethod(8), &Named("x.A", "m")).unwrap().id.is_none());
        assert!(table.look_up(RawMethod(16), &Named("a.A", "nativeOne")).unwrap().id.is_none());
        let left_out = table.not_recorded();
        assert_eq!(left_out.len(), 1);
        assert_eq!((&*left_out[0].reason, left_out[0].count), ("native", 1));
        assert_eq!(left_out[0].methods, ["a.A#nativeOne()V"]);
        assert_eq!(table.described(), 0);
    }

    #[test]
    fn threads_agree_on_ids_and_ids_are_dense() {
        let dir = tempfile::tempdir().unwrap();
        let table = table(dir.path());
        let names: Vec<&'static str> =
            (0..200).map(|i| &*Box::leak(format!("m{i}").into_boxed_str())).collect();
        let runs: Vec<Vec<Vec<u8>>> = std::thread::scope(|scope| {
            let handles: Vec<_> = (0..8)
                .map(|turn| {
                    let (table, names) = (&table, &names);
                    scope.spawn(move || {
                        let mut seen = vec![Vec::new(); names.len()];
                        for i in 0..names.len() {
                            let at = (i * 37 + turn * 11) % names.len();
                            let raw = RawMethod(8 * (at + 1));
                            let resolved = table.look_up(raw, &Named("a.A", names[at])).unwrap();
                            seen[at] = resolved.recorded().unwrap().as_bytes().to_vec();
                        }
                        seen
                    })
                })
                .collect();
            handles.into_iter().map(|handle| handle.join().unwrap()).collect()
        });
        assert!(runs.iter().all(|run| *run == runs[0]));
        let lines = fs::read_to_string(dir.path().join("ids")).unwrap();
        let mut ids: Vec<u64> =
            lines.lines().map(|line| line.rsplit_once('=').unwrap().1.parse().unwrap()).collect();
        ids.sort_unstable();
        assert_eq!(ids, (0..200).collect::<Vec<_>>());
    }
}
