//! Small traces for the viewers.

use std::fs;
use std::path::Path;

use flow_codec::Offset;
use flow_codec::format::marks::{HEADER, Mark, MarkEncoder, Position};
use flow_codec::format::values::{CallValue, Identity, Primitive, Role, Value};

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
