//! Traces that code makes: the same bytes on every machine. They have what recorded ones have, but fixed times, ids and
//! names, so what `flow` prints of them can be compared with digests that are stored.

use std::fs;
use std::num::NonZeroU64;
use std::path::Path;

use flow_codec::format::flow::Encoded;
use flow_codec::format::instructions::Operand;
use flow_codec::format::marks::{Mark, Position};
use flow_codec::format::names::{self, EventFormat};
use flow_codec::format::raw;
use flow_codec::format::samples::Sample as Stack;
use flow_codec::format::samples::{BatchEncoder, Cause, Found, Frame, SampleClock, Sampling};
use flow_codec::format::test_marks::{Outcome, TestMark};
use flow_codec::format::values::{CallValue, Identity, Place, Primitive, Role, Value};
use flow_codec::write::{Base, Canonicalizer, EncodedMarks, Sample, SampleKind};
use flow_codec::{MethodId, Offset, ThreadId};
use serde_json::json;

use crate::base::failure::{Context, Result};

/// A kind of trace.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MadeKind {
    pub(crate) name: &'static str,
    clock: Clock,
    details: Details,
    /// Rounds of the first thread.
    rounds: u64,
    /// Which of two programs runs: the second one does a little more.
    version: u64,
    harm: Harm,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Clock {
    Off,
    Tick,
    Exact,
}

/// Of which rounds values, lines and instructions are recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Details {
    Off,
    /// Of one in 64.
    Seldom,
    /// Of all, and events have sequence numbers, and stacks are sampled.
    All,
}

/// What happened to a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Harm {
    None,
    /// The JVM was killed: there is no end, and the last record is cut off.
    Killed,
    /// Some bytes are a number that is too large, and no event.
    Events,
    /// The marks of a thread end early, in a mark.
    Marks,
    /// A line of the methods is not JSON, and an id has no name.
    Methods,
}

/// The trace in the directory of each kind.
pub(crate) const MAIN: &str = "t";

const FEW: u64 = 120;
/// Rounds that make a thread large enough for an index.
const LARGE: u64 = 345_000;

const fn kind(name: &'static str, clock: Clock, details: Details, rounds: u64) -> MadeKind {
    MadeKind { name, clock, details, rounds, version: 1, harm: Harm::None }
}

const fn harmed(name: &'static str, harm: Harm) -> MadeKind {
    MadeKind { harm, ..kind(name, Clock::Exact, Details::All, FEW) }
}

/// All kinds. Each is another run of the first one for `diff`, which is another run of the second one.
pub(crate) const KINDS: [MadeKind; 10] = [
    kind("made", Clock::Exact, Details::All, FEW),
    MadeKind { version: 2, ..kind("made-later", Clock::Exact, Details::All, FEW) },
    kind("made-tick", Clock::Tick, Details::All, FEW),
    kind("made-calls", Clock::Off, Details::Off, FEW),
    kind("made-large", Clock::Tick, Details::Seldom, LARGE),
    kind("made-large-exact", Clock::Exact, Details::Off, LARGE),
    harmed("made-killed", Harm::Killed),
    harmed("made-damaged-events", Harm::Events),
    harmed("made-damaged-marks", Harm::Marks),
    harmed("made-damaged-methods", Harm::Methods),
];

impl MadeKind {
    /// Returns whether a thread is large enough for an index.
    pub(crate) const fn is_large(&self) -> bool {
        self.rounds >= LARGE
    }
}

const MAIN_METHOD: u64 = 0;
const ROUND: u64 = 1;
const TOTAL: u64 = 2;
const ORDERS_INIT: u64 = 3;
const BASE_INIT: u64 = 4;
const QUERY: u64 = 5;
const SUM: u64 = 6;
const LAMBDA: u64 = 7;
const DEPTH: u64 = 8;
const EXCEPTION: u64 = 9;
const COUNT: u64 = 10;
const ORDERS: u64 = 11;

