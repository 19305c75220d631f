//! Classes of the JDK that are not rewritten, even if a filter selects them.
//!
//! The probes call nothing that could be rewritten, so this list is short: it holds what the JVM itself
//! depends on. Single methods are left out too: those with annotations for the JVM (it replaces some by its
//! own code, which has no probes, and relies on the stack use of others), and empty finalizers (a `finalize`
//! with code makes every object finalizable).

use crate::filter::is_or_is_nested_in;

/// A name that ends in `.` matches a package and those below it, one that ends in `$` only nested classes,
/// any other a class and its nested classes.
const SKIPPED: [&str; 11] = [
    // The end of every constructor call: the JVM registers finalizable objects when it returns.
    "java.lang.Object",
    // Run by threads that have no id yet, or while the current thread changes.
    "java.lang.Thread",
    "java.lang.ThreadGroup",
    "java.lang.VirtualThread",
    "java.lang.BaseVirtualThread",
    // Gives other packages access to the classes above: a continuation sets the scoped values of a carrier
    // through it.
    "java.lang.System$",
    // Method handles are compiled from these, including hidden frames.
    "java.lang.invoke.",
    // Run by threads of the garbage collector, with objects that are being collected.
    "java.lang.ref.",
    // They must not fail half-way, so their stack use is a part of their contract.
    "java.util.concurrent.locks.",
    // What probes are made of, and what mounts virtual threads.
    "jdk.internal.misc.",
    "jdk.internal.vm.",
];

/// Methods of these classes that run in a thread with an id, which starts another one. Only presets name them.
const STARTS: [&str; 2] = ["java.lang.Thread", "java.lang.VirtualThread"];

/// Returns whether a method of the JDK stays unchanged, even if a filter selects it. `is_of_preset`: whether a preset does.
pub(super) fn is_skipped_method(
    class: &str,
    method: &str,
    is_of_preset: impl FnOnce() -> bool,
) -> bool {
    is_skipped(class) && !(method == "start" && STARTS.contains(&class) && is_of_preset())
}

/// Returns whether the methods of a class of the JDK stay unchanged, but for those of a preset.
#[must_use]
pub(super) fn is_skipped(class: &str) -> bool {
    SKIPPED.iter().any(|name| {
        (name.ends_with(['.', '$']) && class.starts_with(name)) || is_or_is_nested_in(class, name)
    })
}

/// Returns whether a class with a name of the JDK is a probe class, ours or that of another copy of this
/// library.
#[must_use]
pub(super) fn is_probe_class(class: &str) -> bool {
    let number = class.strip_prefix("java.lang.FlowProbe");
    number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probe_classes_of_every_copy_are_known() {
        for (class, expected) in [
            ("java.lang.FlowProbe", true),
            ("java.lang.FlowProbe12", true),
            ("java.lang.FlowProbeX", false),
            ("FlowProbe", false),
        ] {
            assert_eq!(is_probe_class(class), expected, "{class}");
        }
    }

    #[test]
    fn a_preset_sees_threads_start() {
        assert!(is_skipped_method("java.lang.Thread", "start", || false));
        assert!(!is_skipped_method("java.lang.Thread", "start", || true));
        assert!(is_skipped_method("java.lang.Thread", "run", || true));
        assert!(is_skipped_method("java.lang.Thread$Builder", "start", || true));
    }

    #[test]
    fn packages_and_classes_with_their_nested_ones_are_skipped() {
        for (class, expected) in [
            ("java.lang.Object", true),
            ("java.lang.Objects", false),
            ("java.lang.Thread$Builder", true),
            ("java.lang.ThreadLocal", false),
            ("java.lang.System", false),
            ("java.lang.System$2", true),
            ("java.lang.invoke.MethodHandle", true),
            ("jdk.internal.vm.annotation.X", true),
            ("java.util.concurrent.locks.ReentrantLock", true),
            ("java.util.ArrayList", false),
        ] {
            assert_eq!(is_skipped(class), expected, "{class}");
        }
    }
}
