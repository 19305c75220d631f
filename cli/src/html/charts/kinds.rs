//! Which methods are the application's own, and which only wait.

use flow_codec::read::Trace;
use flow_codec::{Glob, MethodId, MethodMap};

use flow_query::select::{named_patterns, own_patterns};

/// Methods in which a thread waits, for work or for another thread: what a thread spends in them, or in what they
/// call, is no work. Classes of the JDK, so that no program has others of these names.
const WAITING: [&str; 22] = [
    "java.lang.Object#wait*",
    "java.lang.Thread#sleep*",
    "java.lang.Thread#join",
    "java.lang.VirtualThread#park*",
    "java.lang.VirtualThread#yieldContinuation",
    "java.lang.ProcessImpl#waitFor",
    "java.lang.ref.ReferenceQueue#remove*",
    "java.lang.ref.Reference#waitForReferencePendingList",
    "java.util.concurrent.locks.LockSupport#park*",
    "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject#await*",
    "java.util.concurrent.*Queue#take",
    "java.util.concurrent.*Queue#poll",
    "java.util.concurrent.SynchronousQueue$*#*transfer*",
    "java.util.concurrent.ForkJoinPool#awaitWork",
    "java.util.concurrent.ForkJoinPool#managedBlock",
    "java.util.concurrent.ScheduledThreadPoolExecutor$DelayedWorkQueue#take",
    "java.util.concurrent.TimeUnit#sleep",
    "jdk.internal.misc.Unsafe#park",
    "sun.nio.ch.*#epollWait",
    "sun.nio.ch.*#poll*",
    "sun.nio.ch.*SelectorImpl#doSelect",
    "sun.nio.ch.*#accept*",
];

/// The kind of each method.
#[derive(Default, Debug)]
pub(in crate::html) struct MethodKinds {
    kinds: MethodMap<MethodKind>,
    /// Whether the application's classes are known. If not, every method is its own.
    knows_own: bool,
}

/// The kind of one method.
#[derive(Clone, Copy, Default, Debug)]
pub(in crate::html) struct MethodKind {
    pub(in crate::html) is_own: bool,
    pub(in crate::html) waits: bool,
}

impl MethodKinds {
    /// The kinds of the methods of a trace.
    pub(in crate::html) fn new(trace: &Trace) -> Self {
        let globs = |patterns: &[&str]| patterns.iter().map(|p| Glob::new(p)).collect::<Vec<_>>();
        let (own, waiting) = (own_methods(trace), globs(&WAITING));
        let kind = |(id, method): (MethodId, &flow_codec::read::Method)| {
            let (class, name) = (&method.info().class, &method.info().name);
            let is_own = own.iter().any(|glob| glob.matches(class, name));
            let waits = waiting.iter().any(|glob| glob.matches(class, name));
            (is_own || waits).then_some((id, MethodKind { is_own, waits }))
        };
        let kinds = trace.methods().iter().filter_map(kind).collect();
        Self { kinds, knows_own: !own.is_empty() }
    }

    /// Kinds of methods for a test.
    #[cfg(test)]
    pub(in crate::html) fn of(
        kinds: impl IntoIterator<Item = (MethodId, MethodKind)>,
        knows_own: bool,
    ) -> Self {
        Self { kinds: kinds.into_iter().collect(), knows_own }
    }

    /// Whether the application's classes are known.
    pub(in crate::html) fn knows_own(&self) -> bool {
        self.knows_own
    }

    /// The kind of a method.
    pub(in crate::html) fn get(&self, id: MethodId) -> MethodKind {
        let kind = self.kinds.get(id).copied().unwrap_or_default();
        MethodKind { is_own: kind.is_own || !self.knows_own, ..kind }
    }
}

/// The patterns for the application's own methods, and for what was recorded by name beside them; none if the former are not known.
fn own_methods(trace: &Trace) -> Vec<Glob> {
    let own = own_patterns(trace);
    let named = if own.is_empty() { Vec::new() } else { named_patterns(trace) };
    own.iter().map(String::as_str).chain(named).map(Glob::new).collect()
}