/// The methods, in the order of their ids.
const METHODS: &str = r#"{"id":0,"class":"com.app.Main","name":"main","descriptor":"([Ljava/lang/String;)V","source":"Main.java","line":5,"loader":"app","flags":["public","static"]}
{"id":1,"class":"com.app.Main","name":"round","descriptor":"(I)V","source":"Main.java","line":10,"loader":"app","flags":["static"],"lines":[10,11,13]}
{"id":2,"class":"com.app.Orders","name":"total","descriptor":"(ILjava/lang/String;)I","source":"Orders.java","line":20,"loader":"app","flags":["public"],"lines":[20,21,24],"parameters":["number","name"]}
{"id":3,"class":"com.app.Orders","name":"<init>","descriptor":"(I)V","source":"Orders.java","line":7,"loader":"app","flags":["public"]}
{"id":4,"class":"com.app.Base","name":"<init>","descriptor":"()V","source":"Base.java","line":3,"loader":"app","flags":[]}
{"id":5,"class":"com.db.Db","name":"query","descriptor":"(Ljava/lang/String;)V","source":"Db.java","line":70,"loader":"app","flags":["public"],"parameters":["sql"]}
{"id":6,"class":"com.app.Orders","name":"sum","descriptor":"(I)I","source":"Orders.java","line":40,"loader":"app","flags":["private"],"code":{"lines":[[0,40],[6,41]],"handlers":[],"runs":[0,4,6],"instructions":[[0,26],[1,153,"6"],[4,4],[5,172],[6,3],[7,172]]}}
{"id":7,"class":"com.app.Main","name":"lambda$main$0","descriptor":"()V","source":"Main.java","line":15,"loader":"app","flags":["private","static","synthetic"]}
{"id":8,"class":"com.app.Main","name":"depth","descriptor":"(I)I","source":"Main.java","line":30,"loader":"app","flags":["static"]}
{"id":9,"class":"java.lang.IllegalStateException","name":"<class>","descriptor":"","loader":"boot","flags":[]}
{"id":10,"class":"com.app.Orders","name":"<field>count","descriptor":"","loader":"","flags":[]}
{"id":11,"class":"com.app.Orders","name":"<class>","descriptor":"","loader":"app","flags":[]}
"#;

/// Sources of some methods, for what shows them.
const SOURCES: [(&str, u32); 2] = [("src/com/app/Main.java", 40), ("src/com/app/Orders.java", 45)];

/// Threads: id, name, whether it is a daemon, whether it is virtual, and its share of the rounds.
const THREADS: [(u64, &str, bool, bool, u64); 4] = [
    (1, "main", false, false, 1),
    (12, "worker-1", true, false, 2),
    (13, "worker-2", true, false, 2),
    (14, "", true, true, 10),
];

const TICK_NS: u64 = 100_000;

/// Writes all kinds, each into a directory of its name.
///
/// # Errors
///
/// If one cannot be written.
pub(crate) fn write_all(to: &Path) -> Result<()> {
    KINDS.iter().try_for_each(|kind| write(kind, &to.join(kind.name)))
}

