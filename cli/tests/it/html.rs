//! The page of `flow report --html`, without a browser: its data, what it must not contain, and its
//! size.

use std::fs;
use std::path::Path;

use flow_codec::Offset;
use flow_codec::format::marks::{HEADER, Mark, MarkEncoder, Position};
use flow_codec::format::values;

use crate::common::{Run, bare, command, flow, page_data, script, test_mark, text, trace};
use serde_json::Value;

/// The page of a trace.
fn page(args: &[&str], dir: &Path) -> (String, Run) {
    let out = tempfile::tempdir().unwrap();
    let file = out.path().join("page.html");
    let run = flow(&[&["report", "--html", &text(&file)], args].concat(), dir);
    (fs::read_to_string(&file).unwrap(), run)
}

fn data_of(args: &[&str], dir: &Path) -> Value {
    let (page, run) = page(args, dir);
    assert_eq!((run.code, run.out.as_str()), (Some(0), ""), "{}", run.err);
    page_data(&page)
}

fn array(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

fn numbers(value: &Value) -> Vec<i64> {
    array(value).iter().map(|number| number.as_i64().unwrap()).collect()
}

/// A box as the page stores it, read back.
#[derive(Clone, PartialEq, Debug)]
struct Drawn {
    depth: usize,
    /// `None` for several calls.
    method: Option<usize>,
    at: i64,
    width: i64,
    calls: i64,
}

fn boxes(flat: &Value) -> Vec<Drawn> {
    let mut drawn: Vec<Drawn> = Vec::new();
    for cell in numbers(flat).chunks_exact(5) {
        let &[up, method, gap, width, calls] = cell else { unreachable!() };
        let depth = drawn.last().map_or(0, |last| last.depth + 1) - usize::try_from(up).unwrap();
        let mut not_around = drawn.iter().rev().take_while(|other| other.depth >= depth);
        let beside = not_around.find(|other| other.depth == depth);
        let around = drawn.iter().rev().find(|other| other.depth + 1 == depth);
        let begin = match (beside, around) {
            (Some(beside), _) if up > 0 => beside.at + beside.width,
            (_, around) => around.map_or(0, |around| around.at),
        };
        let calls = if calls == 0 { width } else { calls };
        let method = usize::try_from(method).ok();
        drawn.push(Drawn { depth, method, at: begin + gap, width, calls });
    }
    drawn
}

/// Pseudo-random events of this many methods.
fn events(count: usize, methods: u16) -> Vec<u8> {
    let mut state: u64 = 3;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % below
    };
    let mut bytes = Vec::new();
    for _ in 0..count {
        if next(2) == 0 {
            bytes.push(u8::try_from(next(3)).unwrap());
        } else {
            let method = next(methods.into());
            bytes.extend([
                0xC0 | u8::try_from(method & 0x3F).unwrap(),
                u8::try_from(method >> 6).unwrap(),
            ]);
        }
    }
    bytes
}

#[test]
fn the_page_and_the_report_agree() {
    let dir = trace();
    let data = data_of(&[], dir.path());
    let report = flow(&["report", "--format", "json"], dir.path()).out;
    let report: Vec<Value> =
        report.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let methods = array(&data["methods"]);
    assert_eq!(methods.len(), report.len());
    for row in report {
        let is_same = |method: &&Value| {
            let class = usize::try_from(method[0].as_u64().unwrap()).unwrap();
            data["classes"][class][0] == row["class"] && method[1] == row["name"]
        };
        let method = methods.iter().find(is_same).unwrap();
        assert_eq!(
            (&method[3], &method[4], &method[5], &method[6]),
            (&row["descriptor"], &row["calls"], &row["total"], &row["self"])
        );
    }
    let info: Value =
        serde_json::from_str(&flow(&["info", "--format", "json"], dir.path()).out).unwrap();
    for thread in array(&info["threads"]) {
        let mut threads = array(&data["threads"]).iter();
        let row = threads.find(|row| row["id"] == thread["thread"]).unwrap();
        assert_eq!((&row["calls"], &row["name"]), (&thread["calls"], &thread["name"]));
        assert_eq!((&row["frames"], &row["state"]), (&thread["max_frames"], &thread["state"]));
    }
    let facts = &data["facts"];
    assert_eq!(
        (&facts["title"], &facts["command"], &facts["end"]),
        (&"app.jar".into(), &"java -jar app.jar".into(), &"finished after 1s 500ms".into())
    );
    let notes = facts["notes"].to_string();
    assert!(notes.contains("2 methods not recorded: native"), "{notes}");
}

