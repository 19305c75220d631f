//! Small traces for the viewers.

use std::fs;
use std::num::NonZeroU64;
use std::path::Path;

use flow_codec::Offset;
use flow_codec::format::marks::{HEADER, Mark, MarkEncoder, Position};
use flow_codec::format::test_marks::{Outcome, TestMark};
use flow_codec::format::values::{CallValue, Identity, Primitive, Role, Value};
use serde_json::json;

use crate::base::failure::{Context, Result};

/// Events of one thread: main calls work twice, and work calls two constructors. The second call of work, and
/// main, are still open.
const MAIN_THREAD: &[u8] = &[0x80, 0x81, 0x82, 0x00, 0x82, 0x01, 0x81, 0x01];

/// One call that is still open.
const OPEN_THREAD: &[u8] = &[0x81];

/// Two exits of calls that were not recorded, then a constructor.
const LATE_THREAD: &[u8] = &[0x01, 0x82, 0x00];

/// Calls of methods whose names try to become code in a page.
const HOSTILE_THREAD: &[u8] =
    &[0x80, 0x81, 0x82, 0x83, 0x01, 0x82, 0x00, 0x84, 0x80, 0x05, 0x82, 0x00];

/// Calls of threads that hand something to each other. A capital letter is a call with the [role](ROLES) that it begins, of the object or
/// thread with the number after it; a small letter is another call; `)` leaves a call.
///
/// The first thread starts the second one and gives it two tasks, the second of which hands something to a thread that none of these
/// started; and of three calls in a row, the last one gives a task.
const HANDED_THREADS: [&str; 3] =
    ["maS2)G5)G6)b))cb))cb))cbG8)))d))", "wB5)b)E5)e)B6)cG7)b))E6)B8)d)E8))", "fT7b))g))"];

/// Roles of methods in a preset, with the letters that [`HANDED_THREADS`] has for them.
const ROLES: [(char, &str); 5] =
    [('G', "give"), ('T', "take"), ('B', "begin"), ('E', "end"), ('S', "start")];

/// Writes a trace of three threads into an empty directory.
///
/// # Errors
///
/// If it cannot be written.
pub(crate) fn write_small(dir: &Path) -> Result<()> {
    let names = "a.B#main([Ljava/lang/String;)V=0\na.B#work(ILList;)I=1\na.B$C#<init>()V=2\n";
    write(dir, "ids.properties", names.as_bytes())?;
    write(dir, "thread-1.flow", MAIN_THREAD)?;
    write(dir, "thread-12.flow", OPEN_THREAD)?;
    write(dir, "thread-13.flow", LATE_THREAD)
}

/// Writes a trace whose names try to become code into an empty directory.
///
/// # Errors
///
/// If it cannot be written.
pub(crate) fn write_hostile(dir: &Path) -> Result<()> {
    let source = Path::new("scripts/html/hostile");
    for entry in fs::read_dir(source).context(source.display())?.flatten() {
        fs::copy(entry.path(), dir.join(entry.file_name())).context(entry.path().display())?;
    }
    write(dir, "thread-1.flow", HOSTILE_THREAD)
}

/// Writes a trace of one call with a million others in it, of two methods in turns; and with other events in the
/// middle.
///
/// # Errors
///
/// If it cannot be written.
pub(crate) fn write_wide(dir: &Path, middle: &[u8]) -> Result<()> {
    write(dir, "ids.properties", b"a.B#main()V=0\na.B#one()V=1\na.B#other()V=2\na.B#last()V=3\n")?;
    let inner = [0x81, 0x00, 0x82, 0x00].repeat(250_000);
    write(dir, "thread-1.flow", &[&[0x80], &inner[..], middle, &inner, &[0x83, 0x01]].concat())
}

/// Writes a trace of 100,000 nested calls, which then return.
///
/// # Errors
///
/// If it cannot be written.
pub(crate) fn write_deep(dir: &Path) -> Result<()> {
    write(dir, "ids.properties", b"a.B#down(I)V=1\na.B#last()V=3\n")?;
    let down = [0x81].repeat(100_000);
    write(dir, "thread-1.flow", &[&down[..], &[0x83, 0x00], &[0x00].repeat(100_000)].concat())
}

/// The time from one event of the shop to the next.
const STEP_NS: u64 = 150_000_000;

