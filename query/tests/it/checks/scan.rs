//! Arbitrary bytes through the scanner: the sums are those of single records, as a whole and in pieces.
//!
//! The first byte is the length of a piece.

use flow_codec::scan::{Stop, Summary, scan};
use flow_model::{End, Record, Stream, decode};

/// Smaller sums are far from the largest number, where sums stop.
const FAR_FROM_THE_END: i128 = 1 << 62;

pub(super) fn check(bytes: &[u8]) {
    let Some((&size, bytes)) = bytes.split_first() else {
        return;
    };
    let stream = decode(bytes);
    let (sound_bytes, stop) = sound_part(&stream, bytes.len());
    let expected = Naive::of(&stream, sound_bytes);

    let mut whole = Summary::default();
    let scanned = scan(bytes, usize::MAX, &mut whole);
    assert_eq!((scanned.len, scanned.stop), (sound_bytes, stop));
    expected.compare(whole);

    let size = usize::from(size).max(1);
    let (mut joined, mut frames, mut most) = (Summary::default(), 0, 0);
    let mut at = 0;
    while at < sound_bytes {
        let mut piece = Summary::default();
        let scanned = scan(&bytes[at..], size, &mut piece);
        assert!(scanned.len >= size || at + scanned.len == sound_bytes);
        assert_eq!(piece.bytes, scanned.len as u64);
        at += scanned.len;
        most = most.max(piece.most_frames(frames));
        frames = piece.frames_after(frames);
        joined = joined.then(piece);
    }
    assert_eq!((i128::from(frames), i128::from(most)), (expected.frames, expected.most_frames));
    if expected.exits < FAR_FROM_THE_END {
        assert_eq!(joined, whole);
    }
}

/// The length of the bytes before any damage, and why a scan stops there.
fn sound_part(stream: &Stream, len: usize) -> (usize, Stop) {
    let (offset, stop) = match (stream.damage.first(), stream.end) {
        (Some(&(offset, _)), _) => (offset, Stop::Damage),
        (None, End::Truncated(offset)) => (offset, Stop::Incomplete),
        (None, End::Complete) => (len as u64, Stop::Enough),
    };
    (usize::try_from(offset).expect("within the bytes"), stop)
}

/// The same without limits, from the depth and from a stack.
#[derive(Default)]
struct Naive {
    enters: i128,
    exits: i128,
    depth: i128,
    lowest: i128,
    highest: i128,
    rise: i128,
    frames: i128,
    most_frames: i128,
}

impl Naive {
    fn of(stream: &Stream, sound_bytes: usize) -> Self {
        let mut naive = Self::default();
        for &(offset, seen) in &stream.records {
            if offset >= sound_bytes as u64 {
                break;
            }
            match seen {
                Record::Enter(_) => {
                    naive.enters += 1;
                    naive.depth += 1;
                    naive.frames += 1;
                }
                Record::Exits(count) => {
                    naive.exits += i128::from(count);
                    naive.depth -= i128::from(count);
                    naive.frames = (naive.frames - i128::from(count)).max(0);
                }
            }
            naive.lowest = naive.lowest.min(naive.depth);
            naive.highest = naive.highest.max(naive.depth);
            naive.rise = naive.rise.max(naive.depth - naive.lowest);
            naive.most_frames = naive.most_frames.max(naive.frames);
        }
        naive
    }

    fn compare(&self, summary: Summary) {
        assert_eq!(i128::from(summary.enters), self.enters);
        assert_eq!(i128::from(summary.frames_after(0)), self.frames);
        assert_eq!(i128::from(summary.most_frames(0)), self.most_frames);
        if self.exits < FAR_FROM_THE_END {
            let Summary { exits, end, lowest, highest, rise, .. } = summary;
            let found = [end, lowest, highest, rise].map(i128::from);
            assert_eq!(found, [self.depth, self.lowest, self.highest, self.rise]);
            assert_eq!(i128::from(exits), self.exits);
            assert_eq!(i128::from(summary.unseen_exits(0)), -self.lowest);
        }
    }
}
