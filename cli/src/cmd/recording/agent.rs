//! The agent: its library, its directory and its options.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::error::Error as _;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use flow_codec::format::names;
use flow_codec::read::Trace;
use flow_options::{OnError, OptionError, Options, StreamAddress};

use crate::args::{AgentArgs, DEFAULT_DIR, OnceIn};
use crate::failure::Failure;
use crate::output::{escaped, shell_quoted};
use flow_query::open::{Recordings, further_among, is_container_name, locate, recording_name};
use flow_query::text::is_like;

/// Finds the agent library: at the path that the user gives, or in the directory of this program.
pub(crate) fn library(given: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(given) = given {
        if given.is_file() {
            expect_same_machine(given)?;
            return absolute(given);
        }
        let reason = if given.exists() { "not a file" } else { "no such file" };
        return Err(Failure::Failed(format!(
            "--agent {}: {reason}; expected the agent library {}",
            given.display(),
            file_name()
        )));
    }
    let program = std::env::current_exe().map_err(|error| {
        Failure::Failed(format!("cannot find the directory of this program: {error}; use --agent"))
    })?;
    let places = places(&program);
    places.iter().find(|place| place.is_file()).cloned().ok_or_else(|| {
        let places: Vec<_> = places.iter().map(|place| place.display().to_string()).collect();
        Failure::Failed(format!(
            "the agent library is missing: neither {}; build it with cargo build --release, or name it with \
             --agent PATH",
            places.join(" nor ")
        ))
    })
}

/// Refuses a library for another machine than this program, because the JVM's own message is confusing. Files
/// that cannot be read or are not libraries are left to the JVM.
fn expect_same_machine(library: &Path) -> Result<(), Failure> {
    let ours = std::env::current_exe().ok().and_then(|program| machine(&program));
    match (ours, machine(library)) {
        (Some(ours), Some(other)) if ours != other => Err(Failure::Failed(format!(
            "--agent {}: built for another kind of processor than this program, which is for {}; use \
             the library that came with this program",
            library.display(),
            std::env::consts::ARCH
        ))),
        _ => Ok(()),
    }
}

/// The machine that an ELF file is for: class, byte order and `e_machine`.
fn machine(path: &Path) -> Option<[u8; 4]> {
    let mut head = [0; 20];
    File::open(path).ok()?.read_exact(&mut head).ok()?;
    match head {
        [0x7F, b'E', b'L', b'F', class, order, .., low, high] => Some([class, order, low, high]),
        _ => None,
    }
}

/// The file name of the library.
pub(crate) fn file_name() -> String {
    format!("{DLL_PREFIX}flowagent{DLL_SUFFIX}")
}

fn places(program: &Path) -> Vec<PathBuf> {
    let dir = program.parent().unwrap_or(Path::new("."));
    // An installed program is in bin, its library in a directory of lib that is not for libraries of all programs.
    let lib = dir.parent().unwrap_or(dir).join("lib/flow");
    vec![dir.join(file_name()), lib.join(file_name())]
}

/// Refuses options that the agent would refuse, with its own parser; `variable` looks up the environment of the JVM.
pub(crate) fn check_options(
    text: &str,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<(), Failure> {
    if Options::on_error(text, &variable) == OnError::Continue {
        return Ok(());
    }
    let in_flags = |error: OptionError| error.to_string().replace(" (agent options)", "");
    Options::parse(text, variable).map(drop).map_err(|error| Failure::Usage(in_flags(error)))
}

/// Returns whether a program is `java` itself.
pub(crate) fn is_java(program: &OsStr) -> bool {
    let name = Path::new(program).file_name().unwrap_or_default();
    name == "java" || name.eq_ignore_ascii_case("java.exe")
}

/// What is recorded unless the user selects methods: the packages of the application.
#[derive(Debug)]
pub(crate) struct Selection {
    /// Patterns for the application's packages; empty if they are not known.
    pub(crate) own: Vec<String>,
    /// What selects methods.
    pub(crate) by: SelectedBy,
}

/// What selects the methods to record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SelectedBy {
    /// The user.
    User,
    /// The packages of the application.
    OwnPackages,
    /// Nothing, because these are not known.
    Nothing,
}