/// Writes a trace of tests of a shop into an empty directory: of one machine, whose test fails, or of a newer one, which does more in
/// the test that passes. Events are 0.15 s apart; `scripts/exports/query_tables.py` knows what follows.
///
/// # Errors
///
/// If it cannot be written.
pub(crate) fn write_shop(dir: &Path, is_newer: bool) -> Result<()> {
    let names = [
        "com.shop.ShopTest#pays()V",
        "com.shop.ShopTest#fails()V",
        "com.shop.Orders#total()I",
        "com.shop.Price#get()I",
        "com.shop.Cache#miss()V",
        "java.lang.IllegalStateException#<class>",
    ];
    let names: String = (0..).zip(names).map(|(id, name)| format!("{name}={id}\n")).collect();
    // A digit is a call of the method with this id; what ends it is ) or, with an exception, !.
    let tests: &[(&str, Outcome, &str)] = match is_newer {
        true => &[("pays", Outcome::Passed, "0 2 3 ) 3 ) 4 ) ) )")],
        false => &[
            ("pays", Outcome::Passed, "0 2 3 ) 3 ) ) )"),
            ("fails", Outcome::Failed, "1 2 3 ! ! )"),
        ],
    };
    let (mut bytes, mut encoder, mut marks) = (Vec::new(), MarkEncoder::default(), HEADER.to_vec());
    // A time of 0 would not be known.
    let mut now_ns = STEP_NS;
    for (test, outcome, calls) in tests {
        let name = format!("com.shop.ShopTest.{test}");
        let mark = |outcome| {
            let (name, detail) = (name.clone(), String::new());
            Mark::Test(TestMark { outcome, name, detail })
        };
        let at = |bytes: &[u8]| Position { offset: Offset::new(bytes.len() as u64), exits: 0 };
        let time = |now_ns| Mark::Time { by_ns: now_ns, from_ns: now_ns, ran_us: None };
        encoder.encode(at(&bytes), &time(now_ns), &mut marks);
        encoder.encode(at(&bytes), &mark(None), &mut marks);
        for event in calls.split(' ') {
            if event == "!" {
                let thrown = Some("java.lang.IllegalStateException".to_owned());
                let mark = Mark::Unwound { exits: NonZeroU64::MIN, thrown };
                encoder.encode(at(&bytes), &mark, &mut marks);
            }
            bytes.push(event.parse().map_or(0x00, |method: u8| 0x80 | method));
            now_ns += STEP_NS;
            encoder.encode(at(&bytes), &time(now_ns), &mut marks);
        }
        encoder.encode(at(&bytes), &mark(Some(*outcome)), &mut marks);
    }
    encoder.finish(&mut marks);
    let calls = bytes.iter().filter(|byte| **byte != 0).count();
    let manifest = json!({
        "format_version": 1, "id": format!("{:016x}", 1 + u64::from(is_newer)), "tool": "xtask", "engine": "instrument",
        "event_format": "binary", "clock": {"kind": "exact"}, "pid": 1, "host": if is_newer { "beta" } else { "alpha" },
        "options": {}, "command": ["java", "-jar", "shop.jar"], "jvm": {"name": "OpenJDK", "version": "17", "home": "/jdk"},
        "start_unix_ns": 1_700_000_000_000_000_000_u64 + u64::from(is_newer),
        "end": {
            "at_ns": now_ns, "lost": {"events": 0, "reasons": []}, "not_recorded": [],
            "totals": {"threads": 1, "methods": 5, "enters": calls, "exits": calls, "bytes": bytes.len()},
        },
    });
    write(dir, "trace.json", manifest.to_string().as_bytes())?;
    write(dir, "ids.properties", names.as_bytes())?;
    write(dir, "thread-1.marks", &marks)?;
    write(dir, "thread-1.flow", &bytes)
}

/// Writes a trace of threads that hand something to each other into an empty directory.
///
/// # Errors
///
/// If it cannot be written.
pub(crate) fn write_handed(dir: &Path) -> Result<()> {
    let mut names: Vec<char> = HANDED_THREADS.concat().chars().collect();
    names.retain(char::is_ascii_alphabetic);
    names.sort_unstable();
    names.dedup();
    let mut methods = String::new();
    for (id, letter) in names.iter().enumerate() {
        let role = ROLES.iter().find(|role| role.0 == *letter).map(|role| role.1);
        let roles = role.map(|role| format!("\"handovers {role} arg0\"")).unwrap_or_default();
        let name = role.map_or(letter.to_string(), str::to_owned);
        methods += &format!(
            "{{\"id\":{id},\"class\":\"a.Handed\",\"name\":\"{name}\",\"descriptor\":\"()V\",\"roles\":[{roles}]}}\n"
        );
    }
    write(dir, "methods.jsonl", methods.as_bytes())?;
    let mut threads = String::new();
    for (id, name) in [(1, "main"), (2, "worker"), (3, "other")] {
        threads += &format!(
            "{{\"event\":\"start\",\"id\":{id},\"name\":\"{name}\",\"daemon\":false,\"virtual\":false,\"at_ns\":1}}\n"
        );
    }
    write(dir, "threads.jsonl", threads.as_bytes())?;
    for (thread, calls) in (1..).zip(HANDED_THREADS) {
        let (mut events, mut marks) = (Vec::new(), HEADER.to_vec());
        let mut encoder = MarkEncoder::default();
        let mut before = ')';
        for letter in calls.chars() {
            if let Some(number) = letter.to_digit(10) {
                let value = match before {
                    'S' => Value::Primitive(Primitive::Long(number.into())),
                    _ => Value::Object(Identity { class: None, hash: number }),
                };
                let mut bytes = Vec::new();
                CallValue::new(Role::Argument(0), value).encode(&mut bytes);
                let at = Position::before(Offset::new(events.len() as u64));
                encoder.encode(at, &Mark::Values(bytes), &mut marks);
            } else if letter == ')' {
                events.push(0);
            } else {
                let id = names.iter().position(|name| *name == letter).unwrap_or(0);
                events.push(0x80 | u8::try_from(id).unwrap_or(0));
            }
            before = letter;
        }
        encoder.finish(&mut marks);
        write(dir, &format!("thread-{thread}.flow"), &events)?;
        write(dir, &format!("thread-{thread}.marks"), &marks)?;
    }
    Ok(())
}

fn write(dir: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let file = dir.join(name);
    fs::write(&file, bytes).context(file.display())
}