#[test]
fn every_call_of_a_small_trace_has_a_box() {
    // main > (work > (init, init), work), and once more, with two frames still open.
    let bytes = [0x80, 0x81, 0x82, 0x00, 0x82, 0x01, 0x81, 0x01, 0x80, 0x81];
    let dir = bare(&bytes);
    let data = data_of(&[], dir.path());
    let name = |method: usize| array(&data["methods"])[method][1].as_str().unwrap().to_owned();
    let line = |cell: Drawn| {
        format!(
            "{} {} {}+{} {}",
            cell.depth,
            name(cell.method.unwrap()),
            cell.at,
            cell.width,
            cell.calls
        )
    };
    let lines = |flat: &Value| boxes(flat).into_iter().map(line).collect::<Vec<_>>();
    assert_eq!(
        lines(&data["threads"][0]["boxes"]),
        [
            "0 main 0+5 5",
            "1 work 1+3 3",
            "2 <init> 2+1 1",
            "2 <init> 3+1 1",
            "1 work 4+1 1",
            "0 main 5+2 2",
            "1 work 6+1 1"
        ]
    );
    assert_eq!(lines(&data["flame"]), ["0 main 0+7 2", "1 work 0+5 3", "2 <init> 0+2 2"]);
    assert_eq!(data["flame_end"], 7);
    let edges: Vec<_> = numbers(&data["edges"]).chunks_exact(3).map(|edge| edge.to_vec()).collect();
    assert_eq!(edges.len(), 3);
    assert_eq!(edges.iter().map(|edge| edge[2]).sum::<i64>(), 7);
}

#[test]
fn threads_have_lanes_and_their_methods_and_the_busiest_comes_first() {
    let dir = trace();
    let data = data_of(&[], dir.path());
    let threads = array(&data["threads"]);
    let ids: Vec<_> = threads.iter().map(|thread| thread["id"].as_i64().unwrap()).collect();
    // Its calls but for main itself: those of the others last as long as their threads.
    assert_eq!(ids, [1, 12, 13]);
    assert_eq!(data["end"], 5);
    // Method 0 for a bin, method 1 for another, and so on.
    let name = |place: i64| {
        let place = usize::try_from(place).unwrap();
        array(&data["methods"])[place][1].as_str().unwrap()
    };
    let main = &threads[0];
    let lane = numbers(&main["lane"]);
    let bins: Vec<_> = lane[1..].chunks(3).map(|run| (run[0], run[1], name(run[2]))).collect();
    assert_eq!(lane[0], 1, "the width of a bin");
    let expected = [("main", 1), ("work", 1), ("<init>", 2), ("work", 1)];
    assert_eq!(bins, expected.map(|(name, count)| (count, 9, name)));
    let called = numbers(&main["called"]);
    let called: Vec<_> = called.chunks(3).map(|row| (name(row[0]), row[1], row[2])).collect();
    assert_eq!(called, [("main", 1, 0), ("work", 2, 1), ("<init>", 2, 1)]);
    assert_eq!(main["is_complete"], true);
}

