//! `exceptions=`: exceptions that reach handlers.

use std::fs;
use std::path::Path;

use flow_e2e::{Engine, Program};

use crate::{on_every_jdk, shown};

/// What reaches the handlers of `harness.Handlers`, by hand from its source: the method with the handler, the exception, and where
/// that was created, without the JDK's lines. `NPE`: the message that the JVM works out, from JDK 14 on.
const EXPECTED: &str = r#"
parsed NumberFormatException "For input string: \"x\"" NumberFormatException.forInputString
own Handlers$Failure "own 3" Handlers.own
many IllegalStateException "state" Handlers.many
many IllegalArgumentException "argument" Handlers.many
many ArithmeticException "/ by zero" Handlers.many
length NullPointerException NPE Handlers.length
swallowed NumberFormatException "For input string: \"z\"" NumberFormatException.forInputString
loop NumberFormatException "For input string: \"loop 0\"" NumberFormatException.forInputString
loop NumberFormatException "For input string: \"loop 1\"" NumberFormatException.forInputString
loop NumberFormatException "For input string: \"loop 2\"" NumberFormatException.forInputString
nested Handlers$Failure "inner" Handlers.nested
nested Handlers$Failure "outer" Handlers.nested
lambda NumberFormatException "For input string: \"lambda\"" NumberFormatException.forInputString
wide Handlers$Failure "wide" Handlers.wide
ignored NumberFormatException "For input string: \"ignored\"" NumberFormatException.forInputString
passed NumberFormatException "For input string: \"finally\"" NumberFormatException.forInputString
caughtBy NumberFormatException "For input string: \"finally\"" NumberFormatException.forInputString
locked NumberFormatException "For input string: \"locked\"" NumberFormatException.forInputString
caughtBy NumberFormatException "For input string: \"locked\"" NumberFormatException.forInputString
closed Handlers$Failure "body" Handlers.closed
closed Handlers$Failure "close" Handlers$Resource.close
caughtBy Handlers$Failure "body" Handlers.closed
again Handlers$Failure "again" Handlers.again
caughtBy Handlers$Failure "again" Handlers.again
wrapped NumberFormatException "For input string: \"wrapped\"" NumberFormatException.forInputString
caughtBy IllegalStateException "wrapped" Handlers.wrapped
caughtBy Handlers$Failure "built" Handlers$Base.<init>
caughtBy Handlers$Failure "deep" Handlers.deep
silent Handlers$Silent null -
"#;

/// The exceptions that reached handlers, each as in [`EXPECTED`], and the lines of handler and creation.
fn handled(out: &Path) -> Vec<(String, [Option<u64>; 2])> {
    let rows = shown(&["replay", "--time", "--format", "json"], out);
    let mut open: Vec<String> = Vec::new();
    let mut found = Vec::new();
    for row in rows.lines() {
        let row: serde_json::Value = serde_json::from_str(row).unwrap();
        let depth = usize::try_from(row["depth"].as_u64().unwrap()).unwrap();
        if row["mark"] == "caught" {
            let caught = &row["caught"];
            let method = open[depth - 1].split('$').next().filter(|name| !name.is_empty());
            let short = |name: &str| {
                let name = name.strip_prefix("java.lang.").or(name.strip_prefix("harness."));
                name.unwrap_or("?").to_owned()
            };
            let exception = short(caught["exception"].as_str().unwrap());
            let message = match caught["message"].as_str() {
                Some(_) if exception == "NullPointerException" => "NPE".to_owned(),
                Some(message) => format!("{message:?}"),
                None if exception == "NullPointerException" => "NPE".to_owned(),
                None => "null".to_owned(),
            };
            let created = caught["created_in"].as_str().map_or("-".to_owned(), short);
            let lines = ["line", "created_line"].map(|key| caught[key].as_u64());
            let method = method.unwrap_or_default();
            found.push((format!("{method} {exception} {message} {created}"), lines));
        } else if row["mark"].is_null() {
            open.truncate(depth);
            open.push(row["name"].as_str().unwrap().to_owned());
        }
    }
    found
}

/// The line of the source with a text, after another one.
fn line_of(source: &str, method: &str, text: &str) -> u64 {
    let lines = source.lines().enumerate();
    let mut lines = lines.skip_while(|(_, line)| !line.contains(method));
    lines.find(|(_, line)| line.contains(text)).unwrap().0 as u64 + 1
}