/// Writes a trace into a directory that does not exist yet.
///
/// # Errors
///
/// If it cannot be written.
fn write(kind: &MadeKind, dir: &Path) -> Result<()> {
    fs::create_dir_all(dir).context(dir.display())?;
    let put = |name: &str, bytes: &[u8]| {
        let path = dir.join(name);
        path.parent().map(fs::create_dir_all);
        fs::write(&path, bytes).context(path.display())
    };
    for (name, lines) in SOURCES {
        let text: String = (1..=lines).map(|line| format!("    line{line}();\n")).collect();
        put(name, text.as_bytes())?;
    }
    let main = |name: &str| format!("{MAIN}/{name}");
    let mut methods = METHODS.to_owned();
    if kind.harm == Harm::Methods {
        methods = methods.replace(r#"{"id":5,"#, r#"{"id":"#);
    }
    let ids = METHODS.lines().filter_map(id_line);
    let ids: String =
        ids.filter(|line| kind.harm != Harm::Methods || !line.ends_with("=8\n")).collect();
    put(&main(names::IDS), ids.as_bytes())?;
    put(&main(names::METHODS), methods.as_bytes())?;

    let (mut lines, mut stacks, mut number) = (String::new(), Stacks::new(), 0);
    let (mut end_ns, mut enters, mut exits, mut bytes) = (0, 0, 0, 0);
    for (id, name, is_daemon, is_virtual, share) in THREADS {
        let rounds = if share > 1 { FEW / share } else { kind.rounds };
        let start_ns = id * 1000;
        let mut thread = Thread::new(kind, start_ns, &mut number, &mut stacks, id);
        thread.run(rounds);
        let (mut flow, mut marks) = thread.finish();
        let Written { at_ns, .. } = flow;
        let file = names::thread_file(ThreadId::new(id), EventFormat::Binary);
        lines += &format!(
            "{}\n",
            json!({"event": "start", "id": id, "name": name, "daemon": is_daemon, "virtual": is_virtual, "at_ns": start_ns})
        );
        if id == 12 {
            lines += &format!(
                "{}\n",
                json!({"event": "rename", "id": id, "name": "pool-1", "at_ns": at_ns / 2})
            );
        }
        if id != 13 && kind.harm != Harm::Killed {
            lines += &format!(
                "{}\n",
                json!({"event": "end", "id": id, "at_ns": at_ns, "cpu_ns": at_ns / 2})
            );
        }
        match kind.harm {
            Harm::Killed if id == 1 => {
                // In the second byte of an entry that has two.
                flow.bytes.truncate(flow.bytes.len() - 1);
                flow.bytes.push(0xC3);
            }
            Harm::Events if id == 12 => flow.bytes[100..112].fill(0xFF),
            Harm::Marks if id == 1 => marks.truncate(marks.len() / 2),
            _ => {}
        }
        (enters, exits) = (enters + flow.enters, exits + flow.exits);
        bytes += flow.bytes.len();
        end_ns = end_ns.max(at_ns);
        put(&main(&file), &flow.bytes)?;
        if kind.clock != Clock::Off {
            let file = Path::new(&file).with_extension(names::MARKS_EXTENSION);
            put(&main(&file.to_string_lossy()), &marks)?;
        }
    }
    put(&main(names::THREADS), lines.as_bytes())?;
    let samples = stacks.iter().filter(|(_, _, frames)| frames.is_some()).count();
    if samples > 0 {
        put(&main(names::SAMPLES), &encoded(stacks))?;
    }
    let totals = json!({
        "threads": THREADS.len(), "methods": DEPTH + 1, "enters": enters, "exits": exits, "bytes": bytes,
    });
    let manifest = manifest(kind, end_ns, samples, &totals);
    put(&main(names::MANIFEST), format!("{manifest:#}\n").as_bytes())
}

/// Returns the manifest of a trace.
fn manifest(
    kind: &MadeKind,
    end_ns: u64,
    samples: usize,
    totals: &serde_json::Value,
) -> serde_json::Value {
    let clock = match kind.clock {
        Clock::Off => json!({"kind": "off"}),
        Clock::Tick => json!({"kind": "tick", "period_ns": TICK_NS}),
        Clock::Exact => json!({"kind": "exact"}),
    };
    let mut manifest = json!({
        "format_version": 1, "id": format!("{:016x}", kind.rounds + kind.version), "tool": "xtask", "engine": "instrument",
        "event_format": "binary", "clock": clock, "own": ["com.app.**"], "pid": 4711, "host": "build-7",
        "options": {"values": "com.app.**"}, "command": ["java", "-jar", "app.jar"],
        "jvm": {"name": "OpenJDK", "version": "17", "home": "/jdk"}, "start_unix_ns": 1_700_000_000_000_000_000_u64,
    });
    if kind.details == Details::All {
        manifest["order"] = json!("total");
    }
    if kind.harm != Harm::Killed {
        manifest["end"] = json!({
            "at_ns": end_ns, "samples": samples,
            "totals": totals,
            "lost": {"events": 0, "reasons": []},
            "not_recorded": [{"reason": "native", "count": 1, "methods": ["com.app.Main#native0()V"]}],
        });
    }
    manifest
}

/// The line of `ids.properties` for one of `methods.jsonl`.
fn id_line(line: &str) -> Option<String> {
    let method: serde_json::Value = serde_json::from_str(line).ok()?;
    let text = |key: &str| method[key].as_str().unwrap_or_default().to_owned();
    let [class, name, descriptor] = ["class", "name", "descriptor"].map(text);
    Some(format!("{class}#{name}{descriptor}={}\n", method["id"]))
}

fn method(id: u64) -> MethodId {
    MethodId::new(id).expect("small")
}

/// Sampled stacks: when, of which thread, and the frames if they could be read.
type Stacks = Vec<(u64, u64, Option<Vec<Frame>>)>;

/// The file with these samples.
fn encoded(mut stacks: Stacks) -> Vec<u8> {
    stacks.sort();
    let mut encoder = BatchEncoder::new(Sampling { clock: SampleClock::Cpu, interval_ns: TICK_NS });
    for (at_ns, thread, frames) in &stacks {
        let found = match frames {
            Some(frames) => Found::Stack { frames, is_cut: false },
            None => Found::Missed(Cause::NO_JAVA_FRAME),
        };
        let thread = ThreadId::new(*thread);
        encoder.add(&Stack { thread, at_ns: *at_ns, intervals: 1, ran_us: None, found });
    }
    encoder.finish().unwrap_or_default().to_vec()
}

/// The events of a thread.
struct Written {
    bytes: Vec<u8>,
    enters: u64,
    exits: u64,
    at_ns: u64,
}

/// A thread that is recorded.
struct Thread<'a> {
    kind: &'a MadeKind,
    id: u64,
    now_ns: u64,
    due_ns: u64,
    /// The next sequence number.
    number: &'a mut u64,
    stacks: &'a mut Stacks,
    open: Vec<u64>,
    /// Whether values, lines and instructions are recorded now.
    is_detailed: bool,
    raw: Vec<u8>,
    samples: Vec<Sample>,
    fold: Canonicalizer,
    written: Written,
    marks: Vec<u8>,
    encoder: EncodedMarks,
}