impl Selection {
    /// The selection for a JVM whose environment has the variables of which `is_set` returns true.
    pub(crate) fn of(
        own: Vec<String>,
        args: &AgentArgs,
        is_set: impl Fn(&str) -> bool,
    ) -> Result<Self, Failure> {
        let selects = |(key, _): &&(String, String)| matches!(key.as_str(), "target" | "include");
        let option = args.options.iter().find(selects).map(|(key, _)| format!("-O {key}=…"));
        let variables = ["FLOW_TARGET", "FLOW_INCLUDE"].into_iter();
        let variable = || variables.clone().find(|name| is_set(name)).map(str::to_owned);
        let selects_already = option.or_else(variable);
        if let (true, Some(by)) = (args.all, &selects_already) {
            return Err(Failure::Usage(format!(
                "--all: {by} selects what is recorded; use only one"
            )));
        }
        let is_chosen = args.all
            || selects_already.is_some()
            || !args.target.is_empty()
            || !args.include.is_empty()
            || args.config.is_some()
            || is_set("FLOW_CONFIG");
        let by = match (is_chosen, own.is_empty()) {
            (true, _) => SelectedBy::User,
            (false, false) => SelectedBy::OwnPackages,
            (false, true) => SelectedBy::Nothing,
        };
        Ok(Self { own, by })
    }

    /// Describes what is recorded if the user has not chosen it. Without a selection, that is `everything`.
    pub(crate) fn remark(&self, everything: &str) -> Option<String> {
        const SHOWN: usize = 8;
        match self.by {
            SelectedBy::User => return None,
            SelectedBy::Nothing => {
                return Some(format!(
                    "recording {everything}, because the application's own packages are not known; choose with \
                     --include 'com.app.**'"
                ));
            }
            SelectedBy::OwnPackages => {}
        }
        let shown = self.own.iter().take(SHOWN).map(|pattern| match pattern.as_str() {
            "*" => "classes without a package".to_owned(),
            pattern => escaped(pattern).into_owned(),
        });
        let shown = shown.collect::<Vec<_>>().join(", ");
        let more = match self.own.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Some(format!(
            "recording {shown}{more}: the application's own packages (--all records libraries too)"
        ))
    }

    /// The patterns as the value of an option.
    pub(crate) fn patterns(&self) -> String {
        self.own.join(";")
    }
}

/// Whether the trace is sent to a collector, and stored nowhere else.
pub(crate) fn is_only_sent(args: &AgentArgs) -> bool {
    let out = std::env::var_os("FLOW_OUT").filter(|out| !out.is_empty());
    args.stream.is_some() && args.out.is_none() && out.is_none()
}

/// The directory of the trace, or its file.
#[derive(Debug)]
pub(crate) struct TraceDir {
    /// As the user wrote it.
    pub(crate) out: PathBuf,
    /// The `out` option.
    pub(crate) pattern: String,
    /// Whether the user named no place, and it is a file in the folder of recordings.
    pub(crate) is_default: bool,
}

impl TraceDir {
    /// The place that the flags, or else the environment, name; or a file in the folder of recordings, for a program that starts
    /// now, that is not `taken`.
    pub(crate) fn of(
        args: &AgentArgs,
        program: &str,
        taken: impl Fn(&Self) -> bool,
    ) -> Result<Self, Failure> {
        let out = match (&args.out, std::env::var_os("FLOW_OUT")) {
            (Some(out), _) => out.clone(),
            // The agent reads it too, but the option string takes precedence.
            (None, Some(out)) if !out.is_empty() => PathBuf::from(out),
            (None, _) => {
                let now = SystemTime::now();
                let file =
                    |number| Path::new(DEFAULT_DIR).join(recording_name(now, program, number));
                let mut number = 1;
                let mut place = Self::in_folder(file(number))?;
                while taken(&place) {
                    number += 1;
                    place = Self::in_folder(file(number))?;
                }
                return Ok(place);
            }
        };
        let pattern = absolute_pattern(&out)?;
        Ok(Self { out, pattern, is_default: false })
    }

    /// This file in the folder of recordings.
    pub(crate) fn in_folder(file: PathBuf) -> Result<Self, Failure> {
        let pattern = absolute_pattern(&file)?;
        Ok(Self { out: file, pattern, is_default: true })
    }

    /// Refuses an option with which a trace in one file cannot be written, before the agent does so in words that do not suit a
    /// place that the user has not named.
    pub(crate) fn expect_one_file(&self, args: &AgentArgs) -> Result<(), Failure> {
        let is_text = |(key, value): &(String, String)| key == "format" && value == "jsonl";
        let is_in_environment =
            || std::env::var("FLOW_FORMAT").is_ok_and(|format| format == "jsonl");
        if self.is_default && (args.options.iter().any(is_text) || is_in_environment()) {
            let text = "format=jsonl needs a directory: name one with -o, for example -o trace";
            return Err(Failure::Usage(text.to_owned()));
        }
        Ok(())
    }

