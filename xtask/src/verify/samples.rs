//! Small traces for the viewers.

use std::fs;
use std::path::Path;

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

fn write(dir: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let file = dir.join(name);
    fs::write(&file, bytes).context(file.display())
}
