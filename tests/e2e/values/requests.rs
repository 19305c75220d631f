//! `presets=handovers` and `presets=coroutines`: what threads hand to each other, the calls that belong to a request, and the parts of
//! coroutines.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use flow_e2e::{Program, flow};

use crate::recording::classes;
use crate::{on_every_jdk, shown};

/// The steps of a request of `harness.Handed`, by hand from its source, in the order of their names.
const STEPS: [&str; 29] = [
    "again1",
    "again2",
    "again3",
    "all0",
    "all1",
    "all2",
    "apply",
    "apply-async",
    "async",
    "combined",
    "complete",
    "composed",
    "direct",
    "end",
    "failed",
    "failing",
    "inner",
    "leaf",
    "leaf",
    "leaf",
    "leaf",
    "outer",
    "own-thread",
    "scheduled",
    "task",
    "thread",
    "timer",
    "virtual",
    "waited",
];

fn rows(args: &[&str], out: &Path) -> Vec<serde_json::Value> {
    let rows = shown(&[args, &["--format", "json"]].concat(), out);
    rows.lines().map(|row| serde_json::from_str(row).unwrap()).collect()
}

/// The steps of the selected calls of `harness.Handed`, in the order of their names.
fn steps(selection: &[&str], out: &Path) -> Vec<String> {
    steps_in("harness.Handed#step", selection, out)
}

/// The first arguments of the selected calls of a method, in order.
fn steps_in(method: &str, selection: &[&str], out: &Path) -> Vec<String> {
    let calls = rows(&[&["calls", method, "--values", "--max", "0"], selection].concat(), out);
    let text = |row: &serde_json::Value| row["values"][0]["value"].as_str().unwrap().to_owned();
    let mut steps: Vec<_> = calls.iter().map(text).collect();
    steps.sort();
    steps
}

/// Where the selected steps are: thread, and number there.
fn places(selection: &[&str], out: &Path) -> BTreeSet<(u64, u64)> {
    let place =
        |row: serde_json::Value| (row["thread"].as_u64().unwrap(), row["call"].as_u64().unwrap());
    let list = |args: &[&str]| -> BTreeSet<_> {
        rows(&[args, selection].concat(), out).into_iter().map(place).collect()
    };
    let places = list(&["calls", "harness.Handed#step", "--values", "--max", "0"]);
    let only = ["--include", "harness.Handed#step", "--to", "jsonl"];
    let exported = shown(&[&["export"][..], &only, selection].concat(), out);
    let exported = exported.lines().map(|row| place(serde_json::from_str(row).unwrap()));
    assert_eq!(exported.collect::<BTreeSet<_>>(), places);
    places
}

#[test]
fn a_request_has_exactly_what_it_handed_to_other_threads() {
    on_every_jdk(|jdk| {
        let plain = Program::harness(jdk, "Handed").run_without_agent();
        for options in ["", "clock=exact,", "order=total,"] {
            let options = format!(
                "{options}include=harness.Handed,values=harness.Handed#step,presets=handovers"
            );
            let run = Program::harness(jdk, "Handed").options(&options).run();
            let errors = run.errors();
            assert_eq!(
                (run.code(), &errors, &run.stdout),
                (Some(0), &plain.errors(), &plain.stdout)
            );
            let out = run.out();
            let mut all = Vec::new();
            for request in rows(&["calls", "harness.Handed#request"], &out) {
                let call = format!("{}:{}", request["thread"], request["call"]);
                let steps = steps(&["--request", &call], &out);
                let name = steps[0].split('.').next().unwrap();
                assert!(
                    places(&["--request", &call], &out).is_subset(&places(&[], &out)),
                    "{options}"
                );
                let expected = STEPS.map(|step| format!("{name}.{step}"));
                assert_eq!(steps, expected, "{options}: {call}");
                let only = ["--include", "harness.Handed"];
                let own = shown(&[&["replay", "--request", &call][..], &only].concat(), &out);
                assert_eq!(own.matches("harness.Handed.step(").count(), STEPS.len(), "{own}");
                all.extend(steps);
            }
            all.sort();
            assert_eq!(all, steps(&[], &out), "{options}");
            assert_eq!(all.len(), 2 * STEPS.len());
        }
    });
}