impl<'a> Thread<'a> {
    fn new(
        kind: &'a MadeKind,
        now_ns: u64,
        number: &'a mut u64,
        stacks: &'a mut Stacks,
        id: u64,
    ) -> Self {
        let written = Written { bytes: Vec::new(), enters: 0, exits: 0, at_ns: 0 };
        let (open, raw, samples, marks) = Default::default();
        let (fold, encoder) = (Canonicalizer::default(), EncodedMarks::of_file());
        let due_ns = now_ns;
        Self {
            kind,
            id,
            now_ns,
            due_ns,
            number,
            stacks,
            open,
            is_detailed: false,
            raw,
            samples,
            fold,
            written,
            marks,
            encoder,
        }
    }

    /// Everything that the thread does.
    fn run(&mut self, rounds: u64) {
        self.enter(if self.id == 1 { MAIN_METHOD } else { LAMBDA });
        for round in 0..rounds {
            let is_test = self.id == 1 && round % 20 == 5 && round < 100;
            if is_test {
                self.test(round, None);
            }
            match round {
                30 => self.mark(&Mark::Note(format!("round {round} of thread {}", self.id))),
                40 => {
                    self.mark(&Mark::Paused);
                    self.now_ns += 700_000;
                    self.mark(&Mark::Resumed);
                }
                50 if self.id == 1 => self.mark(&Mark::Gap { events: NonZeroU64::new(6) }),
                _ => {}
            }
            self.round(round);
            if is_test {
                self.round(round + 1);
                let outcomes =
                    [Outcome::Passed, Outcome::Failed, Outcome::Skipped, Outcome::Aborted];
                self.test(round, Some(outcomes[usize::try_from(round / 20 % 4).expect("below 4")]));
            }
            // Chunks are handed over in between, as a recorder does.
            if self.raw.len() > 64 << 10 {
                self.flush();
            }
        }
        if self.id != 13 {
            self.exit();
        }
    }

