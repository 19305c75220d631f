//! The names of programs and threads in exports.

use flow_codec::ThreadId;
use flow_codec::read::{ThreadFile, Trace};

/// The program that wrote the file, for formats that name it.
pub(super) const GENERATOR: &str = concat!("flow ", env!("CARGO_PKG_VERSION"));

/// Text as a JSON string, with its quotes.
pub(super) fn quoted(text: &str) -> String {
    // A string can always be serialized.
    serde_json::to_string(text).unwrap_or_default()
}

/// The name of the recorded program: its command line.
pub(super) fn program(trace: &Trace) -> String {
    let command = trace.manifest().map(|manifest| manifest.command.join(" "));
    command.filter(|command| !command.is_empty()).unwrap_or_else(|| "JVM".to_owned())
}

/// The main class, module or jar of the recorded program, without its path, if it is known; of a JVM in which a build runs
/// tests, what these are of.
pub(crate) fn short_program(trace: &Trace) -> Option<String> {
    let command = trace.manifest().map_or(&[][..], |manifest| &manifest.command);
    // Options of `java` whose value is the next word. The value of the last two is the program.
    const WITH_VALUE: [&str; 5] = ["-cp", "-classpath", "--class-path", "-p", "--module-path"];
    let mut words = command.iter().skip(1);
    while let Some(word) = words.next() {
        if WITH_VALUE.contains(&word.as_str()) {
            words.next();
        } else if !word.starts_with('-') {
            return Some(match tests_of(word) {
                Some(module) => format!("tests of {module}"),
                None if word.ends_with("GradleWorkerMain") => words.next().unwrap_or(word).clone(),
                None => word.rsplit('/').next().unwrap_or(word).to_owned(),
            });
        }
    }
    None
}

/// The name of the service: as its command gives it to OpenTelemetry, or the program.
pub(super) fn service_name(trace: &Trace) -> Option<String> {
    let command = trace.manifest().map_or(&[][..], |manifest| &manifest.command);
    let given = command.iter().find_map(|word| word.strip_prefix("-Dotel.service.name="));
    given.map(str::to_owned).or_else(|| short_program(trace))
}

/// The folder of the module of which Surefire runs tests, by the jar that it starts: `…/shop/target/surefire/surefirebooter-1.jar`.
fn tests_of(jar: &str) -> Option<&str> {
    let (folders, name) = jar.rsplit_once('/')?;
    let (module, _) =
        folders.rsplit_once("/target/").filter(|_| name.starts_with("surefirebooter"))?;
    module.rsplit('/').next().filter(|name| !name.is_empty())
}

/// The id of the recorded process; 1 if it is unknown.
pub(super) fn process(trace: &Trace) -> u32 {
    trace.manifest().map_or(1, |manifest| manifest.pid.max(1))
}

/// The name of a thread, or its id without a name.
pub(super) fn whole_thread_name(trace: &Trace, id: ThreadId) -> String {
    let thread = trace.threads().get(id);
    let name = thread.map(|thread| thread.name.as_str()).filter(|name| !name.is_empty());
    let name = name.map_or_else(|| format!("thread {id}"), str::to_owned);
    match thread {
        Some(thread) if thread.is_virtual => format!("{name} (virtual)"),
        _ => name,
    }
}

/// The name of a thread, and the test whose ranges are exported, if not the whole thread.
pub(super) fn thread_name(trace: &Trace, file: &ThreadFile) -> String {
    let name = whole_thread_name(trace, file.id());
    match file.parts() {
        Some(parts) => format!("{name}, {}", parts.title()),
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tests_of_a_build_have_the_name_of_their_module() {
        let jar = |folder: &str| format!("{folder}/surefirebooter-20261127_3.jar");
        assert_eq!(tests_of(&jar("/home/a/shop/target/surefire")), Some("shop"));
        assert_eq!(tests_of(&jar("/tmp/surefire")), None);
        assert_eq!(tests_of("/home/a/shop/target/shop.jar"), None);
        assert_eq!(tests_of("com.app.Main"), None);
    }
}