/// The fields of a message: each number with its value, as bytes.
fn fields(mut message: &[u8]) -> Vec<(u64, Vec<u8>)> {
    fn varint(message: &mut &[u8]) -> u64 {
        let len = message.iter().position(|byte| byte & 0x80 == 0).unwrap() + 1;
        let (bytes, rest) = message.split_at(len);
        *message = rest;
        bytes.iter().rev().fold(0, |value, byte| value << 7 | u64::from(byte & 0x7f))
    }
    let mut fields = Vec::new();
    while !message.is_empty() {
        let key = varint(&mut message);
        let value = match key & 7 {
            0 => varint(&mut message).to_le_bytes().to_vec(),
            kind => {
                let len =
                    if kind == 1 { 8 } else { usize::try_from(varint(&mut message)).unwrap() };
                let (value, rest) = message.split_at(len);
                message = rest;
                value.to_vec()
            }
        };
        fields.push((key >> 3, value));
    }
    fields
}

#[test]
fn hand_overs_are_flows_of_a_timeline() {
    on_every_jdk(|jdk| {
        let options = "include=harness.Handed,presets=handovers";
        let run = Program::harness(jdk, "Handed").options(options).run();
        assert_eq!((run.code(), run.errors()), (Some(0), String::new()));
        for (selection, has_givers) in [(&[][..], true), (&["--include", "harness.Handed"], false)]
        {
            let command = [&["export", "--to", "perfetto"], selection].concat();
            let perfetto =
                std::process::Command::new(flow()).args(command).arg(run.out()).output().unwrap();
            let packets = fields(&perfetto.stdout);
            let events = packets.iter().flat_map(|(_, packet)| fields(packet));
            let events: Vec<_> =
                events.filter(|(field, _)| *field == 11).map(|(_, event)| fields(&event)).collect();
            let mut flows: BTreeMap<&[u8], usize> = BTreeMap::new();
            for (_, flow) in events.iter().flatten().filter(|(field, _)| *field == 47) {
                *flows.entry(flow).or_default() += 1;
            }
            assert!(flows.values().all(|events| *events <= 2), "{flows:?}");
            let whole = flows.values().filter(|events| **events == 2).count();
            assert!(whole >= 2 * 15, "{flows:?}");
            // Whether the calls that hand over are slices, or instants.
            let is_instant =
                |event: &Vec<(u64, Vec<u8>)>| event.contains(&(9, vec![3, 0, 0, 0, 0, 0, 0, 0]));
            let instants = events
                .iter()
                .filter(|event| is_instant(event) && event.iter().any(|(field, _)| *field == 47));
            assert_eq!(instants.count() == 0, has_givers);
        }
    });
}

/// An attribute of a span; empty if it has none of this key.
fn attribute<'s>(span: &'s serde_json::Value, key: &str) -> &'s str {
    let mut all = span["attributes"].as_array().unwrap().iter();
    let found = all.find(|one| one["key"] == key).map(|one| &one["value"]);
    found.and_then(|value| value["stringValue"].as_str()).unwrap_or_default()
}

#[test]
fn each_request_is_a_trace_of_spans_in_all_its_threads() {
    on_every_jdk(|jdk| {
        let options = "include=harness.Handed,values=harness.Handed#*,presets=handovers";
        let run = Program::harness(jdk, "Handed").options(options).run();
        assert_eq!((run.code(), run.errors()), (Some(0), String::new()));
        let only = ["request", "step"].map(|name| format!("harness.Handed#{name}"));
        let command = ["export", "--to", "otlp", "--include", &only[0], "--include", &only[1]];
        let spans = shown(&command, &run.out());
        assert_eq!(spans, shown(&command, &run.out()));
        let mut traces: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for line in spans.lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            for span in line["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap() {
                let argument = attribute(span, "flow.value.name").trim_matches('"').to_owned();
                let is_root = attribute(span, "code.function.name") == "harness.Handed.request";
                assert_eq!(span["parentSpanId"].is_null(), is_root, "{span}");
                traces.entry(span["traceId"].to_string()).or_default().push(argument);
            }
        }
        let mut requests = Vec::new();
        for mut steps in traces.into_values() {
            steps.sort();
            let name = steps.remove(0);
            assert_eq!(steps, STEPS.map(|step| format!("{name}.{step}")));
            requests.push(name);
        }
        requests.sort();
        assert_eq!(requests, ["A", "B"]);
        for request in rows(&["calls", "harness.Handed#request"], &run.out()) {
            let call = format!("{}:{}", request["thread"], request["call"]);
            let command = ["export", "--to", "mermaid", "--request", &call];
            let only = ["--include", &only[0], "--include", &only[1]];
            let diagram = shown(&[&command[..], &only].concat(), &run.out());
            assert_eq!(steps_of(&diagram), STEPS.len(), "{diagram}");
            assert!(diagram.contains("p1 -) p1: step() in "), "{diagram}");
        }
    });
}

