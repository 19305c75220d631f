//! What a file of coverage says, by package and class.

use std::collections::BTreeMap;

use flow_query::ask::{Covered, CoveredFile, CoveredMethod};

/// What a file of coverage says.
pub(crate) struct Document<'a> {
    /// What was recorded.
    pub(crate) title: &'a str,
    /// When it began, in milliseconds since 1970.
    pub(crate) started_ms: u64,
    /// The folders with source files.
    pub(crate) sources: &'a [String],
    pub(crate) covered: &'a Covered,
}

impl Document<'_> {
    /// The files of each package. A package is named as a folder.
    pub(super) fn packages(&self) -> BTreeMap<&str, Vec<(&str, &CoveredFile)>> {
        let mut packages: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (path, file) in &self.covered.files {
            let package = path.rsplit_once('/').map_or("", |(package, _)| package);
            packages.entry(package).or_default().push((&**path, file));
        }
        packages
    }
}

/// The methods of a file, by class.
pub(super) fn classes(file: &CoveredFile) -> impl Iterator<Item = (&str, &[CoveredMethod])> {
    let classes = file.methods.chunk_by(|one, next| one.class == next.class);
    classes.filter_map(|methods| Some((methods.first()?.class.as_str(), methods)))
}

/// How many things there are, and how many of them were reached.
#[derive(Clone, Copy, Default)]
pub(super) struct Count {
    pub(super) reached: usize,
    pub(super) all: usize,
}

impl Count {
    pub(super) fn of(lines: &BTreeMap<u32, u64>) -> Self {
        Self { reached: flow_query::ask::reached(lines), all: lines.len() }
    }

    pub(super) fn of_methods(methods: &[CoveredMethod]) -> Self {
        let reached = methods.iter().filter(|method| method.calls > 0).count();
        Self { reached, all: methods.len() }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.reached += other.reached;
        self.all += other.all;
    }

    pub(super) fn of_all(counts: impl IntoIterator<Item = Self>) -> Self {
        counts.into_iter().fold(Self::default(), |mut sum, count| {
            sum.add(count);
            sum
        })
    }
}

/// All lines of the methods of a class.
pub(super) fn lines_of(methods: &[CoveredMethod]) -> BTreeMap<u32, u64> {
    let mut all = BTreeMap::new();
    for (line, count) in methods.iter().flat_map(|method| &method.lines) {
        let sum: &mut u64 = all.entry(*line).or_default();
        *sum = sum.saturating_add(*count);
    }
    all
}