    /// Refuses a place in which no trace can be created, as far as it is known before the agent replaces `%p`, `%t` and
    /// `%h`.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let known = self.pattern.replace("%%", "\0");
        let is_whole = !known.contains('%');
        let known = Path::new(&known);
        let mut place: PathBuf = known
            .components()
            .take_while(|part| !part.as_os_str().to_string_lossy().contains('%'))
            .collect();
        place = place.to_string_lossy().replace('\0', "%").into();
        let out = self.out.display();
        let fail = |why: String| Failure::Failed(format!("--out {out}: {why}"));
        if is_whole && place.is_symlink() {
            let target = std::fs::canonicalize(&place).unwrap_or_else(|_| "its target".into());
            return Err(fail(format!("is a symbolic link; give {} instead", target.display())));
        }
        if is_whole {
            refuse_foreign(&place, &self.out)?;
        }
        // The agent moves an earlier trace away, or a file that nothing was written to.
        let in_directory = match is_container_name(&place) {
            true => place.parent().unwrap_or(Path::new("/")),
            false => &place,
        };
        let existing = in_directory.ancestors().find(|place| place.symlink_metadata().is_ok());
        let existing = existing.unwrap_or(Path::new("/"));
        if !existing.is_dir() {
            return Err(fail(if existing == place {
                "is not a directory".to_owned()
            } else {
                format!("{} is not a directory", existing.display())
            }));
        }
        // Some file systems, such as /proc, allow what then fails.
        let made = tempfile::Builder::new().prefix(".flow-").tempdir_in(existing);
        // Removed as an empty directory, because some umasks forbid listing what is in it.
        let is_usable = made.and_then(|made| std::fs::remove_dir(made.keep()));
        is_usable.map_err(|error| {
            let why = match error.kind() {
                // The directory exists.
                ErrorKind::NotFound => "its file system does not let files be created".to_owned(),
                kind => error.source().map_or_else(|| kind.to_string(), ToString::to_string),
            };
            fail(format!("cannot write to {}: {why}", existing.display()))
        })
    }
}

/// Refuses a directory that has other files and no trace: those of a trace would be mixed with them. Refuses what is no
/// trace in the place of one file.
pub(crate) fn refuse_foreign(place: &Path, out: &Path) -> Result<(), Failure> {
    if is_container_name(place) {
        let is_free = match place.symlink_metadata() {
            Ok(found) => found.is_file() && (found.len() == 0 || Trace::is_container(place)),
            Err(_) => true,
        };
        let out = out.display();
        let why =
            format!("--out {out}: exists and is not a trace in one file; choose another name");
        return if is_free { Ok(()) } else { Err(Failure::Failed(why)) };
    }
    if Trace::directories(place).is_err() && Recordings::of(place).is_some() {
        return Err(Failure::Failed(format!(
            "--out {}: is the folder of recordings; leave out --out for one more, or name another place",
            out.display()
        )));
    }
    let is_ours = |name: &str| names::is_trace_file(name) || names::is_trace_directory(name);
    let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let foreign = names.filter(|name| !is_ours(name) && !name.starts_with('.')).min();
    match foreign {
        Some(name) if Trace::directories(place).is_err() => Err(Failure::Failed(format!(
            "--out {}: has other files, such as {}; give a directory of its own, such as {}",
            out.display(),
            shell_quoted(&name),
            shell_quoted(&out.join(DEFAULT_DIR).to_string_lossy())
        ))),
        _ => Ok(()),
    }
}

/// The directories or files that the agent may have made from its `out` option.
pub(crate) fn trace_directories(pattern: &str) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::from("/")];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        let name = part.replace("%%", "\u{0}");
        let glob = name.replace("%p", "*").replace("%t", "*").replace("%h", "*");
        let (has_placeholder, glob) = (glob != name, glob.replace('\u{0}', "%"));
        found = if has_placeholder {
            let children = found.iter().flat_map(std::fs::read_dir).flatten().flatten();
            let mut matching: Vec<_> = children
                .filter(|child| is_like(&child.file_name().to_string_lossy(), &glob))
                .map(|child| child.path())
                .filter(|path| path.is_dir() || is_container_name(path))
                .collect();
            let further: Vec<_> =
                matching.iter().flat_map(|first| further_among(first, &matching)).collect();
            matching.retain(|path| !further.contains(path));
            matching.sort();
            matching
        } else {
            found.iter().map(|parent| parent.join(&glob)).collect()
        };
    }
    found
}

/// A path for a message: relative to the current directory if it is inside.
pub(crate) fn shown(path: &Path) -> String {
    let current = std::env::current_dir().unwrap_or_default();
    shell_quoted(&path.strip_prefix(current).unwrap_or(path).to_string_lossy())
}