/// How many steps a sequence diagram has, also in loops.
fn steps_of(diagram: &str) -> usize {
    let (mut steps, mut loops) = (0, Vec::new());
    for line in diagram.lines() {
        match line.strip_prefix("loop ").and_then(|times| times.strip_suffix(" times")) {
            Some(times) => loops.push(times.parse::<usize>().unwrap()),
            None if line == "end" => drop(loops.pop()),
            None if line.contains(": step()") => steps += loops.iter().product::<usize>(),
            None => {}
        }
    }
    steps
}

#[test]
fn many_tasks_belong_to_the_call_that_submitted_them() {
    on_every_jdk(|jdk| {
        const TASKS: usize = 20_000;
        let options = "include=harness.Handed,presets=handovers";
        let run = Program::harness(jdk, "Handed").options(options).args([TASKS.to_string()]).run();
        assert_eq!((run.code(), run.errors()), (Some(0), String::new()));
        let many = rows(&["calls", "harness.Handed#many"], &run.out());
        let call = format!("{}:{}", many[0]["thread"], many[0]["call"]);
        let report = rows(&["report", "--by", "calls", "--request", &call], &run.out());
        let step = report.iter().find(|row| row["name"] == "step").unwrap();
        assert_eq!(step["calls"], TASKS);
    });
}

/// With `-XX:hashCode=2` all objects have the same identity; otherwise a few of a million do.
#[test]
fn tasks_with_the_same_identity_are_never_linked_for_certain() {
    on_every_jdk(|jdk| {
        let options = "include=harness.Handed,values=harness.Handed#*,presets=handovers";
        let program = Program::harness(jdk, "Handed").options(options);
        let run =
            program.jvm_arg("-XX:+UnlockExperimentalVMOptions").jvm_arg("-XX:hashCode=2").run();
        assert_eq!((run.code(), run.errors()), (Some(0), String::new()));
        let out = run.out();
        // Tasks of the pool, which are not inside each other.
        let steps = [".task\"", ".outer\"", ".inner\"", ".all0\"", ".all1\"", ".all2\""];
        let mut tasks = 0;
        for request in rows(&["calls", "harness.Handed#request", "--values"], &out) {
            let name = request["values"][0]["value"].as_str().unwrap();
            let call = format!("{}:{}", request["thread"], request["call"]);
            let only = ["--include", "harness.Handed"];
            let tree =
                shown(&[&["replay", "--values", "--request", &call][..], &only].concat(), &out);
            let mut guess = None;
            for line in tree.lines() {
                let row = line.trim_start();
                let indent = line.len() - row.len();
                // Rows of calls begin with a time.
                if row.starts_with(['⇢', '(']) {
                    guess = guess.filter(|around| indent > *around);
                }
                if row.contains("a guess") {
                    guess = guess.or(Some(indent));
                }
                if row.starts_with("(name = ") && steps.iter().any(|step| row.contains(step)) {
                    tasks += 1;
                    let is_own = row.contains(&format!("\"{name}."));
                    assert!(is_own || guess.is_some(), "{call}, {row}:\n{tree}");
                }
            }
        }
        assert_eq!(tasks, 2 * steps.len());
    });
}

#[test]
fn a_request_needs_what_was_handed_over() {
    on_every_jdk(|jdk| {
        let run = Program::harness(jdk, "Hello").run();
        let flow = std::process::Command::new(flow())
            .args(["report", "--request", "1:0"])
            .arg(run.out())
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&flow.stderr);
        assert!(
            errors.contains(
                "what threads hand to each other was not recorded: flow record --handovers"
            ),
            "{errors}"
        );
        assert_eq!(flow.status.code(), Some(1), "{errors}");
    });
}

