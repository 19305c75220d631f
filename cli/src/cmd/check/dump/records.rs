//! Prints the records of threads.

use std::fmt::Write as _;
use std::io::{self, BufReader, Read, Write};
use std::ops::{ControlFlow, Range};

use flow_codec::Offset;
use flow_codec::format::flow::Record;
use flow_codec::read::{Content, ContentReader, ThreadFile, Trace};

use crate::args::Format;
use crate::failure::Failure;
use crate::output::{Labels, Out, Progress, csv_fields, plural};
use flow_query::reading::{Ending, Reading, read_records};
use flow_query::select::thread_title;

/// The most bytes shown of a record.
const SHOWN_BYTES: u64 = 64;
/// The width of the column of bytes: ids up to 2^27 have four.
const WIDTH: usize = "00 00 00 00".len();

/// The dump of one trace.
pub(super) struct Dump<'a> {
    pub(super) format: Format,
    /// The name of the trace.
    pub(super) name: String,
    pub(super) labels: Labels<'a>,
    /// The number of open frames of the current thread, after the last record.
    pub(super) frames: u64,
}

impl Dump<'_> {
    pub(super) fn head(
        &self,
        trace: &Trace,
        file: &ThreadFile,
        out: &mut Out,
    ) -> Result<(), Failure> {
        out.heading(&format!("thread {}", thread_title(trace, file.id())))?;
        Ok(out.heading(&format!(
            "{:>10}  {:<WIDTH$}  event  {:>8}  {:>6}  method",
            "offset", "bytes", "value", "frames"
        ))?)
    }

    pub(super) fn thread(
        &mut self,
        file: &ThreadFile,
        max: u64,
        printed: &mut u64,
        progress: &mut Progress,
        out: &mut Out,
    ) -> Result<Reading, Failure> {
        self.frames = 0;
        let mut raw = RawBytes::new(file)?;
        let mut end = 0;
        let reading = read_records(file, Offset::default(), progress, |range, record| {
            if *printed == max {
                return Ok::<_, Failure>(ControlFlow::Break(()));
            }
            *printed += 1;
            self.left_out(end..range.start, out)?;
            end = range.end;
            let bytes = raw.show(range.clone())?;
            self.record(file, range.start, &bytes, record, out)?;
            Ok(ControlFlow::Continue(()))
        })?;
        if reading.ending() == Ending::Whole {
            self.left_out(end..file.bytes(), out)?;
        }
        if let (Ending::Truncated(offset), Format::Text) = (reading.ending(), self.format) {
            let bytes = raw.show(offset.get()..file.bytes().max(offset.get()))?;
            writeln!(out, "{offset:>10}  {bytes:<WIDTH$}  cut off")?;
        }
        Ok(reading)
    }

    /// Prints a line for bytes that are not a record; the error goes to stderr.
    fn left_out(&self, range: Range<u64>, out: &mut Out) -> Result<(), Failure> {
        if self.format != Format::Text || range.start >= range.end {
            return Ok(());
        }
        let bytes = plural(range.end - range.start, "byte");
        writeln!(out, "{:>10}  {bytes:<WIDTH$}  left out", range.start)?;
        Ok(())
    }

    fn record(
        &mut self,
        file: &ThreadFile,
        offset: u64,
        bytes: &str,
        record: Record,
        out: &mut Out,
    ) -> Result<(), Failure> {
        let mut unseen = 0;
        let (event, value) = match record {
            Record::Enter(method) => {
                self.frames = self.frames.saturating_add(1);
                ("enter", method.get())
            }
            Record::Exit(count) => {
                unseen = count.get().saturating_sub(self.frames);
                self.frames = self.frames.saturating_sub(count.get());
                ("exit", count.get())
            }
        };
        let frames = self.frames;
        let thread = file.id();
        match self.format {
            Format::Text => {
                let event = event.to_uppercase();
                write!(out, "{offset:>10}  {bytes:<WIDTH$}  {event:<5}  {value:>8}  {frames:>6}")?;
                match record {
                    Record::Enter(method) => writeln!(out, "  {}", self.labels.get(method))?,
                    Record::Exit(_) if unseen > 0 => {
                        let unseen = plural(unseen, "frame");
                        writeln!(out, "  ({unseen} entered before recording)")?;
                    }
                    Record::Exit(_) => writeln!(out)?,
                }
            }
            Format::Json => {
                let name = serde_json::Value::from(self.name.as_str());
                let bytes = serde_json::Value::from(bytes);
                write!(
                    out,
                    "{{\"trace\":{name},\"thread\":{thread},\"offset\":{offset},\"bytes\":{bytes},\
                     \"event\":\"{event}\",\"frames\":{frames},"
                )?;
                match record {
                    Record::Enter(method) => writeln!(out, "{}}}", self.labels.get(method))?,
                    Record::Exit(count) => writeln!(out, "\"count\":{count}}}")?,
                }
            }
            Format::Csv => {
                let (thread, offset) = (thread.to_string(), offset.to_string());
                let start = csv_fields([self.name.as_str(), &thread, &offset, bytes, event]);
                match record {
                    Record::Enter(method) => {
                        writeln!(out, "{start},,{frames},{}", self.labels.get(method))?;
                    }
                    Record::Exit(count) => writeln!(out, "{start},{count},{frames},,,,,")?,
                }
            }
        }
        Ok(())
    }
}

/// Reads the bytes of records once more, next to the reader that decodes them, because a record may be stored
/// in another form than it would be encoded today.
struct RawBytes {
    input: BufReader<ContentReader>,
    position: u64,
}

impl RawBytes {
    fn new(file: &ThreadFile) -> Result<Self, Failure> {
        Ok(Self { input: BufReader::new(Content::open(file)?.reader()), position: 0 })
    }

    /// The bytes of a range after the last one, in hex.
    fn show(&mut self, range: Range<u64>) -> Result<String, Failure> {
        let cannot =
            |error| Failure::Failed(format!("the file changed while it was read: {error}"));
        let len = range.end - range.start;
        let mut bytes = Vec::new();
        let skipped = range.start.saturating_sub(self.position);
        if skipped > 0 {
            io::copy(&mut (&mut self.input).take(skipped), &mut io::sink()).map_err(cannot)?;
        }
        let shown = len.min(SHOWN_BYTES);
        (&mut self.input).take(shown).read_to_end(&mut bytes).map_err(cannot)?;
        self.position = range.start + bytes.len() as u64;
        let mut text = hex(&bytes);
        if shown < len {
            text.push('…');
        }
        Ok(text)
    }
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(3 * bytes.len());
    for (number, byte) in bytes.iter().enumerate() {
        let blank = if number > 0 { " " } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(text, "{blank}{byte:02X}");
    }
    text
}
