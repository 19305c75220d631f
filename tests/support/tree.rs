//! Call trees as text, recorded and expected.

use std::collections::BTreeMap;

use crate::{Event, LeftOut};

/// One call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    /// The number of calls around it.
    pub depth: usize,
    /// Binary class name.
    pub class: String,
    /// Name and descriptor.
    pub method: String,
    /// Whether the class is hidden.
    pub hidden: bool,
    /// Whether it was still open when the recording ended.
    pub open: bool,
}

/// The calls of one thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreadTree {
    /// The thread's last name.
    pub thread: String,
    /// Its calls in order.
    pub calls: Vec<Call>,
}

impl ThreadTree {
    /// Nests events; `name` gives class, method with descriptor, and whether the class is hidden.
    ///
    /// # Panics
    /// An exit has no frame.
    pub fn build(
        thread: &str,
        events: &[Event],
        name: impl Fn(u64) -> (String, String, bool),
    ) -> Self {
        let mut calls: Vec<Call> = Vec::new();
        let mut open = Vec::new();
        let mut names = BTreeMap::new();
        for event in events {
            match event {
                Event::Enter(id) => {
                    let (class, method, hidden) =
                        names.entry(*id).or_insert_with(|| name(*id)).clone();
                    open.push(calls.len());
                    calls.push(Call { depth: open.len() - 1, class, method, hidden, open: true });
                }
                Event::Exit => calls[open.pop().expect("an exit has a frame")].open = false,
            }
        }
        Self { thread: thread.to_owned(), calls }
    }

    /// Removes some calls; the calls inside them move up.
    #[must_use]
    pub fn only(&self, keep: impl Fn(&Call) -> bool) -> Self {
        let mut kept_around = Vec::new();
        let mut calls = Vec::new();
        for call in &self.calls {
            kept_around.truncate(call.depth);
            let keep = keep(call);
            if keep {
                let depth = kept_around.iter().filter(|kept| **kept).count();
                calls.push(Call { depth, ..call.clone() });
            }
            kept_around.push(keep);
        }
        Self { thread: self.thread.clone(), calls }
    }

    /// Only classes of the harness, without hidden ones, as in the golden files.
    #[must_use]
    pub fn of_harness(&self) -> Self {
        self.only(|call| call.class.starts_with("harness.") && !call.hidden)
    }

    /// One line per call.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.calls
            .iter()
            .map(|Call { depth, class, method, open, .. }| {
                let open = if *open { " (open)" } else { "" };
                format!("{}{}.{}{open}", "  ".repeat(*depth), escaped(class), escaped(method))
            })
            .collect()
    }
}

/// A name as in the golden files: control characters as `\u001B`.
#[must_use]
pub fn escaped(name: &str) -> String {
    name.chars()
        .map(|c| if c.is_control() { format!("\\u{:04X}", u32::from(c)) } else { c.to_string() })
        .collect()
}

/// An expected run; `java-harness/README.md` describes the file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Golden {
    /// The program's arguments.
    pub args: Vec<String>,
    /// Options of the agent that the tree depends on.
    pub options: Option<String>,
    /// Its exit code.
    pub exit_code: i32,
    /// Lines of each thread, by name.
    pub threads: BTreeMap<String, Vec<String>>,
}

impl Golden {
    /// Reads a golden file.
    ///
    /// # Panics
    /// A line is not as described.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut golden = Self::default();
        let mut like = Vec::new();
        let mut current = String::new();
        for line in text.lines() {
            if let Some(args) = line.strip_prefix("# args:") {
                golden.args = args.split_whitespace().map(str::to_owned).collect();
            } else if let Some(options) = line.strip_prefix("# options: ") {
                golden.options = Some(options.to_owned());
            } else if let Some(code) = line.strip_prefix("# exit code: ") {
                golden.exit_code = code.parse().expect("an exit code");
            } else if let Some(rest) = line.strip_prefix("# like ") {
                like.push(rest.to_owned());
            } else if line.starts_with('#') {
            } else if let Some(name) = line.strip_prefix("thread ") {
                current = name.to_owned();
                golden.threads.insert(current.clone(), Vec::new());
            } else {
                golden
                    .threads
                    .get_mut(&current)
                    .expect("a thread comes first")
                    .push(line.to_owned());
            }
        }
        for line in like {
            let (model, range) = line.split_once(": ").expect("NAME: FIRST to LAST");
            let (first, last) = range.split_once(" to ").expect("FIRST to LAST");
            let (stem, first) = first.rsplit_once('-').expect("a number at the end");
            let (_, last) = last.rsplit_once('-').expect("a number at the end");
            let bounds = [first, last].map(|number| number.parse::<u32>().expect("a number"));
            let lines = golden.threads[model].clone();
            for number in bounds[0]..=bounds[1] {
                golden.threads.insert(format!("{stem}-{number}"), lines.clone());
            }
        }
        golden
    }

    /// Removes constructors and static initialisers, as `constructors=false` does.
    #[must_use]
    pub fn without_initialisers(&self) -> Self {
        self.without(|class_and_method| {
            [".<init>(", ".<clinit>("].iter().any(|name| class_and_method.contains(name))
        })
    }

    /// Removes what a trace names as not recorded.
    ///
    /// # Panics
    /// A line is not a call.
    #[must_use]
    pub fn without_left_out(&self, left_out: &LeftOut) -> Self {
        self.without(|class_and_method| {
            let (before, _) = class_and_method.split_once('(').expect("a descriptor");
            let (class, _) = before.rsplit_once('.').expect("a class");
            left_out.names(class, &class_and_method[class.len() + 1..])
        })
    }

    /// Removes some methods; the calls inside them move up.
    fn without(&self, leaves_out: impl Fn(&str) -> bool) -> Self {
        let strip = |lines: &Vec<String>| {
            let mut kept_around = Vec::new();
            let mut stripped = Vec::new();
            for line in lines {
                let name = line.trim_start_matches(' ');
                let depth = (line.len() - name.len()) / 2;
                kept_around.truncate(depth);
                let keep = !leaves_out(name.strip_suffix(" (open)").unwrap_or(name));
                if keep {
                    let depth = kept_around.iter().filter(|kept| **kept).count();
                    stripped.push(format!("{}{name}", "  ".repeat(depth)));
                }
                kept_around.push(keep);
            }
            stripped
        };
        let threads = self.threads.iter().map(|(name, lines)| (name.clone(), strip(lines)));
        Self { threads: threads.collect(), ..self.clone() }
    }
}
