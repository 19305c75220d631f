//! Reads the samples of a trace: batch after batch, without believing any of them.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::Trace;
use crate::format::container::StreamKind;
use crate::format::names;
use crate::format::samples::{
    BatchDecoder, BatchHeader, Cause, Found, HEADER_BYTES, MAGIC, MAX_CONTENT_BYTES, Sample,
    Sampling, VERSION,
};
use crate::read::StoredBytes;
use crate::{Error, Offset, Result};

/// More errors than this are not listed.
const MAX_DAMAGE: usize = 20;
/// The search for batches after damage reads at most this many times as many bytes as there are.
const SEARCH_EFFORT: u64 = 4;
const BLOCK_BYTES: usize = 64 << 10;

/// The samples of a trace, in the order in which they were written.
///
/// ```no_run
/// # fn main() -> flow_codec::Result<()> {
/// use flow_codec::format::samples::Found;
/// let trace = flow_codec::read::Trace::open("flow-trace")?;
/// if let Some(mut samples) = trace.samples()? {
///     while let Some((sampling, sample)) = samples.next_sample()? {
///         if let Found::Stack { frames, .. } = sample.found {
///             println!("{} ns: {:?}", sample.intervals * sampling.interval_ns, frames.last());
///         }
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Samples<R = StoredBytes> {
    input: Buffered<R>,
    path: PathBuf,
    content: Vec<u8>,
    /// Of the current batch.
    decoder: Option<BatchDecoder>,
    /// Where its content begins.
    content_at: u64,
    damage: Vec<Error>,
    effort: u64,
    unfinished: u64,
}

impl Trace {
    /// The samples of all threads; `None` if threads were not sampled.
    ///
    /// # Errors
    /// Their file cannot be opened.
    #[doc(hidden)]
    pub fn samples(&self) -> Result<Option<Samples>> {
        let stored = self.text(StreamKind::Samples)?;
        Ok(stored.map(|stored| Samples::new(StoredBytes::of(stored), self.file(names::SAMPLES))))
    }
}

impl<R: Read> Samples<R> {
    /// Reads samples from a stream. `path` is for messages.
    pub fn new(input: R, path: impl AsRef<Path>) -> Self {
        Self {
            input: Buffered::new(input),
            path: path.as_ref().to_path_buf(),
            content: Vec::new(),
            decoder: None,
            content_at: 0,
            damage: Vec::new(),
            effort: 0,
            unfinished: 0,
        }
    }

    /// Reads the next sample. Damage is skipped, and listed.
    ///
    /// # Errors
    /// The bytes cannot be read.
    pub fn next_sample(&mut self) -> Result<Option<(Sampling, Sample<'_>)>> {
        loop {
            match self.decoder.as_mut().map(|decoder| decoder.advance(&self.content)) {
                Some(Ok(true)) => break,
                Some(Err(_)) => {
                    let at = self.decoder.as_ref().map_or(0, BatchDecoder::at) as u64;
                    self.add_damage(self.content_at + at, "bytes that are not a sample".to_owned());
                }
                Some(Ok(false)) | None => {}
            }
            let next = self.next_batch();
            if !next.map_err(|source| Error::Io { path: self.path.clone(), source })? {
                return Ok(None);
            }
        }
        Ok(self.decoder.as_ref().map(|decoder| (decoder.sampling(), decoder.current())))
    }

    /// What is damaged, of what was read so far.
    #[must_use]
    pub fn damage(&self) -> &[Error] {
        &self.damage
    }

    /// Returns what is damaged, by value.
    #[must_use]
    pub fn into_damage(self) -> Vec<Error> {
        self.damage
    }

    /// Bytes of an unfinished batch at the end: the process was killed while it wrote, or still writes.
    #[must_use]
    pub const fn unfinished(&self) -> u64 {
        self.unfinished
    }

    /// Reads the next batch that is sound.
    fn next_batch(&mut self) -> io::Result<bool> {
        self.decoder = None;
        loop {
            let start = self.input.at;
            if self.read_batch()? {
                return Ok(true);
            }
            if self.input.fill(1)?.is_empty() {
                return Ok(false);
            }
            if self.input.at == start {
                self.skip_damage()?;
            }
        }
    }

