//! Which threads are selected, and what they are called.

use flow_codec::ThreadId;
use flow_codec::read::{ThreadFile, Trace};

use crate::Error;
use crate::text::{escaped, is_like};

/// The threads whose id or name matches one of some patterns; all threads without patterns.
#[derive(Clone, Default, Debug)]
pub struct Threads {
    patterns: Vec<String>,
}

impl Threads {
    /// Selects the threads that match one of these patterns: an id, or a name, with `*` for any text.
    #[must_use]
    pub fn of(patterns: &[String]) -> Self {
        Self { patterns: patterns.to_vec() }
    }

    /// Returns whether all threads are selected.
    pub(crate) fn is_all(&self) -> bool {
        self.patterns.is_empty()
    }

    pub(super) fn add(&mut self, pattern: &str) {
        self.patterns.push(pattern.to_owned());
    }

    /// Returns whether a thread is selected.
    #[must_use]
    pub fn include(&self, trace: &Trace, id: ThreadId) -> bool {
        self.patterns.is_empty() || self.patterns.iter().any(|p| is_thread(trace, id, p))
    }

    /// Keeps the selected threads of the traces of some runs.
    ///
    /// # Errors
    /// A pattern matches no thread of any run.
    pub fn keep_in(&self, runs: &mut [&mut [Trace]]) -> Result<(), Error> {
        if self.patterns.is_empty() {
            return Ok(());
        }
        for pattern in &self.patterns {
            let is_in =
                |trace: &Trace| trace.files().iter().any(|f| is_thread(trace, f.id(), pattern));
            if !runs.iter().any(|run| run.iter().any(is_in)) {
                let threads = runs.iter().map(|run| names(run)).collect();
                return Err(Error::NoThread { pattern: pattern.clone(), threads });
            }
        }
        for trace in runs.iter_mut().flat_map(|run| run.iter_mut()) {
            let mut files = trace.take_files();
            files.retain(|file| self.include(trace, file.id()));
            trace.set_files(files);
        }
        Ok(())
    }
}

/// The ids and names of all threads of a run.
fn names(run: &[Trace]) -> Vec<String> {
    let files = run.iter().flat_map(|trace| trace.files().iter().map(move |file| (trace, file)));
    files.map(|(trace, file)| thread_title(trace, file.id())).collect()
}

/// Returns whether a thread matches: by its id, or by a name that it has or had. A number that is an id never
/// matches a name.
#[must_use]
pub fn is_thread(trace: &Trace, id: ThreadId, pattern: &str) -> bool {
    let number = pattern.parse().ok().map(ThreadId::new);
    if number.is_some_and(|number| number == id || trace.threads().get(number).is_some()) {
        return number == Some(id);
    }
    trace.threads().get(id).is_some_and(|thread| {
        let mut names = thread.earlier_names.iter().chain([&thread.name]);
        // Also as it is shown, with escapes.
        names.any(|name| is_like(name, pattern) || is_like(&escaped(name), pattern))
    })
}

/// The name of a thread; empty if it is unknown.
#[must_use]
pub fn thread_name(trace: &Trace, id: ThreadId) -> &str {
    trace.threads().get(id).map_or("", |thread| &thread.name)
}

/// `1 main`; only the id if the name is empty or unknown.
#[must_use]
pub fn thread_title(trace: &Trace, id: ThreadId) -> String {
    match trace.threads().get(id) {
        Some(thread) if !thread.name.is_empty() => format!("{id} {}", thread.name),
        _ => id.to_string(),
    }
}

/// The title of a thread, with the test whose ranges are read, if not the whole thread.
#[must_use]
pub fn file_title(trace: &Trace, file: &ThreadFile) -> String {
    let thread = thread_title(trace, file.id());
    match file.parts() {
        Some(parts) => format!("{thread}, {}", parts.title()),
        None => thread,
    }
}
