//! Rewrites every method of many classes, without a JVM: `rewrite [--lines | --lines-once | --lines-alone] [--values]
//! [--fields] [--instructions] [--exceptions] IN OUT`, which also record lines (each once, or without calls), values, accesses to fields and elements, instructions, and
//! exceptions that reach handlers.
//!
//! Class files below the directory `IN` get probes and are written to the same place below `OUT`; unchanged
//! ones are copied. JVMs then verify the result. The last line sums up, as `key=value` words: `skipped-…`
//! counts methods by reason, `refused` those that HotSpot's compilers accept without probes and not with
//! them, and `mb-per-s` is the speed of the rewriter alone, in bytes of class files read.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a tool for the terminal")]

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use std::{env, fs, io};

use flow_codec::MethodId;
use flowagent::rewrite::{
    ClassFile, ConstructorCall, Detail, Ids, LineProbes, Malformed, Probes, Skip, rewrite,
};

fn main() -> ExitCode {
    let mut arguments: Vec<PathBuf> = env::args_os().skip(1).map(PathBuf::from).collect();
    let mut has =
        |flag| arguments.extract_if(.., |argument| argument.as_os_str() == flag).count() > 0;
    let detail = Detail {
        lines: match (has("--lines"), has("--lines-once"), has("--lines-alone")) {
            (false, false, false) => LineProbes::None,
            (true, false, false) => LineProbes::Each,
            (_, true, false) => LineProbes::Once,
            (_, _, true) => LineProbes::Alone,
        },
        values: has("--values"),
        accesses: has("--fields"),
        instructions: has("--instructions"),
        exceptions: has("--exceptions"),
        version: 0,
    };
    let [input, output] = arguments.as_slice() else {
        eprintln!(
            "usage: rewrite [--lines | --lines-once | --lines-alone] [--values] [--fields] [--instructions] [--exceptions] IN OUT"
        );
        return ExitCode::from(2);
    };
    match run(detail, input, output) {
        Ok(tally) => {
            println!("{tally}");
            ExitCode::from(u8::from(tally.unreadable > 0 || tally.refused > 0))
        }
        Err(error) => {
            eprintln!("rewrite: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(detail: Detail, input: &Path, output: &Path) -> io::Result<Tally> {
    let mut tally = Tally::default();
    let mut numbers = Numbers::default();
    let mut left = vec![PathBuf::new()];
    while let Some(place) = left.pop() {
        for entry in fs::read_dir(input.join(&place))? {
            let entry = entry?;
            let place = place.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                left.push(place);
            } else if place.extension().is_some_and(|extension| extension == "class") {
                let old = fs::read(input.join(&place))?;
                let new = tally.count(&old, detail, &mut numbers).unwrap_or_else(|error| {
                    eprintln!("rewrite: {}: {error}", place.display());
                    None
                });
                for method in new.iter().flat_map(|new| refused(&old, new)) {
                    eprintln!("rewrite: {}: not compilable any more: {method}", place.display());
                    tally.refused += 1;
                }
                let to = output.join(&place);
                fs::create_dir_all(to.parent().unwrap_or(output))?;
                fs::write(to, new.as_deref().unwrap_or(&old))?;
            }
        }
    }
    Ok(tally)
}

/// The methods that a compiler of HotSpot accepts in the old class and not in the new one.
fn refused(old: &[u8], new: &[u8]) -> Vec<String> {
    let (Ok(old), Ok(new)) = (ClassFile::parse(old), ClassFile::parse(new)) else {
        return vec!["the class cannot be read".to_owned()];
    };
    let methods = old.methods().enumerate();
    let is_refused = |number| match (old.judge(number), new.judge(number)) {
        (Some(old), Some(new)) => !new.is_as_good_as(old),
        (old, new) => old != new,
    };
    let refused = methods.filter(|(number, _)| is_refused(*number));
    refused.map(|(_, method)| format!("{}{}", method.name, method.descriptor)).collect()
}

/// Assigns ids as a recording would: dense, and those of constructors by name.
#[derive(Default)]
struct Numbers {
    next: u64,
    constructors: HashMap<(String, String), MethodId>,
}

impl Numbers {
    fn fresh(&mut self) -> MethodId {
        self.next += 1;
        MethodId::new(self.next).unwrap_or(MethodId::MAX)
    }

    fn constructor(&mut self, class: &str, descriptor: &str) -> MethodId {
        let key = (class.to_owned(), descriptor.to_owned());
        if let Some(id) = self.constructors.get(&key) {
            return *id;
        }
        let id = self.fresh();
        self.constructors.insert(key, id);
        id
    }

    /// A callee of the JDK counts as not recorded, as it does by default.
    fn callee(&mut self, call: &ConstructorCall) -> Option<MethodId> {
        let recorded = !call.class.starts_with("java.");
        recorded.then(|| self.constructor(&call.class, &call.descriptor))
    }
}

/// Counts what was done.
#[derive(Default)]
struct Tally {
    classes: u64,
    unreadable: u64,
    unchanged: u64,
    refused: u64,
    methods: u64,
    leaves: u64,
    skipped: BTreeMap<Skip, u64>,
    bytes_in: u64,
    bytes_out: u64,
    busy: Duration,
}

impl Tally {
    fn count(
        &mut self,
        old: &[u8],
        detail: Detail,
        numbers: &mut Numbers,
    ) -> Result<Option<Vec<u8>>, Malformed> {
        self.classes += 1;
        let start = Instant::now();
        let class = ClassFile::parse(old).inspect_err(|_| self.unreadable += 1)?;
        self.busy += start.elapsed();

        let name = class.name();
        let mut chosen = Vec::new();
        for (number, method) in class.methods().enumerate().filter(|(_, m)| m.has_code) {
            self.methods += 1;
            let start = Instant::now();
            let plan = class.plan_for(number, detail);
            self.busy += start.elapsed();
            match plan {
                Ok(plan) => {
                    self.leaves += u64::from(plan.leaf);
                    if plan.has_other_handlers {
                        *self.skipped.entry(Skip::WithoutExceptions).or_default() += 1;
                    }
                    let id = match &*method.name {
                        "<init>" => numbers.constructor(&name, &method.descriptor),
                        _ => numbers.fresh(),
                    };
                    let callees = plan.calls.iter().map(|call| numbers.callee(call)).collect();
                    let fields = plan.fields.iter().map(|_| numbers.fresh()).collect();
                    chosen.push((
                        number,
                        plan,
                        Ids { method: id, callees, fields, first_place: 0 },
                    ));
                }
                Err(skip) => *self.skipped.entry(skip).or_default() += 1,
            }
        }

        let start = Instant::now();
        let (new, skipped) = rewrite(&class, chosen, Probes::Plain);
        self.busy += start.elapsed();
        for (_, skip) in skipped {
            *self.skipped.entry(skip).or_default() += 1;
        }
        self.unchanged += u64::from(new.is_none());
        self.bytes_in += old.len() as u64;
        self.bytes_out += new.as_ref().map_or(old.len(), Vec::len) as u64;
        Ok(new)
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { classes, unreadable, unchanged, refused, methods, leaves, .. } = self;
        write!(
            f,
            "classes={classes} unreadable={unreadable} unchanged={unchanged} refused={refused} "
        )?;
        write!(f, "methods={methods} leaves={leaves}")?;
        for (skip, count) in &self.skipped {
            write!(f, " skipped-{skip}={count}")?;
        }
        let speed = u128::from(self.bytes_in) / self.busy.as_micros().max(1);
        write!(f, " bytes-in={} bytes-out={} mb-per-s={speed}", self.bytes_in, self.bytes_out)
    }
}