#[test]
fn notes_and_tests_are_in_the_timeline() {
    use flow_codec::Offset;
    use flow_codec::format::marks::{HEADER, Mark, MarkEncoder, Position};

    let dir = trace();
    let manifest = crate::common::manifest(0, Some((7, 8, 12)));
    let clock = r#""event_format":"binary","clock":{"kind":"exact"}"#;
    fs::write(dir.path().join("trace.json"), manifest.replace(r#""event_format":"binary""#, clock))
        .unwrap();
    let (mut encoder, mut bytes) = (MarkEncoder::default(), HEADER.to_vec());
    for (offset, ns, text) in [
        (1, 1000, "test started a.T.one"),
        (4, 2000, "<b>note"),
        (6, 3000, "test failed a.T.one"),
        (7, 4000, "test started a.T.two"),
    ] {
        let position = Position { offset: Offset::new(offset), exits: 0 };
        encoder.encode(position, &Mark::Time { by_ns: ns, from_ns: ns, ran_us: None }, &mut bytes);
        encoder.encode(position, &test_mark(text), &mut bytes);
    }
    fs::write(dir.path().join("thread-1.marks"), &bytes).unwrap();
    let data = data_of(&[], dir.path());
    let main = array(&data["threads"]).iter().find(|thread| thread["id"] == 1).unwrap();
    let marks: Vec<_> = array(&main["marks"])
        .iter()
        .map(|mark| {
            let [kind, text] = ["kind", "text"].map(|key| mark[key].as_str().unwrap());
            (kind, text, mark["at"].as_i64().unwrap(), mark["end"].as_i64().unwrap())
        })
        .collect();
    assert_eq!(
        marks,
        [
            ("failed", "a.T.one", 1000, 3000),
            ("note", "<b>note", 2000, 2000),
            ("unfinished", "a.T.two", 4000, 4000)
        ]
    );
    // The list of tests has the calls of each, by their numbers.
    let rows: Vec<_> = array(&data["tests"]["rows"])
        .iter()
        .map(|row| ["name", "result", "calls", "within"].map(|key| &row[key]))
        .collect();
    let (one, two) =
        (["a.T.one", "failed"].map(Value::from), ["a.T.two", "unfinished"].map(Value::from));
    let (within, none) = (serde_json::json!([1, 4]), Value::Null);
    assert_eq!(
        rows,
        [[&one[0], &one[1], &3.into(), &within], [&two[0], &two[1], &0.into(), &none]]
    );
}

#[test]
fn requests_are_listed_with_their_calls() {
    let dir = bare(crate::common::MAIN);
    let method = |id: u64, name: &str, roles: &[&str]| {
        let row = serde_json::json!({"id": id, "class": "com.app.Main", "name": name, "descriptor": "()V", "roles": roles});
        format!("{row}\n")
    };
    let methods =
        method(0, "main", &[]) + &method(1, "work", &["http run 'GET'"]) + &method(2, "inner", &[]);
    fs::remove_file(dir.path().join("ids.properties")).unwrap();
    fs::write(dir.path().join("methods.jsonl"), methods).unwrap();
    let data = data_of(&[], dir.path());
    let rows = array(&data["requests"]["rows"]);
    let shown: Vec<_> =
        rows.iter().map(|row| (&row["text"], &row["thread"], &row["call"])).collect();
    let get = Value::from("GET");
    assert_eq!(shown, [(&get, &1.into(), &1.into()), (&get, &1.into(), &4.into())]);
    // Where calls are left out, they have other numbers.
    let data = data_of(&["--exclude", "com.app.Main#inner"], dir.path());
    assert_eq!(data["requests"]["rows"], serde_json::json!([]));
}

#[test]
fn parts_of_threads_are_below_the_calls_that_handed_them_over() {
    let dir = tempfile::tempdir().unwrap();
    let method = |id: u64, name: &str, role: &str| {
        let row = serde_json::json!({"id": id, "class": "com.app.Main", "name": name, "descriptor": "()V", "roles": [role]});
        format!("{row}\n")
    };
    let methods = method(1, "give", "handovers give arg0")
        + &method(2, "take", "handovers take arg0")
        + &method(3, "inner", "");
    fs::write(dir.path().join("methods.jsonl"), methods).unwrap();
    // One thread gives two objects, the other one takes them in reverse order.
    let [gives, takes]: [&[u8]; 2] =
        [&[0x81, 0x00, 0x81, 0x00], &[0x82, 0x83, 0x01, 0x82, 0x83, 0x01]];
    for (thread, events, values) in [(1, gives, [(1, 5), (3, 6)]), (2, takes, [(1, 6), (4, 5)])] {
        fs::write(dir.path().join(format!("thread-{thread}.flow")), events).unwrap();
        let (mut encoder, mut bytes) = (MarkEncoder::default(), HEADER.to_vec());
        for (offset, hash) in values {
            let mut value = Vec::new();
            let object = values::Value::Object(values::Identity { class: None, hash });
            values::CallValue::new(values::Role::Argument(0), object).encode(&mut value);
            encoder.encode(Position::before(Offset::new(offset)), &Mark::Values(value), &mut bytes);
        }
        encoder.finish(&mut bytes);
        fs::write(dir.path().join(format!("thread-{thread}.marks")), bytes).unwrap();
    }
    let handed = |args: &[&str]| {
        let handed = data_of(args, dir.path())["handed"].take();
        let flat = numbers(&handed["parts"]);
        let (mut parts, mut rest) = (Vec::new(), &flat[..]);
        while let [thread, giver, call, flags, ranges, after @ ..] = rest {
            let (ranges, after) = after.split_at(2 * usize::try_from(*ranges).unwrap());
            parts.push((format!("{thread} by {giver}:{call}, {flags}"), ranges.to_vec()));
            rest = after;
        }
        (parts, handed["title"].clone())
    };
    let part = |text: &str, ranges: &[i64]| (text.to_owned(), ranges.to_vec());
    // The second thread has nothing but its tasks.
    let all = [
        part("1 by -1:-1, 0", &[0, 2]),
        part("2 by 1:0, 0", &[2, 4]),
        part("2 by 1:1, 0", &[0, 2]),
    ];
    assert_eq!(handed(&[]), (all.to_vec(), Value::Null));
    // A request has numbers of its own.
    let of_request = [part("1 by -1:-1, 0", &[0, 1]), part("2 by 1:0, 0", &[0, 2])];
    assert_eq!(handed(&["--request", "1:0"]), (of_request.to_vec(), "request 1:0".into()));
    // So has a page on which calls are left out: those that run something, or those that hand something over.
    let without = handed(&["--exclude", "com.app.Main#take"]).0;
    let expected = [part("2 by 1:0, 0", &[1, 2]), part("2 by 1:1, 0", &[0, 1])];
    assert_eq!(without[1..], expected);
    let alone = [part("2 by -1:-1, 0", &[2, 4]), part("2 by -1:-1, 0", &[0, 2])];
    assert_eq!(handed(&["--exclude", "com.app.Main#give"]).0, alone);
    // Of threads that were selected, the tree is not known.
    let data = data_of(&["--request", "1:0", "--thread", "2"], dir.path());
    assert_eq!(data["handed"]["parts"], serde_json::json!([]));
}

#[test]
fn the_page_knows_which_methods_are_the_applications() {
    let dir = trace();
    let own = |data: &Value| -> Vec<_> {
        let of = |row: &Value| (row[1].as_str().unwrap().to_owned(), row[7].as_i64().unwrap());
        array(&data["methods"]).iter().map(of).collect()
    };
    let data = data_of(&[], dir.path());
    assert_eq!(data["knows_own"], false);
    assert!(own(&data).iter().all(|(_, is_own)| *is_own == 1));
    let manifest = crate::common::manifest(0, Some((7, 8, 12)));
    let manifest = manifest.replace(r#""pid":"#, r#""own":["com.app.Main$*"],"pid":"#);
    let path = dir.path().join("trace.json");
    fs::write(&path, &manifest).unwrap();
    let data = data_of(&[], dir.path());
    assert_eq!(data["knows_own"], true);
    let sorted = |data: &Value| {
        let mut own = own(data);
        own.sort();
        own
    };
    let expected =
        |work| [("<init>", 1), ("main", 0), ("work", work)].map(|(n, o)| (n.to_owned(), o));
    assert_eq!(sorted(&data), expected(0));
    // What was named to be recorded is not folded away; a pattern for everything names nothing.
    for (include, work) in [("com.app.Main$*;com.app.Main#work", 1), ("**", 0)] {
        let include = format!(r#""options":{{"include":"{include}","#);
        fs::write(&path, manifest.replace(r#""options":{"#, &include)).unwrap();
        assert_eq!(sorted(&data_of(&[], dir.path())), expected(work));
    }
}

#[test]
fn names_that_try_to_be_code_stay_text() {
    let dir = bare(&[0x80, 0x81, 0x01]);
    let hostile = "</script><img src=x onerror=alert(1)>";
    let line = |id, class: &str, name: &str| {
        format!(
            "{}\n",
            serde_json::json!({"id": id, "class": class, "name": name, "descriptor": "()V"})
        )
    };
    let methods = line(0, hostile, "<!--{{data}}")
        + &line(1, "user\u{202e}nimda\u{2028}", "line\nbreak\u{1b}[31m");
    fs::remove_file(dir.path().join("ids.properties")).unwrap();
    fs::write(dir.path().join("methods.jsonl"), methods).unwrap();
    let (page, run) = page(&[], dir.path());
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert_eq!(
        page.matches("</script").count(),
        3,
        "the ends of the data, the shapes and the script"
    );
    assert!(!page.contains("<img") && !page.contains("<!--"));
    let data = page_data(&page);
    assert_eq!(data["classes"][0][0], hostile);
    assert_eq!(data["methods"][0][1], "<!--{{data}}");
    assert_eq!(data["classes"][1][0], r"user\u{202e}nimda\u{2028}");
    assert_eq!(data["methods"][1][1], r"line\u{a}break\u{1b}[31m");
}

#[test]
fn only_our_own_code_may_run_and_nothing_is_loaded() {
    let dir = trace();
    let (page, _) = page(&[], dir.path());
    let (_, policy) = page.split_once(r#"http-equiv="Content-Security-Policy" content=""#).unwrap();
    let (policy, _) = policy.split_once('"').unwrap();
    let nonce = policy.split_once("script-src 'nonce-").unwrap().1.split_once('\'').unwrap().0;
    assert!(policy.starts_with("default-src 'none'; ") && !policy.contains("unsafe"), "{policy}");
    assert!(
        nonce.len() >= 32 && page.contains(&format!(r#"<script type="module" nonce="{nonce}">"#))
    );
    let (again, _) = self::page(&[], dir.path());
    assert!(!again.contains(nonce), "nobody can know it before");
    assert_eq!(again.len(), page.len());
}

#[test]
fn thousands_of_virtual_threads_do_not_hide_main() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("ids.properties"), "a.B#c()V=0\n").unwrap();
    let start = |id, is_virtual| {
        format!(
            r#"{{"event":"start","id":{id},"name":"","daemon":false,"virtual":{is_virtual},"at_ns":1}}"#
        )
    };
    let threads: Vec<_> = (1..1200).map(|id| start(id, id > 1)).collect();
    fs::write(dir.path().join("threads.jsonl"), threads.join("\n") + "\n").unwrap();
    for id in 1..1200 {
        let calls = if id == 1 { 1 } else { 3 };
        let file = dir.path().join(format!("thread-{id}.flow"));
        fs::write(file, [0x80, 0x00].repeat(calls)).unwrap();
    }
    let data = data_of(&[], dir.path());
    let threads = array(&data["threads"]);
    assert_eq!((threads.len(), &data["more_threads"]["threads"]), (1000, &199.into()));
    assert!(threads.iter().any(|thread| thread["id"] == 1));
}

#[test]
fn a_page_has_a_limited_size_for_any_trace() {
    let dir = tempfile::tempdir().unwrap();
    let class = "long.name.".repeat(60);
    let methods =
        (0..8190).map(|id| format!("{class}C{id}#{}{id}(L{class};)V={id}\n", "method".repeat(50)));
    fs::write(dir.path().join("ids.properties"), methods.collect::<String>()).unwrap();
    fs::write(dir.path().join("thread-1.flow"), events(1_500_000, 8190)).unwrap();
    fs::write(dir.path().join("thread-2.flow"), events(400_000, 8190)).unwrap();
    for thread in 3..1400 {
        fs::write(dir.path().join(format!("thread-{thread}.flow")), events(300, 8190)).unwrap();
    }
    let (page, run) = page(&[], dir.path());
    assert_eq!(run.code, Some(0), "{}", run.err);
    // Half of it for the charts, and half for shapes: 3 MiB, which are 4 in Base64.
    assert!(page.len() < 8 << 20, "{}", page.len());
    let data = page_data(&page);
    let threads = array(&data["threads"]);
    assert_eq!(threads.len(), 1000);
    let drawn: Vec<_> = threads.iter().filter(|thread| thread["boxes"].is_array()).collect();
    assert_eq!(drawn.len(), 100);
    // The first number is the width of a bin; runs of bins follow.
    let bins = |lane: &Value| numbers(lane)[1..].chunks(3).map(|run| run[0]).sum::<i64>();
    assert!(threads.iter().all(|thread| (1..=40).contains(&bins(&thread["lane"]))));
    assert!((1..=40).contains(&bins(&data["more_threads"]["lane"])));
    let mut calls = data["more_threads"]["calls"].as_i64().unwrap();
    calls += threads.iter().map(|thread| thread["calls"].as_i64().unwrap()).sum::<i64>();
    for thread in drawn {
        let boxes = boxes(&thread["boxes"]);
        assert!(boxes.len() <= 20_000);
        let outermost = boxes.iter().filter(|cell| cell.depth == 0);
        assert_eq!(
            outermost.map(|cell| cell.calls).sum::<i64>(),
            thread["calls"].as_i64().unwrap()
        );
    }
    let methods = array(&data["methods"]);
    let mut told = data["more_methods"]["calls"].as_i64().unwrap();
    told += methods.iter().map(|method| method[4].as_i64().unwrap()).sum::<i64>();
    assert!(methods.len() < 8190 && told == calls && data["flame_end"] == calls);
}

#[test]
fn flags_of_the_report_apply() {
    let dir = trace();
    let data = data_of(&["--thread", "main", "--exclude", "com.app.Main#work"], dir.path());
    let names: Vec<_> =
        array(&data["methods"]).iter().map(|method| method[1].as_str().unwrap()).collect();
    assert_eq!((names, array(&data["threads"]).len()), (vec!["main", "<init>"], 1));
    assert_eq!(data["is_filtered"], true);
    let notes = data["facts"]["notes"].to_string();
    assert!(
        notes.contains("--exclude") && notes.contains("only the selected threads: main"),
        "{notes}"
    );
    for more in [["--format", "json"], ["--sort", "calls"], ["--max", "7"], ["--callers", "a.B"]] {
        let run = flow(&[&["report", "--html", "-"], &more[..]].concat(), dir.path());
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{more:?}");
    }
}

#[test]
fn the_page_mentions_missing_events() {
    let dir = trace();
    // Cut between two records.
    fs::write(dir.path().join("thread-1.flow"), &crate::common::MAIN[..7]).unwrap();
    let (cut, run) = page(&[], dir.path());
    assert_eq!(run.code, Some(3), "{}", run.err);
    let notes = page_data(&cut)["facts"]["notes"].to_string();
    assert!(notes.contains("1 byte of events are missing"), "{notes}");
    // Cut inside a number.
    fs::write(dir.path().join("thread-1.flow"), [0x80, 0x81, 0xC0]).unwrap();
    let manifest = crate::common::manifest(0, Some((7, 8, 12)));
    let manifest =
        manifest.replace(r#""events":0,"reasons":[]"#, r#""events":9,"reasons":["disk full"]"#);
    fs::write(dir.path().join("trace.json"), manifest).unwrap();
    let (truncated, run) = page(&[], dir.path());
    assert_eq!(run.code, Some(3), "{}", run.err);
    let truncated = page_data(&truncated);
    let of = |data: &Value| {
        let mut threads = array(&data["threads"]).iter();
        threads.find(|thread| thread["id"] == 1).unwrap()["state"].as_str().unwrap().to_owned()
    };
    assert_eq!(of(&truncated), "truncated");
    let notes = truncated["facts"]["notes"].to_string();
    assert!(notes.contains("lost while recording: 9 events: disk full"), "{notes}");
    // A number that is far too long.
    fs::write(
        dir.path().join("thread-1.flow"),
        [vec![0x80, 0xC0], vec![0xFF; 20], vec![0x01, 0x81, 0x00]].concat(),
    )
    .unwrap();
    let (damaged, run) = page(&[], dir.path());
    assert_eq!((run.code, of(&page_data(&damaged)).as_str()), (Some(1), "damaged"), "{}", run.err);
}

#[test]
fn a_call_on_the_page_has_its_values() {
    let dir = bare(crate::common::MAIN);
    // The first call of `work` begins after two entries, and ends at the second exit of a run of two.
    let argument = vec![0x05, 0, 5, 0, 0, 0];
    let result = vec![0x25, 0, 42, 0, 0, 0];
    let (mut encoder, mut marks) = (MarkEncoder::default(), HEADER.to_vec());
    for (offset, exits, value) in [(2, 0, argument), (5, 1, result)] {
        let position = Position { offset: Offset::new(offset), exits };
        encoder.encode(position, &Mark::Values(value), &mut marks);
    }
    fs::write(dir.path().join("thread-1.marks"), marks).unwrap();
    let data = data_of(&[], dir.path());
    let thread = &data["threads"][0];
    assert_eq!(
        (&thread["values"], &data["texts"]),
        (&serde_json::json!([1, 0]), &serde_json::json!(["(arg0 = 5)  = 42"]))
    );
    let drawn = &boxes(&thread["boxes"])[1];
    assert_eq!((drawn.depth, drawn.calls), (1, 3), "work, with two constructors in it");
    // Without the method that has them, there are none.
    let data = data_of(&["--exclude", "com.app.Main#work"], dir.path());
    assert_eq!(data["threads"][0].get("values"), None);
}

#[test]
fn a_trace_without_calls_has_a_page() {
    let dir = bare(&[]);
    let data = data_of(&[], dir.path());
    assert_eq!(
        (&data["flame"], &data["methods"]),
        (&Value::from(Vec::<i64>::new()), &data["flame"])
    );
}

#[test]
fn a_recursion_without_an_end_has_a_page() {
    let dir = bare(&[0x81; 300_000]);
    let data = data_of(&[], dir.path());
    let boxes = boxes(&data["threads"][0]["boxes"]);
    assert!(boxes.len() <= 20_000 && boxes[0].calls == 300_000);
    assert_eq!(boxes.last().unwrap().method, None, "what is deeper is merged");
    assert_eq!(
        (&data["methods"][0][5], data["threads"][0]["frames"].as_i64()),
        (&300_000.into(), Some(300_000))
    );
}

#[test]
fn a_page_is_there_whole_or_not_at_all() {
    let dir = trace();
    let out = tempfile::tempdir().unwrap();
    let to = |path: &Path| flow(&["report", "--html", &text(path)], dir.path());
    let says = |path: &Path, what: &str| {
        let run = to(path);
        let lines = run.err.lines().count();
        assert_eq!((run.code, run.out.as_str(), lines), (Some(1), "", 1), "{}", run.err);
        assert!(run.err.contains(what), "{}", run.err);
    };
    says(out.path(), "is a directory; --html names the file to write");
    says(&out.path().join("no/page.html"), "No such file or directory");
    says(Path::new("/dev/full"), "/dev/full: No space left on device");
    let file = out.path().join("page.html");
    fs::write(&file, "before").unwrap();
    let link = out.path().join("link.html");
    std::os::unix::fs::symlink("page.html", &link).unwrap();
    assert_eq!(to(&link).code, Some(0));
    assert!(link.is_symlink(), "what it leads to is replaced");
    let written = fs::read_to_string(&file).unwrap();
    assert!(written.starts_with("<!doctype html>") && written.ends_with("</html>\n"));
    assert_eq!(fs::read_dir(out.path()).unwrap().count(), 2, "nothing else is left");
    let run = flow(&["report", "--html", "-"], dir.path());
    assert_eq!((run.code, run.out.len()), (Some(0), written.len()));
}

#[test]
fn a_page_is_opened_by_the_browser_of_the_user() {
    let dir = trace();
    let out = tempfile::tempdir().unwrap();
    let opened = out.path().join("opened");
    let browser = script(out.path(), "browser", &format!("cp \"$1\" {}", text(&opened)));
    let open = |browser: &str, more: &[&str]| -> Run {
        let mut command = command();
        command.args(["report", "--open"]).args(more).arg(dir.path());
        command.env("BROWSER", browser).env("TMPDIR", out.path());
        command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY").output().unwrap().into()
    };
    let run = open(&text(&browser), &[]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), ""), "{}", run.err);
    assert!(run.err.contains("opens in the browser"), "{}", run.err);
    assert!(fs::read_to_string(&opened).unwrap().ends_with("</html>\n"));
    // A file that is named; and the second browser, if the first one fails.
    let file = text(out.path().join("named.html"));
    fs::remove_file(&opened).unwrap();
    let run = open(&format!("/no/such/browser:false:{}", text(&browser)), &["--html", &file]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert_eq!(fs::read(&opened).unwrap(), fs::read(&file).unwrap());
    // Without a browser the page is still written.
    for (browser, why) in [("", "no browser is known here"), ("false", "false did not open it")] {
        let run = open(browser, &["--html", &file]);
        assert_eq!((run.code, run.out.as_str()), (Some(0), ""), "{}", run.err);
        assert!(run.err.contains(&format!("the page is {file}; {why}")), "{}", run.err);
    }
    assert_eq!(open("", &["--html", "-"]).code, Some(2));
}

#[test]
fn one_page_is_of_one_trace() {
    let dir = trace();
    crate::common::write_trace(&dir.path().join("jvm-7-1"));
    let run: Run =
        command().args(["report", "--html", "-"]).arg(dir.path()).output().unwrap().into();
    assert_eq!((run.code, run.out.as_str()), (Some(2), ""));
    assert!(run.err.contains("the directory holds several traces; name one of: "), "{}", run.err);
}

#[test]
fn where_the_trace_has_a_clock_the_axis_is_time() {
    use flow_codec::Offset;
    use flow_codec::format::marks::{HEADER, Mark, MarkEncoder, Position};

    let dir = trace();
    let manifest = crate::common::manifest(0, Some((7, 8, 12)));
    let clock = r#""event_format":"binary","clock":{"kind":"tick","period_ns":100000}"#;
    fs::write(dir.path().join("trace.json"), manifest.replace(r#""event_format":"binary""#, clock))
        .unwrap();
    // main > work > (init, init); main > work. The two exits after the second init are at 7000.
    let (mut encoder, mut bytes) = (MarkEncoder::default(), HEADER.to_vec());
    for (offset, exits, ns) in
        [(0, 0, 1000), (2, 0, 2000), (5, 0, 6000), (5, 1, 7000), (7, 1, 9000)]
    {
        let position = Position { offset: Offset::new(offset), exits };
        encoder.encode(position, &Mark::Time { by_ns: ns, from_ns: ns, ran_us: None }, &mut bytes);
    }
    fs::write(dir.path().join("thread-1.marks"), &bytes).unwrap();
    let data = data_of(&[], dir.path());
    assert_eq!(data["unit"], "ns");
    let mut threads = array(&data["threads"]).iter();
    let main = threads.find(|thread| thread["id"] == 1).unwrap();
    assert_eq!((main["begin"].as_i64(), main["end"].as_i64()), (Some(1500), Some(9000)));
    let boxes: Vec<_> = boxes(&main["boxes"])
        .iter()
        .map(|cell| (cell.depth, cell.at, cell.width, cell.calls))
        .collect();
    assert_eq!(
        boxes[..3],
        [(0, 1500, 7500, 5), (1, 1500, 6500, 3), (2, 4000, 0, 1)],
        "main, work, init"
    );
    assert_eq!(boxes[4], (1, 8000, 0, 1), "the second work");
    // Invalid marks are damage, but the calls are shown.
    bytes.extend([0xFF; 20]);
    fs::write(dir.path().join("thread-1.marks"), &bytes).unwrap();
    let (page, run) = page(&[], dir.path());
    assert_eq!(run.code, Some(1), "{}", run.err);
    assert_eq!(page_data(&page)["unit"], "ns");
    // The report and its page agree on whether there are times, with any manifest.
    fs::write(dir.path().join("trace.json"), "{").unwrap();
    let report = flow(&["report", "--format", "json"], dir.path());
    assert!(report.out.contains("\"unit\":\"ns\""), "{}", report.out);
    let (page, _) = self::page(&[], dir.path());
    assert_eq!(page_data(&page)["unit"], "ns");
}