    fn round(&mut self, round: u64) {
        self.is_detailed = match self.kind.details {
            Details::Off => false,
            Details::Seldom => round.is_multiple_of(64),
            Details::All => true,
        };
        self.enter(ROUND);
        self.line(10);
        self.enter(TOTAL);
        self.value(Role::This, &Value::Object(Identity { class: Some(method(ORDERS)), hash: 77 }));
        self.value(Role::Argument(0), &int(round));
        let text = format!("item {round}");
        self.value(Role::Argument(1), &Value::Text { units: text.len() as u64, beginning: text });
        self.line(20);
        self.now_ns += round % 13 * 3000;
        if round.is_multiple_of(3) {
            let place =
                Place { field: Some(method(COUNT)), object: Some(Value::Null), index: None };
            let place = Some(Box::new(place));
            self.call_value(&CallValue { place, ..CallValue::new(Role::Write, int(round)) });
        }
        self.line(21);
        self.enter(QUERY);
        self.now_ns += if round.is_multiple_of(29) { 400_000 } else { 4000 + round % 5 * 2000 };
        self.exit();
        let is_thrown = round % 4 == self.kind.version;
        if is_thrown {
            self.value(Role::Message, &Value::Text { units: 6, beginning: "no row".to_owned() });
            self.unwind();
            self.raw.push(raw::CATCH);
            self.line(13);
        } else {
            self.line(24);
            self.value(Role::Result, &int(round * 2));
            self.exit();
        }
        self.enter(ORDERS_INIT);
        self.raw.push(raw::BEGIN);
        self.raw.extend_from_slice(Encoded::enter(method(BASE_INIT)).as_bytes());
        self.enter(BASE_INIT);
        self.exit();
        self.raw.push(raw::END);
        self.exit();
        self.enter(SUM);
        if self.is_detailed {
            self.raw.extend_from_slice(&raw::operand(Operand::This, 77));
            let runs: &[u8] = if round.is_multiple_of(2) { &[0, 6] } else { &[0, 4] };
            runs.iter().for_each(|run| self.raw.extend_from_slice(&[raw::STEP, *run, 0, 0]));
        }
        self.exit();
        let depth = round % (3 + self.kind.version) + 1;
        (0..depth).for_each(|_| self.enter(DEPTH));
        (0..depth).for_each(|_| self.exit());
        self.line(11);
        self.exit();
    }

    /// What comes before an event.
    fn begin_event(&mut self) {
        self.now_ns += 200 + self.raw.len() as u64 % 7 * 30;
        if self.kind.details == Details::All && self.number.is_multiple_of(40) {
            self.sample(SampleKind::Stacks);
            self.stack();
        }
        match self.kind.clock {
            Clock::Exact => {
                self.raw.push(raw::TIME);
                self.raw.extend_from_slice(&self.now_ns.to_le_bytes()[..7]);
            }
            Clock::Tick if self.now_ns >= self.due_ns => {
                self.due_ns = self.now_ns + TICK_NS;
                self.sample(SampleKind::Time { ran_us: Some(60) });
            }
            Clock::Tick | Clock::Off => {}
        }
        if self.kind.details == Details::All {
            self.raw.push(raw::NUMBER);
            self.raw.extend_from_slice(&self.number.to_le_bytes()[..7]);
            *self.number += 1;
        }
    }

