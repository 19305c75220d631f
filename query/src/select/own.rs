//! The application's own classes, and the library that makes most of the calls.

use std::collections::HashMap;

use flow_codec::read::Trace;
use flow_codec::{Glob, MethodId};

/// Packages of programs that start others.
const LAUNCHERS: [&str; 12] = [
    "java.",
    "jdk.",
    "sun.",
    "org.springframework.boot.loader.",
    "org.junit.",
    "org.testng.",
    "org.apache.maven.",
    "org.codehaus.plexus.",
    "org.gradle.",
    "worker.org.gradle.",
    "io.quarkus.bootstrap.",
    "org.codehaus.groovy.",
];
/// A group of packages has names that begin with this many equal parts.
const GROUP_PARTS: usize = 2;
/// A library is named if it made this share of the calls, in percent, and a package of it if it made this share of the
/// library's.
const LARGE_PERCENT: u64 = 50;
const NEARLY_ALL_PERCENT: u64 = 90;
/// With fewer calls there is nothing to hide.
const FEW_CALLS: u64 = 1000;

/// The patterns of the application's packages.
#[must_use]
pub fn own_patterns(trace: &Trace) -> &[String] {
    trace.manifest().map_or(&[], |manifest| &manifest.own)
}

/// The patterns by which methods were recorded beside the application's packages, because someone named them. Nothing is named by
/// a pattern for everything.
#[must_use]
pub fn named_patterns(trace: &Trace) -> Vec<&str> {
    let Some(manifest) = trace.manifest() else { return Vec::new() };
    let included = manifest.options.get("include").into_iter().flat_map(|all| all.split(';'));
    let is_named = |pattern: &&str| {
        !matches!(*pattern, "" | "**") && !manifest.own.iter().any(|own| own == pattern)
    };
    included.map(str::trim).filter(is_named).collect()
}

/// The package of the main class that was called last: launchers call that of the application.
pub(super) fn likely_own(trace: &Trace) -> Option<String> {
    let is_main = |name: &str, descriptor: &str| {
        name == "main" && matches!(descriptor, "([Ljava/lang/String;)V" | "()V")
    };
    let classes = trace.methods().iter().filter_map(|(_, method)| {
        let info = method.info();
        is_main(&info.name, &info.descriptor).then_some(&*info.class)
    });
    let is_launcher = |class: &&str| LAUNCHERS.iter().any(|launcher| class.starts_with(launcher));
    let class = classes.filter(|class| !is_launcher(class)).last()?;
    Some(match class.rsplit_once('.') {
        Some((package, _)) => format!("{package}.**"),
        None => class.to_owned(),
    })
}

/// A library that made most of the calls of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Library {
    /// The package of the library.
    pub package: String,
    /// How many calls it made.
    pub calls: u64,
    /// How many calls were made in all.
    pub all: u64,
    /// A pattern for the package that is probably the application's, if the trace does not know it.
    pub likely_own: Option<String>,
}

/// Returns the library that made most of the calls of a trace; `None` if there is none, or if it is not known what is the
/// application. `of_methods` has the number of calls of each method.
pub fn largest_library(
    trace: &Trace,
    of_methods: impl Iterator<Item = (MethodId, u64)> + Clone,
) -> Option<Library> {
    let all: u64 = of_methods.clone().map(|(_, calls)| calls).sum();
    if all < FEW_CALLS {
        return None;
    }
    let known = own_patterns(trace);
    let likely = if known.is_empty() { Some(likely_own(trace)?) } else { None };
    let own: Vec<Glob> = known.iter().chain(&likely).map(|pattern| Glob::new(pattern)).collect();
    let mut packages: HashMap<&str, u64> = HashMap::new();
    let package_of = |method| {
        let info = trace.methods().get(method)?.info();
        Some((info, info.class.rsplit_once('.').map_or("", |(package, _)| package)))
    };
    for (method, calls) in of_methods.clone() {
        if let Some((_, package)) = package_of(method) {
            *packages.entry(package).or_default() += calls;
        }
    }
    let mut groups: HashMap<&str, u64> = HashMap::new();
    for (package, calls) in &packages {
        *groups.entry(first_parts(package, GROUP_PARTS)).or_default() += calls;
    }
    let (group, calls) = groups.into_iter().max_by_key(|(group, calls)| (*calls, *group))?;
    let is_large = u128::from(calls) * 100 >= u128::from(all) * u128::from(LARGE_PERCENT);
    let is_own = |(method, _): (MethodId, u64)| {
        package_of(method).is_some_and(|(info, package)| {
            first_parts(package, GROUP_PARTS) == group
                && own.iter().any(|glob| glob.matches(&info.class, &info.name))
        })
    };
    if !is_large || group.is_empty() || of_methods.clone().any(is_own) {
        return None;
    }
    let package = narrowed(group, calls, &packages).to_owned();
    let in_library = packages.iter().filter(|(other, _)| is_inside(other, &package));
    let calls = in_library.map(|(_, calls)| calls).sum();
    Some(Library { package, calls, all, likely_own: likely })
}

/// The longest package that has nearly all calls of a group.
fn narrowed<'a>(group: &'a str, calls: u64, packages: &HashMap<&'a str, u64>) -> &'a str {
    let mut narrow = group;
    loop {
        let parts = narrow.split('.').count() + 1;
        let mut inner: HashMap<&str, u64> = HashMap::new();
        for (package, calls) in packages.iter().filter(|(package, _)| is_inside(package, narrow)) {
            if package.split('.').count() >= parts {
                *inner.entry(first_parts(package, parts)).or_default() += calls;
            }
        }
        let largest = inner.into_iter().max_by_key(|(package, calls)| (*calls, *package));
        match largest {
            Some((package, of_package)) if of_package * 100 >= calls * NEARLY_ALL_PERCENT => {
                narrow = package;
            }
            _ => return narrow,
        }
    }
}

/// Returns whether a package is another one or inside it.
fn is_inside(package: &str, outer: &str) -> bool {
    package.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// `com.app` of `com.app.order.db`, if two parts are requested.
fn first_parts(package: &str, parts: usize) -> &str {
    package.match_indices('.').nth(parts - 1).map_or(package, |(at, _)| &package[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_grouped_and_narrowed_by_their_parts() {
        assert_eq!(first_parts("com.app.order.db", 2), "com.app");
        assert_eq!(first_parts("demo", 2), "demo");
        assert!(is_inside("a.b.c", "a.b") && is_inside("a.b", "a.b") && !is_inside("a.bc", "a.b"));
        let packages = HashMap::from([
            ("com.fast.json.core", 50),
            ("com.fast.json.data", 45),
            ("com.fast.xml", 5),
        ]);
        assert_eq!(narrowed("com.fast", 100, &packages), "com.fast.json");
        let packages = HashMap::from([("com.fast", 50), ("com.fast.data", 50)]);
        assert_eq!(narrowed("com.fast", 100, &packages), "com.fast");
    }
}