#[test]
fn exceptions_are_recorded_wherever_they_are_caught() {
    let expected: Vec<_> = EXPECTED.trim().lines().collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let source = root.join("java-harness/src/main/java/harness/Handlers.java");
    let source = fs::read_to_string(source).unwrap();
    on_every_jdk(|jdk| {
        let plain = Program::harness(jdk, "Handlers").run_without_agent();
        let mut of_engines = Vec::new();
        for (engine, options) in [
            (Engine::Events, "clock=tick"),
            (Engine::Instrument, "clock=tick,chunk=64"),
            (Engine::Instrument, "clock=exact"),
            (Engine::Instrument, "order=total"),
            (Engine::Instrument, "values=harness.Handlers,lines=**,instructions=**,fields=**"),
        ] {
            let program = Program::harness(jdk, "Handlers").engine(engine);
            let program = program.jvm_arg("-Xcheck:jni").jvm_arg("-Xverify:all");
            let run = program.options(&format!("exceptions=harness.**,{options}")).run();
            assert_eq!((run.code(), &run.stdout), (Some(0), &plain.stdout), "{options}");
            let found = handled(&run.out());
            let texts: Vec<_> =
                found.iter().map(|(text, _)| text.replace("inLambda", "lambda")).collect();
            assert_eq!(texts, expected, "{engine:?} {options}");
            let line = |method, text| Some(line_of(&source, method, text));
            let parsed = line("int parsed(", "} catch");
            assert_eq!(found[0].1[0], parsed, "{options}");
            let own = [line("int own(", "} catch"), line("int own(", "throw new")];
            assert_eq!(found[1].1, own, "{options}");
            of_engines.push(found);
        }
        assert!(of_engines.windows(2).all(|two| two[0] == two[1]), "engines agree");
    });
}

#[test]
fn only_methods_that_the_pattern_names_have_exceptions_and_secrets_are_left_out() {
    on_every_jdk(|jdk| {
        for engine in [Engine::Events, Engine::Instrument] {
            let options = "exceptions=harness.Handlers#own;harness.Handlers#parsed;harness.Handlers#loop,\
                redact=harness.Handlers#own;java.lang.NumberFormatException,max-value=10";
            let run = Program::harness(jdk, "Handlers").engine(engine).options(options).run();
            let rows = shown(&["replay", "--time"], &run.out());
            let mut caught: Vec<_> =
                rows.lines().filter(|line| line.contains("! caught")).collect();
            caught.iter_mut().for_each(|line| *line = line.split_once("! ").unwrap().1);
            assert_eq!(caught.len(), 5, "{rows}");
            assert!(caught.iter().all(|line| line.contains(": (redacted) ")), "{rows}");
            for file in fs::read_dir(run.out()).unwrap() {
                let bytes = fs::read(file.unwrap().path()).unwrap();
                let has =
                    |text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
                assert!(!has("own 3") && !has("For input"), "a secret is in the trace");
            }
            let report = shown(&["report", "--exceptions"], &run.out());
            assert!(report.contains("in methods that match harness.Handlers#own;"), "{report}");
        }
    });
}

#[test]
fn the_message_that_the_jvm_works_out_is_that_of_get_message() {
    on_every_jdk(|jdk| {
        let options = "values=harness.Handlers,exceptions=harness.Handlers";
        let run = Program::harness(jdk, "Handlers").options(options).run();
        let rows = shown(&["report", "--exceptions", "--format", "json"], &run.out());
        let rows = rows.lines().map(|row| serde_json::from_str::<serde_json::Value>(row).unwrap());
        let mut rows = rows.filter(|row| row["exception"] == "java.lang.NullPointerException");
        let row = rows.next().unwrap();
        // Came with JDK 14, and was off there. More characters than of other values.
        let message = (jdk.version >= 15).then_some(
            "\"Cannot invoke \\\"String.length()\\\" because \\\"nameThatMakesTheMessageLong\\\" is null\"",
        );
        assert_eq!(row["message"].as_str(), message, "{row}");
        assert_eq!([&row["thrown"], &row["passed"], &row["caught"]], [1, 0, 1], "{row}");
    });
}