/// Reports where an earlier trace is now.
pub(crate) fn earlier_moved(place: &Path) -> String {
    let is_file = place.is_file();
    format!("the earlier trace is now {}{}", if is_file { "" } else { "in " }, shown(place))
}

/// Options of the agent whose values are paths.
const PATHS: [&str; 5] = ["ids", "optimize", "journal", "config", "presets-file"];

/// Of these, those that may be paths of traces.
const OF_TRACES: [&str; 2] = ["ids", "optimize"];

/// Options of the agent.
#[derive(Default, Debug)]
pub(crate) struct AgentOptions(Vec<(String, String)>);

impl AgentOptions {
    /// The options that the flags set.
    pub(crate) fn of(args: &AgentArgs, dir: &TraceDir) -> Result<Self, Failure> {
        let mut options = Self::default();
        if !is_only_sent(args) {
            options.add("out", &dir.pattern)?;
        }
        if let Some(address) = &args.stream {
            // The JVM may run in another directory.
            let address = match address {
                StreamAddress::Unix(path) => StreamAddress::Unix(absolute(path)?),
                StreamAddress::Tcp { .. } => address.clone(),
            };
            options.add("stream", &address.to_string())?;
        }
        for (key, values, separator) in [
            ("target", &args.target, "+"),
            ("include", &args.include, ";"),
            ("exclude", &args.exclude, ";"),
            ("lines", &args.lines, ";"),
            ("values", &args.values, ";"),
            ("instructions", &args.instructions, ";"),
            ("fields", &args.fields, ";"),
            ("exceptions", &args.exceptions, ";"),
            ("redact", &args.redact, ";"),
            ("snapshot-on", &args.snapshot_on, ";"),
        ] {
            if !values.is_empty() {
                options.add(key, &values.join(separator))?;
            }
        }
        if args.waits {
            options.add("waits", "on")?;
        }
        let presets = args.chosen_presets();
        if !presets.is_empty() {
            options.add("presets", &presets.join(";"))?;
        }
        if let Some(file) = args.presets_file() {
            options.add("presets-file", as_text(&absolute(&file)?)?)?;
        }
        if let Some(once) = args.lines_once {
            options.add("lines-once", if once == OnceIn::Run { "run" } else { "true" })?;
        }
        if args.no_calls {
            options.add("calls", "off")?;
        }
        if args.no_command {
            options.add("command", "none")?;
        }
        for (key, value) in [
            ("keep", &args.keep),
            ("engine", &args.engine),
            ("sample", &args.sample),
            ("clock", &args.clock),
            // Not an option of the agent, which has no limit unless it gets one.
            ("max-size", &args.max_size.clone().filter(|size| size != "none")),
        ] {
            if let Some(value) = value {
                options.add(key, value)?;
            }
        }
        if let Some(path) = &args.config {
            options.add("config", as_text(&absolute(path)?)?)?;
        }
        for (key, value) in &args.options {
            if key == "out" {
                return Err(Failure::Usage("-O out=…: use --out instead".to_owned()));
            }
            // The JVM may run in another directory.
            let is_path = PATHS.contains(&key.as_str()) && !value.is_empty();
            let path = is_path.then(|| absolute(Path::new(value))).transpose()?;
            // The agent takes the names of one trace.
            let path = match OF_TRACES.contains(&key.as_str()) {
                true => path.map(|path| locate(&path).map_or(path, |located| located.path)),
                false => path,
            };
            options.add(key, path.as_deref().map_or(Ok(value.as_str()), as_text)?)?;
        }
        if ["ids", "optimize"].iter().all(|key| options.has(key)) {
            let text = "-O ids=… and -O optimize=… both choose the ids of methods; keep one";
            return Err(Failure::Usage(text.to_owned()));
        }
        Ok(options)
    }

    fn has(&self, key: &str) -> bool {
        self.0.iter().any(|(known, _)| known == key)
    }

    /// Adds an option, unless it is set.
    pub(crate) fn add_default(&mut self, key: &str, value: &str) {
        if !self.has(key) {
            self.0.push((key.to_owned(), value.to_owned()));
        }
    }

    /// Adds an option, which must not be set yet.
    pub(crate) fn add(&mut self, key: &str, value: &str) -> Result<(), Failure> {
        if self.has(key) {
            return Err(Failure::Usage(format!(
                "the agent's option '{key}' is set twice; keep one"
            )));
        }
        self.0.push((key.to_owned(), value.to_owned()));
        Ok(())
    }