/// What `harness.Suspended` does, by hand from its source: A is resumed twice and fails, B is resumed twice, C never waits.
#[test]
fn a_coroutine_is_one_call_with_its_resumptions() {
    let rules = "[coroutines]\n\
        keep harness.Suspended#await(**) arg0\n\
        take harness.Suspended$Base+#invokeSuspend(Object) this\n";
    on_every_jdk(|jdk| {
        let dir = tempfile::tempdir().unwrap();
        let presets = dir.path().join("presets");
        std::fs::write(&presets, rules).unwrap();
        let options = format!(
            "clock=exact,include=harness.Suspended**,values=harness.Suspended#fetch,presets=coroutines,presets-file={}",
            presets.display()
        );
        let run = Program::harness(jdk, "Suspended").options(&options).run();
        assert_eq!((run.code(), run.errors()), (Some(0), String::new()));
        let out = run.out();
        let coroutines = |args: &[&str]| {
            let rows = rows(&[&["calls", "--coroutines", "--values"], args].concat(), &out);
            let row = |row: &serde_json::Value| {
                let values = row["values"].as_array().unwrap();
                let value = |name: &str| {
                    let value = values.iter().find(|value| value["name"] == name);
                    value.and_then(|value| value["value"].as_str()).unwrap_or("-").to_owned()
                };
                let ns = |key: &str| row[key].as_u64().unwrap();
                assert!(ns("running_ns") <= ns("duration_ns"), "{row}");
                let is_resumed = row["resumptions"] != 0;
                assert_eq!(ns("running_ns") < ns("duration_ns"), is_resumed, "{row}");
                let thrown = row["thrown"].as_str().unwrap_or("-");
                format!(
                    "{} {} {} {} = {} ! {thrown}",
                    value("name"),
                    row["resumptions"],
                    row["threads"],
                    row["outcome"].as_str().unwrap(),
                    value("result")
                )
            };
            rows.iter().map(row).collect::<Vec<_>>()
        };
        let [a, b, c] = [
            "A 2 2 unwound = - ! java.lang.IllegalStateException",
            "B 2 2 returned = B ! -",
            "C 0 1 returned = C ! -",
        ];
        assert_eq!(coroutines(&[]), [a, b, c]);
        assert_eq!(coroutines(&["harness.Suspended#fetch", "--outcome", "exception"]), [a]);
        assert_eq!(coroutines(&["--where", "name == B"]), [b]);
        let longest = coroutines(&["--slowest", "2"]);
        assert!(!longest.contains(&c.to_owned()) && longest.len() == 2, "{longest:?}");
        // Each resumption is a call elsewhere; only the last one of A fails.
        let failed = rows(
            &["calls", "harness.Suspended#fetch", "--slowest", "9", "--outcome", "exception"],
            &out,
        );
        assert_eq!(failed.len(), 1, "{failed:?}");
        assert_eq!(failed[0]["thrown"], "java.lang.IllegalStateException");
        let returned =
            ["calls", "harness.Suspended#fetch", "--slowest", "9", "--outcome", "returned"];
        assert_eq!(rows(&returned, &out).len(), 6);
        let report = rows(&["report", "--coroutines"], &out);
        assert_eq!((&report[0]["calls"], &report[0]["resumptions"]), (&3.into(), &4.into()));
        let calls = rows(&["calls", "--coroutines", "harness.Suspended#fetch"], &out);
        let all =
            |key: &str| calls.iter().map(|row| row[key].as_u64().unwrap()).collect::<Vec<_>>();
        let ns = |key: &str| report[0][key].as_u64().unwrap();
        assert_eq!(ns("total_ns"), all("duration_ns").iter().sum::<u64>());
        assert_eq!(Some(&ns("longest_ns")), all("duration_ns").iter().max());
        assert_eq!(ns("running_ns"), all("running_ns").iter().sum::<u64>());
    });
}

/// `harness.Contexts` with the Java API.
fn contexts(jdk: &flow_e2e::Jdk) -> Program {
    let api = flow_e2e::harness().parent().unwrap().join("cli/java/flow-api.jar");
    let class_path = format!("{}:{}", classes(), api.display());
    Program::new(jdk, ["-cp", &class_path, "harness.Contexts"])
}