    /// Reads the batch at the current position. Returns `false` if there is none, or not one that this build can read;
    /// in the second case it is skipped.
    fn read_batch(&mut self) -> io::Result<bool> {
        let start = self.input.at;
        let header = self.input.fill(HEADER_BYTES)?;
        let Some(header) = header.first_chunk().and_then(BatchHeader::decode) else {
            return Ok(false);
        };
        let whole = self.input.fill(HEADER_BYTES + header.len)?;
        let Some(content) = whole.get(HEADER_BYTES..HEADER_BYTES + header.len) else {
            return Ok(false);
        };
        if !header.is_of(content) {
            self.effort += header.len as u64;
            return Ok(false);
        }
        self.content.clear();
        self.content.extend_from_slice(content);
        self.content_at = start + HEADER_BYTES as u64;
        self.input.skip(HEADER_BYTES + header.len);
        if header.version != VERSION {
            let found = format!("one of version {}; use a newer flow", header.version);
            self.add_damage(start, found);
            return Ok(false);
        }
        self.decoder = BatchDecoder::new(&self.content);
        if self.decoder.is_none() {
            self.add_damage(self.content_at, "bytes that are not samples".to_owned());
        }
        Ok(self.decoder.is_some())
    }

    /// Skips bytes up to the next batch, or all.
    fn skip_damage(&mut self) -> io::Result<()> {
        let start = self.input.at;
        let found = self.input.fill(HEADER_BYTES)?;
        let len = MAGIC.len().min(found.len());
        let begins_batch = found.get(..len) == MAGIC.get(..len);
        self.input.skip(1);
        loop {
            let reached = self.input.at.saturating_add(MAX_CONTENT_BYTES as u64);
            let limit = SEARCH_EFFORT.saturating_mul(reached);
            let bytes = self.input.fill(BLOCK_BYTES)?;
            let place = memchr::memmem::find(bytes, &MAGIC);
            if let Some(place) = place.filter(|_| self.effort <= limit) {
                self.input.skip(place);
                if self.is_at_batch()? {
                    break;
                }
                self.input.skip(1);
            } else if bytes.len() < MAGIC.len() {
                let len = bytes.len();
                self.input.skip(len);
                if begins_batch {
                    self.unfinished = self.input.at - start;
                    return Ok(());
                }
                break;
            } else {
                let len = bytes.len() - MAGIC.len() + 1;
                self.input.skip(len);
            }
        }
        let skipped = self.input.at - start;
        self.add_damage(start, format!("{skipped} other bytes"));
        Ok(())
    }

    fn is_at_batch(&mut self) -> io::Result<bool> {
        let header = self.input.fill(HEADER_BYTES)?.first_chunk().and_then(BatchHeader::decode);
        let Some(header) = header else { return Ok(false) };
        self.effort += header.len as u64;
        let whole = self.input.fill(HEADER_BYTES + header.len)?;
        let content = whole.get(HEADER_BYTES..HEADER_BYTES + header.len);
        Ok(content.is_some_and(|content| header.is_of(content)))
    }

    fn add_damage(&mut self, offset: u64, found: String) {
        if self.damage.len() < MAX_DAMAGE {
            let offset = Offset::new(offset);
            self.damage.push(Error::BadSamples { path: self.path.clone(), offset, found });
        }
    }
}

/// Bytes read ahead.
#[derive(Debug)]
struct Buffered<R> {
    input: R,
    bytes: Vec<u8>,
    /// The first of them that was not skipped.
    next: usize,
    /// Its place in the input.
    at: u64,
    has_ended: bool,
}

impl<R: Read> Buffered<R> {
    const fn new(input: R) -> Self {
        Self { input, bytes: Vec::new(), next: 0, at: 0, has_ended: false }
    }

    /// Returns the next bytes: at least `len`, unless the input has fewer.
    fn fill(&mut self, len: usize) -> io::Result<&[u8]> {
        while self.bytes.len() - self.next < len && !self.has_ended {
            self.bytes.drain(..self.next);
            self.next = 0;
            // Grows with what is there, not with what a header says.
            let read = (&mut self.input).take(BLOCK_BYTES as u64).read_to_end(&mut self.bytes)?;
            self.has_ended = read == 0;
        }
        Ok(self.bytes.get(self.next..).unwrap_or_default())
    }

    fn skip(&mut self, len: usize) {
        let len = len.min(self.bytes.len() - self.next);
        self.next += len;
        self.at += len as u64;
    }
}

/// How many samples there are, and why some have no stack.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct SampleCounts {
    /// Samples with a stack.
    pub stacks: u64,
    /// Those whose outer frames are missing.
    pub cut: u64,
    /// How many intervals those with a stack represent.
    pub intervals: u64,
    /// Intervals without a stack, by cause.
    pub missed: Vec<(Cause, u64)>,
    /// Frames of stacks whose method is unknown.
    pub unknown_frames: u64,
    /// How often threads were sampled last.
    pub sampling: Option<Sampling>,
    /// When the first and the last sample were taken.
    pub times_ns: Option<(u64, u64)>,
}