    /// The option string: `key=value`, separated by commas. A comma in a value is escaped with a backslash; a
    /// backslash cannot be escaped, so a value that ends in one must be last.
    pub(crate) fn encode(mut self) -> Result<String, Failure> {
        let ends_badly = |(_, value): &(String, String)| value.ends_with('\\');
        let (mut options, last): (Vec<_>, Vec<_>) =
            self.0.drain(..).partition(|option| !ends_badly(option));
        if let [(first, _), (second, _), ..] = last.as_slice() {
            return Err(Failure::Usage(format!(
                "the agent's options '{first}' and '{second}' both end in a backslash; only one can"
            )));
        }
        options.extend(last);
        let options: Vec<_> = options
            .iter()
            .map(|(key, value)| format!("{key}={}", value.replace(',', "\\,")))
            .collect();
        Ok(options.join(","))
    }
}

/// The `out` option: an absolute path. The agent expands `%` only where the user wrote it.
fn absolute_pattern(out: &Path) -> Result<String, Failure> {
    if out.as_os_str().is_empty() {
        return Err(Failure::Usage("--out: expected a directory".to_owned()));
    }
    let absolute = absolute(out)?;
    let absolute = as_text(&absolute)?;
    if out.is_absolute() {
        return Ok(absolute.to_owned());
    }
    let current = std::env::current_dir().unwrap_or_default();
    Ok(match absolute.strip_prefix(as_text(&current)?) {
        Some(relative) => as_text(&current)?.replace('%', "%%") + relative,
        None => absolute.to_owned(),
    })
}

/// Makes a path independent of the current directory.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path)
        .map_err(|error| Failure::Failed(format!("{}: {error}", path.display())))
}

/// A path as the value of an option of the agent.
pub(crate) fn as_text(path: &Path) -> Result<&str, Failure> {
    path.to_str().ok_or_else(|| {
        Failure::Failed(format!(
            "{}: not valid UTF-8, which options of the agent must be; use another path",
            path.display()
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(pairs: &[(&str, &str)]) -> Result<String, Failure> {
        let mut options = AgentOptions::default();
        for (key, value) in pairs {
            options.add(key, value)?;
        }
        options.encode()
    }

    #[test]
    fn commas_are_escaped_and_a_value_with_a_last_backslash_comes_last() {
        assert_eq!(
            options(&[("out", "/t,r\\x\\,y"), ("target", "a.")]).unwrap(),
            r"out=/t\,r\x\\,y,target=a."
        );
        assert_eq!(options(&[("out", "/t\\"), ("log", "info")]).unwrap(), r"log=info,out=/t\");
        assert!(options(&[("out", "a\\"), ("ids", "b\\")]).is_err());
        assert!(options(&[("log", "info"), ("log", "warn")]).is_err());
    }

    #[test]
    fn only_java_itself_gets_the_option_as_an_argument() {
        for java in ["java", "/usr/lib/jvm/21/bin/java", "./java", "JAVA.EXE"] {
            assert!(is_java(OsStr::new(java)), "{java}");
        }
        for other in ["javac", "mvn", "java-wrapper", "/opt/java/run.sh", ""] {
            assert!(!is_java(OsStr::new(other)), "{other}");
        }
    }

    #[test]
    fn the_library_is_next_to_the_program_or_in_lib() {
        let names: Vec<_> = places(Path::new("/opt/flow/bin/flow"))
            .iter()
            .map(|place| place.parent().unwrap().display().to_string())
            .collect();
        assert_eq!(names, ["/opt/flow/bin", "/opt/flow/lib/flow"]);
    }

    #[test]
    fn out_becomes_absolute_and_keeps_its_placeholders() {
        assert_eq!(absolute_pattern(Path::new("/tmp/t-%p")).unwrap(), "/tmp/t-%p");
        let relative = absolute_pattern(Path::new("t-%p")).unwrap();
        assert!(relative.starts_with('/') && relative.ends_with("/t-%p"), "{relative}");
        assert!(absolute_pattern(Path::new("")).is_err());
    }

    #[test]
    fn placeholders_match_existing_directories() {
        let root = tempfile::tempdir().unwrap();
        for name in ["t-12", "t-34", "other", "100%"] {
            std::fs::create_dir(root.path().join(name)).unwrap();
        }
        let found = |name: &str| {
            let pattern = format!("{}/{name}", root.path().display());
            let names = trace_directories(&pattern);
            names
                .iter()
                .map(|dir| dir.file_name().unwrap().to_string_lossy().into_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(found("t-%p"), ["t-12", "t-34"]);
        assert_eq!(found("100%%"), ["100%"]);
        assert_eq!(found("missing"), ["missing"]);
    }
}