/// What `harness.Contexts` works for, by hand from its source: threads, calls and exceptions of each order. `work`, `step`, the
/// task with two steps, `fail` and another step; the calls of the preset are not counted here.
#[test]
fn a_value_of_a_context_has_what_happened_meanwhile() {
    on_every_jdk(|jdk| {
        let plain = contexts(jdk).run_without_agent();
        let options =
            "include=harness.Contexts,values=harness.Contexts#step,presets=context;handovers";
        let run = contexts(jdk).options(options).run();
        assert_eq!(
            (run.code(), run.errors(), &run.stdout),
            (Some(0), String::new(), &plain.stdout)
        );
        let out = run.out();
        let values = rows(&["calls", "--by", "context", "order"], &out);
        let mut orders: Vec<_> = values
            .iter()
            .map(|row| {
                format!(
                    "{}={} {} {} {} {}",
                    row["key"],
                    row["value"],
                    row["threads"],
                    row["thrown"],
                    row["alike"],
                    row["odd"]
                )
            })
            .collect();
        orders.sort();
        let expected = |order| match order {
            3 => "\"order\"=\"3\" 2 1 1 true".to_owned(),
            order => format!("\"order\"=\"{order}\" 2 0 7 false"),
        };
        assert_eq!(orders, (0..8).map(expected).collect::<Vec<_>>());
        let first = rows(&["calls", "--by", "context", "order", "--odd", "--max", "1"], &out);
        assert_eq!(first[0]["value"], "3");
        let mut followed: Vec<_> = rows(&["calls", "--by", "context", "order", "--follow"], &out)
            .iter()
            .map(|row| (row["value"].clone(), row["threads"].clone(), row["thrown"].clone()))
            .collect();
        followed.sort_by_key(|(value, ..)| value.to_string());
        let expected =
            |order: u64| (order.to_string().into(), 1.into(), u64::from(order == 3).into());
        assert_eq!(followed, (0..8).map(expected).collect::<Vec<_>>());
        for order in 0..8 {
            let calls = rows(
                &[
                    "calls",
                    "harness.Contexts#step",
                    "--values",
                    "--context",
                    &format!("order={order}"),
                ],
                &out,
            );
            let steps: Vec<_> =
                calls.iter().map(|row| row["values"][0]["value"].as_i64()).collect();
            let count = if order == 3 { 4 } else { 3 };
            assert_eq!(steps, vec![Some(order); count], "order {order}");
        }
        let even =
            shown(&["replay", "--include", "harness.Contexts", "--context", "user=even"], &out);
        assert_eq!(even.matches("⇢").count(), 4, "{even}");
    });
}

/// Rules like those that flow has for servlets, Spring and messages.
const ROUTES: &str = "[context]\n\
    put harness.Routed#set(String, String) arg0 | arg1\n\
    while harness.Routed$Servlet+#service(Runnable) 'route' | this.class\n\
    part harness.Routed#match(String, String) 'route' | arg0 '' arg1\n\
    part harness.Routed#match(**) 'route' | arg0.verbs arg0.patterns.text arg0.names\n\
    while harness.Routed#receive(Runnable) 'consumer'\n\
    while harness.Routed$Invocable#invoke() 'consumer' | this.method.clazz '.' this.method.name\n\
    fields harness.Routed$Mapping#*\n\
    fields harness.Routed$Pattern#text\n\
    fields harness.Routed$Invocable#method\n";

/// What `harness.Routed` works for, by hand from its source: each step has the name of its route or consumer.
#[test]
fn a_request_has_its_route_and_a_message_its_consumer() {
    on_every_jdk(|jdk| {
        let dir = tempfile::tempdir().unwrap();
        let presets = dir.path().join("presets");
        std::fs::write(&presets, ROUTES).unwrap();
        let options = format!(
            "include=harness.Routed**,values=harness.Routed#step,presets=context;handovers,presets-file={}",
            presets.display()
        );
        let run = Program::harness(jdk, "Routed").options(&options).run();
        assert_eq!((run.code(), run.errors()), (Some(0), String::new()));
        let out = run.out();
        let listed = |key: &str| -> Vec<_> {
            let rows = rows(&["calls", "--by", "context", key], &out);
            let text = |row: &serde_json::Value| row["value"].as_str().unwrap().to_owned();
            rows.iter().map(|row| (text(row), row["thrown"].as_u64().unwrap())).collect()
        };
        let steps_of =
            |context: &str| steps_in("harness.Routed#step", &["--context", context], &out);
        let mut routes = listed("route");
        routes.sort();
        let expected = [
            ("/a", 0, 1),
            ("/named", 0, 0),
            ("/shop/{id}", 0, 1),
            ("/{id}", 0, 1),
            ("/shops", 0, 1),
            ("GET /orders/{id}", 0, 8),
            // `fail`, the lambda expression and `service`.
            ("POST /fail", 3, 1),
            ("before", 0, 4),
            ("harness.Routed$Hello", 0, 1),
        ];
        let consumer = "harness.Routed.onOrder";
        for (route, thrown, steps) in expected {
            let found = routes.iter().find(|(name, _)| name == route);
            assert_eq!(found, Some(&(route.to_owned(), thrown)), "{routes:?}");
            assert_eq!(steps_of(&format!("route={route}")), vec![route; steps], "{route}");
        }
        assert_eq!(routes.len(), expected.len(), "{routes:?}");
        assert_eq!(listed("consumer"), [(consumer.to_owned(), 0)]);
        assert_eq!(steps_of(&format!("consumer={consumer}")), [consumer; 2]);
    });
}