impl SampleCounts {
    /// Counts the samples of a trace, if it has any. Also returns the samples, which were read to their end, with what is
    /// damaged.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn of(trace: &Trace) -> Result<Option<(Self, Samples)>> {
        let Some(mut samples) = trace.samples()? else { return Ok(None) };
        let mut counts = Self::default();
        while let Some((sampling, sample)) = samples.next_sample()? {
            counts.add(sampling, &sample);
        }
        Ok(Some((counts, samples)))
    }

    /// Counts a sample.
    pub(crate) fn add(&mut self, sampling: Sampling, sample: &Sample<'_>) {
        self.sampling = Some(sampling);
        let (first, last) = self.times_ns.unwrap_or((sample.at_ns, sample.at_ns));
        self.times_ns = Some((first.min(sample.at_ns), last.max(sample.at_ns)));
        match sample.found {
            Found::Stack { frames, is_cut } => {
                self.stacks += 1;
                self.cut += u64::from(is_cut);
                self.intervals = self.intervals.saturating_add(sample.intervals);
                let unknown = frames.iter().filter(|frame| frame.method.is_none());
                self.unknown_frames += unknown.count() as u64;
            }
            Found::Missed(cause) => {
                let place = self.missed.binary_search_by_key(&cause, |(other, _)| *other);
                let place = place.unwrap_or_else(|place| {
                    self.missed.insert(place, (cause, 0));
                    place
                });
                if let Some((_, count)) = self.missed.get_mut(place) {
                    *count = count.saturating_add(sample.intervals);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ThreadId;
    use crate::format::samples::{BatchEncoder, SampleClock};

    /// Three batches, with two samples each.
    fn example() -> Vec<u8> {
        let sampling = Sampling { clock: SampleClock::Cpu, interval_ns: 1000 };
        let mut encoder = BatchEncoder::new(sampling);
        let mut bytes = Vec::new();
        for batch in 0..3 {
            for number in 0..2 {
                let found = Found::Missed(Cause::NO_ROOM);
                let (thread, at_ns) = (ThreadId::new(number), 10 * batch + number);
                let (intervals, ran_us) = (1, None);
                encoder.add(&Sample { thread, at_ns, intervals, ran_us, found });
            }
            bytes.extend_from_slice(encoder.finish().unwrap());
        }
        bytes
    }

    /// The times of all samples, the damage, and the unfinished bytes.
    fn read(bytes: &[u8]) -> (Vec<u64>, Vec<Error>, u64) {
        let mut samples = Samples::new(bytes, "samples");
        let mut times = Vec::new();
        while let Some((_, sample)) = samples.next_sample().unwrap() {
            times.push(sample.at_ns);
        }
        let unfinished = samples.unfinished();
        (times, samples.into_damage(), unfinished)
    }

    const ALL: [u64; 6] = [0, 1, 10, 11, 20, 21];

    #[test]
    fn however_a_file_is_cut_all_whole_batches_are_read() {
        let whole = example();
        let batch = whole.len() / 3;
        for end in 0..=whole.len() {
            let (times, damage, unfinished) = read(&whole[..end]);
            assert_eq!(times, ALL[..end / batch * 2], "{end}");
            assert_eq!((damage.len(), unfinished), (0, (end % batch) as u64), "{end}");
        }
    }

    #[test]
    fn whatever_byte_is_changed_the_other_batches_are_read() {
        let whole = example();
        let batch = whole.len() / 3;
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x41;
            let (times, damage, unfinished) = read(&bytes);
            let of_batch = at / batch * 2;
            let expected = [&ALL[..of_batch], &ALL[of_batch + 2..]].concat();
            assert_eq!(times, expected, "{at}");
            assert_eq!(damage.len() + usize::from(unfinished > 0), 1, "{at}: {damage:?}");
        }
    }

    #[test]
    fn bytes_between_batches_are_damage() {
        let whole = example();
        let batch = whole.len() / 3;
        for more in [1, 7, 8, 100_000] {
            let bytes = [&whole[..batch], &vec![0xFF; more], &whole[batch..]].concat();
            let (times, damage, unfinished) = read(&bytes);
            assert_eq!((&times[..], damage.len(), unfinished), (&ALL[..], 1, 0));
            let expected = format!(
                "samples: offset {batch}: expected a batch of samples, found {more} other bytes"
            );
            assert_eq!(damage[0].to_string(), expected);
        }
    }

    #[test]
    fn samples_are_counted_by_cause() {
        let bytes = example();
        let mut samples = Samples::new(&bytes[..], "samples");
        let mut counts = SampleCounts::default();
        while let Some((sampling, sample)) = samples.next_sample().unwrap() {
            counts.add(sampling, &sample);
        }
        assert_eq!(counts.missed, [(Cause::NO_ROOM, 6)]);
        assert_eq!((counts.stacks, counts.times_ns), (0, Some((0, 21))));
    }
}