    fn sample(&mut self, kind: SampleKind) {
        let (by_ns, from_ns) = (self.now_ns, self.now_ns);
        self.samples.push(Sample { bytes: self.raw.len(), by_ns, from_ns, kind });
    }

    /// Samples the stack.
    fn stack(&mut self) {
        let frame = |(depth, id): (usize, &u64)| {
            let number = u32::try_from(depth).expect("not deep");
            Frame { method: Some(method(*id)), bci: Some(number + 1), line: Some(10 + number % 3) }
        };
        let frames: Vec<Frame> = self.open.iter().enumerate().map(frame).collect();
        // Now and then, the stack cannot be read.
        let frames = (!self.number.is_multiple_of(400)).then_some(frames);
        self.stacks.push((self.now_ns, self.id, frames));
    }

    fn enter(&mut self, id: u64) {
        self.begin_event();
        self.raw.extend_from_slice(Encoded::enter(method(id)).as_bytes());
        self.open.push(id);
    }

    fn exit(&mut self) {
        self.begin_event();
        self.raw.push(raw::EXIT);
        self.open.pop();
    }

    fn unwind(&mut self) {
        self.begin_event();
        self.raw.extend_from_slice(&raw::unwound_by(method(EXCEPTION)).expect("a small id"));
        self.open.pop();
    }

    fn line(&mut self, line: u8) {
        if self.is_detailed {
            self.raw.extend_from_slice(&[raw::LINE, line, 0, 0]);
        }
    }

    fn value(&mut self, role: Role, value: &Value) {
        self.call_value(&CallValue::new(role, value.clone()));
    }

    fn call_value(&mut self, value: &CallValue) {
        if self.is_detailed {
            let mut bytes = Vec::new();
            value.encode(&mut bytes);
            raw::words_of(&bytes).for_each(|word| self.raw.extend_from_slice(&word));
        }
    }

    fn test(&mut self, round: u64, outcome: Option<Outcome>) {
        let number = ["first", "second", "third", "fourth", "fifth"];
        let name = number[usize::try_from(round / 20).expect("below 5")];
        let name = format!("[engine:made]/[class:com.app.OrdersTest]/[method:{name}()]");
        let detail = match outcome {
            Some(Outcome::Failed) => "expected 1, but was 2".to_owned(),
            _ => String::new(),
        };
        self.mark(&Mark::Test(TestMark { outcome, name, detail }));
    }

    /// Adds a mark after what was recorded so far.
    fn mark(&mut self, mark: &Mark) {
        if self.kind.clock == Clock::Off {
            return;
        }
        self.flush();
        let position = Position {
            offset: Offset::new(self.written.bytes.len() as u64),
            exits: self.fold.held(),
        };
        let (by_ns, from_ns) = (self.now_ns, self.now_ns);
        self.encoder.add(position, &Mark::Time { by_ns, from_ns, ran_us: None });
        self.encoder.add(position, mark);
    }

    fn flush(&mut self) {
        let base = Base { start: Offset::new(self.written.bytes.len() as u64), zero_ns: 0 };
        let mut out = Vec::new();
        let counts =
            self.fold.push_marked(&self.raw, &self.samples, base, &mut out, &mut self.encoder);
        self.written.enters += counts.enters;
        self.written.exits += counts.exits;
        self.written.bytes.extend_from_slice(&out);
        self.raw.clear();
        self.samples.clear();
    }

    /// Returns its events and marks.
    fn finish(mut self) -> (Written, Vec<u8>) {
        self.flush();
        let mut out = Vec::new();
        let counts = self.fold.finish(&mut out);
        self.written.enters += counts.enters;
        self.written.exits += counts.exits;
        self.written.bytes.extend_from_slice(&out);
        self.written.at_ns = self.now_ns;
        self.encoder.finish();
        self.marks.extend_from_slice(self.encoder.bytes());
        (self.written, self.marks)
    }
}

fn int(number: u64) -> Value {
    Value::Primitive(Primitive::Int(i32::try_from(number).unwrap_or(i32::MAX)))
}
