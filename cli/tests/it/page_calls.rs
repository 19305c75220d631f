//! The calls that a page unfolds: those of `flow replay`, decoded as the page's script does.

use std::fs;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flow_codec::Offset;
use flow_codec::format::marks::{HEADER, Mark, MarkEncoder, Position};
use miniz_oxide::inflate::decompress_to_vec_zlib;
use serde_json::Value;

use crate::common::{IDS, Run, bare, command, flow, page_data, text, trace};

/// A method, how it was left, and runs of calls.
type Shape = (u64, u64, Vec<(usize, u64)>);

/// What a page has of its calls.
struct Calls {
    data: Value,
    names: Value,
    /// Of each shape: its method, how it was left, and its runs.
    shapes: Vec<Shape>,
    /// Of each thread that has a shape: event, from, by and estimate.
    instants: Vec<Vec<[u64; 4]>>,
}

fn number(bytes: &mut &[u8]) -> u64 {
    let (mut number, mut shift) = (0, 0);
    loop {
        let byte = bytes[0];
        *bytes = &bytes[1..];
        number |= u64::from(byte & 0x7F) << shift;
        shift += 7;
        if byte < 0x80 {
            return number;
        }
    }
}

impl Calls {
    /// Decodes a page, whose data has this many threads with a shape.
    fn of(page: &str) -> Self {
        let (_, after) = page.split_once(r#"<script type="text/plain" id="shapes">"#).unwrap();
        let (shapes, _) = after.split_once("</script>").unwrap();
        let bytes = decompress_to_vec_zlib(&STANDARD.decode(shapes).unwrap()).unwrap();
        let mut bytes = &bytes[..];
        let len = usize::try_from(number(&mut bytes)).unwrap();
        let names = serde_json::from_slice(&bytes[..len]).unwrap();
        bytes = &bytes[len..];
        let [count, edges] = [(); 2].map(|()| number(&mut bytes));
        let mut column = |count: u64| (0..count).map(|_| number(&mut bytes)).collect::<Vec<_>>();
        let (heads, lengths) = (column(count), column(count));
        let (backs, counts) = (column(edges), column(edges));
        assert_eq!(lengths.iter().sum::<u64>(), edges);
        let mut runs = backs.iter().zip(&counts);
        let shapes = heads.iter().zip(lengths).enumerate().map(|(place, (head, length))| {
            let length = usize::try_from(length).unwrap();
            let runs = runs.by_ref().take(length);
            let callee = |back: &u64| place - usize::try_from(*back).unwrap() - 1;
            (head >> 2, head & 3, runs.map(|(back, count)| (callee(back), count + 1)).collect())
        });
        let shapes = shapes.collect();
        let mut instants = Vec::new();
        // No times follow those of two traces.
        while page.contains(r#"id="lanes""#) && !bytes.is_empty() {
            let mut last = [0; 4];
            instants.push(
                (0..number(&mut bytes))
                    .map(|_| {
                        let [event, from, by, estimate] = [(); 4].map(|()| number(&mut bytes));
                        let from = last[1] + from;
                        let by = if by == 0 { u64::MAX } else { from + by - 1 };
                        last = [last[0] + event, from, by, from + estimate];
                        last
                    })
                    .collect(),
            );
        }
        Self { data: page_data(page), names, shapes, instants }
    }

    fn threads(&self) -> &[Value] {
        self.data["threads"].as_array().unwrap()
    }

    fn thread(&self, id: u64) -> &Value {
        self.threads().iter().find(|thread| thread["id"] == id).unwrap()
    }

    fn method(&self, place: u64) -> (String, String) {
        let methods = self.data["methods"].as_array().unwrap();
        let place = usize::try_from(place).unwrap();
        let more = self.names["methods"].as_array().unwrap();
        let Some(row) = methods.get(place).or_else(|| more.get(place - methods.len() - 1)) else {
            panic!("no method {place}");
        };
        let class = usize::try_from(row[0].as_u64().unwrap()).unwrap();
        let classes = self.data["classes"].as_array().unwrap();
        let more = self.names["classes"].as_array().unwrap();
        let class = classes.iter().chain(more).nth(class).unwrap();
        (class[0].as_str().unwrap().to_owned(), row[1].as_str().unwrap().to_owned())
    }

    /// All calls of a thread in order: depth, class, name, and how they were left.
    fn unfolded(&self, id: u64) -> Vec<(u64, String, String, u64)> {
        self.unfolded_from(&self.thread(id)["shape"])
    }

    fn unfolded_from(&self, thread: &Value) -> Vec<(u64, String, String, u64)> {
        let root = usize::try_from(thread.as_u64().unwrap()).unwrap();
        assert_eq!((self.shapes[root].0, self.shapes[root].1), (2, 3), "a thread");
        let mut calls = Vec::new();
        let mut open = vec![(root, 0)];
        while let Some((shape, depth)) = open.pop() {
            let (method, how, runs) = &self.shapes[shape];
            if *how < 3 {
                let (class, name) = self.method(*method);
                calls.push((depth - 1, class, name, *how));
            }
            for (callee, count) in runs.iter().rev() {
                open.extend((0..*count).map(|_| (*callee, depth + 1)));
            }
        }
        calls
    }
}

fn page(args: &[&str], dir: &Path) -> (String, Run) {
    let out = tempfile::tempdir().unwrap();
    let file = out.path().join("page.html");
    let run = flow(&[&["report", "--html", &text(&file)], args].concat(), dir);
    (fs::read_to_string(&file).unwrap(), run)
}

fn calls_of(args: &[&str], dir: &Path) -> Calls {
    let (page, run) = page(args, dir);
    assert_eq!((run.code, run.out.as_str()), (Some(0), ""), "{}", run.err);
    Calls::of(&page)
}

fn replayed(args: &[&str], dir: &Path) -> Vec<(u64, String, String)> {
    let run = flow(&[&["replay", "--format", "json", "--max", "0"], args].concat(), dir);
    let row = |line: &str| {
        let row: Value = serde_json::from_str(line).unwrap();
        let [class, name] = ["class", "name"].map(|key| row[key].as_str().unwrap().to_owned());
        (row["depth"].as_u64().unwrap(), class, name)
    };
    run.out.lines().map(row).collect()
}

#[test]
fn a_page_unfolds_the_calls_that_replay_prints() {
    let dir = trace();
    let calls = calls_of(&[], dir.path());
    for id in [1, 12, 13] {
        let unfolded = calls.unfolded(id);
        let without = unfolded.iter().cloned().map(|(depth, class, name, _)| (depth, class, name));
        let thread = format!("{id}");
        let expected = replayed(&["--thread", &thread], dir.path());
        // Frames that were entered before recording began are not calls of it.
        let least = expected.iter().map(|call| call.0).min().unwrap();
        let expected: Vec<_> =
            expected.into_iter().map(|call| (call.0 - least, call.1, call.2)).collect();
        assert_eq!(without.collect::<Vec<_>>(), expected, "{id}");
    }
    // It had not returned.
    assert_eq!(calls.unfolded(13)[0].3, 2);
}

#[test]
fn what_is_selected_is_unfolded() {
    let dir = trace();
    let calls = calls_of(&["--thread", "main", "--exclude", "com.app.Main#work"], dir.path());
    let names: Vec<_> = calls.unfolded(1).into_iter().map(|call| (call.0, call.2)).collect();
    let expected = [(0, "main"), (1, "<init>"), (1, "<init>")];
    assert_eq!(names, expected.map(|(depth, name)| (depth, name.to_owned())));
    assert_eq!(calls.threads().len(), 1);
}

#[test]
fn repeated_calls_are_stored_once() {
    let round = [vec![0x80, 0x81], [0x82, 0x00].repeat(99), vec![0x01]].concat();
    let dir = bare(&round.repeat(1000));
    let calls = calls_of(&[], dir.path());
    assert_eq!(calls.shapes.len(), 4);
    assert_eq!(calls.shapes[3], (2, 3, vec![(2, 1000)]));
    assert_eq!(calls.unfolded(1).len(), 101_000);
}

#[test]
fn exceptions_are_known() {
    let dir = bare(&[0x80, 0x81, 0x01]);
    let (mut encoder, mut bytes) = (MarkEncoder::default(), HEADER.to_vec());
    let position = Position { offset: Offset::new(2), exits: 0 };
    let exits = std::num::NonZeroU64::MIN;
    let thrown = Some("com.app.Denied".to_owned());
    encoder.encode(position, &Mark::Values(vec![0x3A, 0, 2, 2, b'n', b'o']), &mut bytes);
    encoder.encode(position, &Mark::Unwound { exits, thrown }, &mut bytes);
    fs::write(dir.path().join("thread-1.marks"), bytes).unwrap();
    let calls = calls_of(&[], dir.path());
    let how: Vec<_> = calls.unfolded(1).into_iter().map(|call| call.3).collect();
    assert_eq!(how, [0, 1]);
    assert_eq!(calls.thread(1)["exceptions"], serde_json::json!([1, 0]));
    assert_eq!(calls.data["texts"], serde_json::json!([r#"com.app.Denied: "no""#]));
}

#[test]
fn the_times_of_calls_are_those_of_replay() {
    let dir = trace();
    let manifest = crate::common::manifest(0, Some((7, 8, 12)));
    let clock = r#""event_format":"binary","clock":{"kind":"tick","period_ns":100000}"#;
    fs::write(dir.path().join("trace.json"), manifest.replace(r#""event_format":"binary""#, clock))
        .unwrap();
    let (mut encoder, mut bytes) = (MarkEncoder::default(), HEADER.to_vec());
    for (offset, exits, by_ns, from_ns) in [
        (0, 0, 1000, 1000),
        (2, 0, 2000, 2500),
        (5, 0, 6000, 6000),
        (5, 1, 7000, 7500),
        (7, 1, 9000, 9000),
    ] {
        let position = Position { offset: Offset::new(offset), exits };
        encoder.encode(position, &Mark::Time { by_ns, from_ns, ran_us: None }, &mut bytes);
    }
    fs::write(dir.path().join("thread-1.marks"), &bytes).unwrap();
    let calls = calls_of(&[], dir.path());
    let threads: Vec<_> =
        calls.threads().iter().filter(|thread| !thread["shape"].is_null()).collect();
    let main = threads.iter().position(|thread| thread["id"] == 1).unwrap();
    let instants = &calls.instants[main];
    assert_eq!(calls.instants.len(), threads.len());
    // Events with the same time have one instant before them, and one after them.
    let at = |event: u64| instants.iter().rfind(|instant| instant[0] <= event).copied();
    let args = ["replay", "--time", "--format", "json", "--thread", "1"];
    let rows = flow(&args, dir.path()).out;
    let rows: Vec<Value> = rows.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 5);
    for (number, row) in (0..).zip(&rows) {
        let of = |key: &str| row[key].as_u64().unwrap();
        let [_, from, by, estimate] = at(2 * number - of("depth")).unwrap();
        assert_eq!([from, by, estimate], [of("start_from_ns"), of("start_by_ns"), of("start_ns")]);
    }
}

#[test]
fn calls_that_repeat_too_little_are_left_out_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("ids.properties"), IDS).unwrap();
    // Each call is the only one with as many calls in it.
    let levels = 3_000_000;
    let events = [vec![0x81; levels], [0x82, 0x01].repeat(levels)].concat();
    fs::write(dir.path().join("thread-1.flow"), events).unwrap();
    fs::write(dir.path().join("thread-2.flow"), [0x80, 0x00]).unwrap();
    let (page, run) = page(&[], dir.path());
    assert_eq!(run.code, Some(0), "{}", run.err);
    // The limit of any page; this one has no shapes of the large thread.
    assert!(page.len() < 1 << 20, "{}", page.len());
    let calls = Calls::of(&page);
    assert_eq!(calls.thread(1)["no_shape"], "its calls repeat too little");
    assert!(calls.thread(1)["shape"].is_null());
    assert_eq!(calls.unfolded(2).len(), 1);
}

/// The page of `flow diff --exact` on two traces, and the command that has written it.
fn diff_page(args: &[&str], before: &Path, after: &Path) -> (String, Run) {
    let out = tempfile::tempdir().unwrap();
    let file = out.path().join("diff.html");
    let mut command = command();
    command.args(["diff", "--exact", "--html", &text(&file)]).args(args).args([before, after]);
    let run = command.output().unwrap().into();
    (fs::read_to_string(&file).unwrap_or_default(), run)
}

#[test]
fn the_page_of_a_comparison_has_its_differences_and_both_sides() {
    let (before, after) = (trace(), trace());
    // The second call of work() calls the constructor of Job.
    let events = [0x80, 0x81, 0x82, 0x00, 0x82, 0x01, 0x81, 0x82, 0x02];
    fs::write(after.path().join("thread-1.flow"), events).unwrap();
    let (page, run) = diff_page(&["--exit-code"], before.path(), after.path());
    assert_eq!((run.code, run.out.as_str()), (Some(1), ""), "{}", run.err);
    let calls = Calls::of(&page);
    let data = &calls.data;
    let titles: Vec<_> =
        data["sides"].as_array().unwrap().iter().map(|side| &side["title"]).collect();
    assert_eq!(titles, [before.path().to_str().unwrap(), after.path().to_str().unwrap()]);
    assert_eq!((&data["same"], data["pairs"].as_array().unwrap().len()), (&2.into(), 1));
    assert_eq!(data["is_cut"], false);
    let [difference] = &data["differences"].as_array().unwrap()[..] else { panic!("{data}") };
    let stack = difference["stack"].as_array().unwrap();
    let stack: Vec<_> =
        stack.iter().map(|method| calls.method(method.as_u64().unwrap()).1).collect();
    assert_eq!(stack, ["main", "work"]);
    assert_eq!(
        (&difference["depth"], &difference["numbers"]),
        (&1.into(), &serde_json::json!([4, 4]))
    );
    let [shift] = &difference["shifts"].as_array().unwrap()[..] else { panic!("{difference}") };
    assert_eq!(
        (&shift["count"], &shift["number"], &shift["is_added"]),
        (&1.into(), &5.into(), &true.into())
    );
    let (method, _, _) = calls.shapes[usize::try_from(shift["shape"].as_u64().unwrap()).unwrap()];
    assert_eq!(calls.method(method).1, "<init>");
    // Both sides unfold to what was recorded.
    for (side, dir) in [&before, &after].into_iter().enumerate() {
        let unfolded = calls.unfolded_from(&data["pairs"][0]["shapes"][side]);
        let unfolded: Vec<_> =
            unfolded.into_iter().map(|(depth, class, name, _)| (depth, class, name)).collect();
        assert_eq!(unfolded, replayed(&["--thread", "1"], dir.path()));
    }
}

#[test]
fn the_page_of_a_comparison_has_the_values_that_differ() {
    let with_result = |result: u8| {
        let dir = trace();
        let (mut encoder, mut bytes) = (MarkEncoder::default(), HEADER.to_vec());
        let position = Position { offset: Offset::new(3), exits: 0 };
        encoder.encode(position, &Mark::Values(vec![0x25, 0, result, 0, 0, 0]), &mut bytes);
        fs::write(dir.path().join("thread-1.marks"), bytes).unwrap();
        // Its options say that there are no values.
        fs::remove_file(dir.path().join("trace.json")).unwrap();
        dir
    };
    let (before, after) = (with_result(5), with_result(7));
    let (page, run) = diff_page(&["--exit-code"], before.path(), after.path());
    assert_eq!((run.code, run.out.as_str()), (Some(1), ""), "{}", run.err);
    let calls = Calls::of(&page);
    let data = &calls.data;
    assert_eq!((&data["same"], &data["differences"]), (&2.into(), &serde_json::json!([])));
    let [value] = &data["values"].as_array().unwrap()[..] else { panic!("{data}") };
    assert_eq!(value["texts"], serde_json::json!(["5", "7"]));
    assert_eq!(
        (&value["first"], &value["numbers"]),
        (&"result".into(), &serde_json::json!([2, 2]))
    );
    let stack = value["stack"].as_array().unwrap();
    let stack: Vec<_> =
        stack.iter().map(|method| calls.method(method.as_u64().unwrap()).1).collect();
    assert_eq!(stack, ["main", "work", "<init>"]);
    let (page, _) = diff_page(&["--ignore-values"], before.path(), after.path());
    assert_eq!(page_data(&page)["values"], serde_json::json!([]));
}

#[test]
fn the_page_of_equal_traces_has_no_difference() {
    let (before, after) = (trace(), trace());
    let (page, run) = diff_page(&["--exit-code"], before.path(), after.path());
    assert_eq!((run.code, run.out.as_str()), (Some(0), ""), "{}", run.err);
    let data = page_data(&page);
    assert_eq!((&data["same"], &data["differences"]), (&3.into(), &serde_json::json!([])));
    // It is of one comparison in order, not of sums.
    let mut command = command();
    command.args(["diff", "--html", "-"]).args([before.path(), after.path()]);
    assert_eq!(Run::from(command.output().unwrap()).code, Some(2));
}

#[test]
fn names_in_a_comparison_stay_text() {
    let (before, after) = (bare(&[0x80, 0x00]), bare(&[0x80, 0x81, 0x01]));
    for dir in [&before, &after] {
        let name = "</script><img src=x onerror=alert(1)>\u{202e}";
        let line = |id: u64| serde_json::json!({"id": id, "class": name, "name": name, "descriptor": "()V"});
        fs::remove_file(dir.path().join("ids.properties")).unwrap();
        fs::write(dir.path().join("methods.jsonl"), format!("{}\n{}\n", line(0), line(1))).unwrap();
    }
    let (page, run) = diff_page(&[], before.path(), after.path());
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert_eq!(page.matches("</script").count(), 3);
    assert!(!page.contains("<img") && !page.contains('\u{202e}'));
    let calls = Calls::of(&page);
    assert!(calls.method(1).0.ends_with(r"\u{202e}"), "{:?}", calls.method(1));
}
