//! Classes that have been given probes, and are not prepared yet.
//!
//! The JVM lists a class as loaded only once it is defined, which may take long: in between, its loader is
//! asked for the superclass. So a class whose definition began before the end of a recording may get its
//! probes into the JVM after the end. They would stay, and record under wrong ids in the next recording. Each
//! class is prepared before its first method runs, and is detected then: see [`has_old_probes`].
//!
//! The same holds for a change of the filter, after which a class may also lack probes. So from then on all classes that are
//! defined are noted, and one that is not was defined before.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::sys::allocator;

/// A definition may fail, and then the class is never prepared. No more than this many are remembered.
const MAX_CLASSES: usize = 1 << 16;

static UNPREPARED: Mutex<Unprepared> = Mutex::new(Unprepared::new());

/// [`Unprepared::ended`].
static ENDED: AtomicU64 = AtomicU64::new(0);

/// [`Unprepared::notes_all`].
static NOTES_ALL: AtomicBool = AtomicBool::new(false);

#[derive(Debug)]
struct Unprepared {
    /// By the hash of the name.
    classes: HashMap<u64, Classes, BuildHasherDefault<DefaultHasher>>,
    /// How many recordings have ended.
    ended: u64,
    /// How often the probes that classes should have were others: after the end of a recording, or a change of its filter.
    epoch: u64,
    /// Classes are noted that get no probes, too: the filter of the recording has changed.
    notes_all: bool,
}

/// Classes of one name, in several loaders.
#[derive(Debug)]
struct Classes {
    count: u32,
    /// [`Unprepared::epoch`] when the first one was noted.
    epoch: u64,
}

/// Returns how many recordings have ended. To be called before the current recording is looked up. Takes no
/// lock: in a copy of the process, a thread that does not exist there may hold it.
pub(in crate::jvm) fn recordings_ended() -> u64 {
    // Pairs with `recording_ended`.
    ENDED.load(Ordering::Acquire)
}

/// Records that a class that is being defined gets probes. Returns whether it may have them: not if more than
/// `ended` recordings have ended, the class's own among them. A recording that a fault has stopped has not
/// ended yet: a thread that still records exits must have probes in this class.
pub(in crate::jvm) fn note(class: &str, ended: u64) -> bool {
    let mut unprepared = UNPREPARED.lock();
    let may = unprepared.ended == ended;
    if may {
        unprepared.add(class);
    }
    may
}

/// To be called when a recording is over, before the loaded classes are listed to remove their probes.
pub(in crate::jvm) fn recording_ended() {
    let mut unprepared = UNPREPARED.lock();
    unprepared.ended += 1;
    unprepared.epoch += 1;
    unprepared.notes_all = false;
    NOTES_ALL.store(false, Ordering::Relaxed);
    // Pairs with `recordings_ended`.
    ENDED.store(unprepared.ended, Ordering::Release);
}

/// To be called when the filter changes, while no class is rewritten, and before the loaded classes are listed to be rewritten.
pub(in crate::jvm) fn filter_changed() {
    let mut unprepared = UNPREPARED.lock();
    unprepared.epoch += 1;
    unprepared.notes_all = true;
    NOTES_ALL.store(true, Ordering::Relaxed);
}

/// Whether classes without probes must be noted, too. Exact while the filter cannot change.
pub(in crate::jvm) fn notes_all() -> bool {
    NOTES_ALL.load(Ordering::Relaxed)
}

/// Records that a class is being prepared. Returns whether it may have probes of an earlier recording or filter; `None` if that
/// is not known, because it was defined before the filter changed.
pub(in crate::jvm) fn has_old_probes(class: &str) -> Option<bool> {
    UNPREPARED.lock().remove(class)
}

/// Returns whether [`has_old_probes`] must be called for classes while nothing is recorded.
pub(in crate::jvm) fn are_there() -> bool {
    !UNPREPARED.lock().classes.is_empty()
}

impl Unprepared {
    const fn new() -> Self {
        Self {
            classes: HashMap::with_hasher(BuildHasherDefault::new()),
            ended: 0,
            epoch: 0,
            notes_all: false,
        }
    }

    fn add(&mut self, class: &str) {
        let Self { classes, epoch, .. } = self;
        let has_room =
            classes.len() < MAX_CLASSES && allocator::try_to(|| classes.try_reserve(1)).is_ok();
        let hash = hash(class);
        if has_room || classes.contains_key(&hash) {
            classes.entry(hash).or_insert(Classes { count: 0, epoch: *epoch }).count += 1;
        }
    }

    fn remove(&mut self, class: &str) -> Option<bool> {
        let hash = hash(class);
        let Some(classes) = self.classes.get_mut(&hash) else {
            return (!self.notes_all).then_some(false);
        };
        classes.count -= 1;
        let is_old = classes.epoch < self.epoch;
        if classes.count == 0 {
            self.classes.remove(&hash);
        }
        Some(is_old)
    }
}

fn hash(class: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    class.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_that_is_prepared_after_the_end_has_old_probes() {
        let mut unprepared = Unprepared::new();
        unprepared.add("a.A");
        unprepared.add("a.B");
        let is_old = Some(true);
        assert_eq!(
            (unprepared.remove("a.A"), unprepared.remove("a.C")),
            (Some(false), Some(false))
        );
        unprepared.epoch += 1;
        unprepared.add("a.A");
        assert_eq!(unprepared.remove("a.B"), is_old);
        assert_eq!(unprepared.remove("a.A"), Some(false), "of the next recording");
        assert!(unprepared.classes.is_empty());
    }

    #[test]
    fn any_of_several_classes_of_one_name_may_have_old_probes() {
        let mut unprepared = Unprepared::new();
        unprepared.add("a.A");
        unprepared.epoch += 1;
        unprepared.add("a.A");
        let is_old = Some(true);
        assert_eq!((unprepared.remove("a.A"), unprepared.remove("a.A")), (is_old, is_old));
        assert_eq!(unprepared.remove("a.A"), Some(false));
    }

    #[test]
    fn after_a_change_of_the_filter_nothing_is_known_of_classes_that_were_defined_before() {
        let mut unprepared = Unprepared::new();
        unprepared.add("a.A");
        unprepared.epoch += 1;
        unprepared.notes_all = true;
        unprepared.add("a.B");
        assert_eq!(unprepared.remove("a.A"), Some(true));
        assert_eq!(unprepared.remove("a.B"), Some(false));
        assert_eq!(unprepared.remove("a.C"), None);
    }

    #[test]
    fn memory_has_a_bound() {
        let mut unprepared = Unprepared::new();
        (0..MAX_CLASSES + 10).for_each(|number| unprepared.add(&format!("a.A{number}")));
        assert_eq!(unprepared.classes.len(), MAX_CLASSES);
    }
}
