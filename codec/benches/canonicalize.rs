//! How fast raw chunks are canonicalized, on streams like those of programs: bytes recorded, and events, per
//! second. Run: `cargo bench -p flow-codec --bench canonicalize`.

use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use flow_codec::MethodId;
use flow_codec::format::flow::Encoded;
use flow_codec::format::raw::{BEGIN, CATCH, END, EXIT, TIME, UNWOUND_EXIT};
use flow_codec::write::{Base, Canonicalizer, EncodedMarks, count_events};

const RAW_BYTES: usize = 4 << 20;
const CHUNK_BYTES: usize = 64 << 10;

fn main() {
    divan::main();
}

#[divan::bench(args = Stream::ALL)]
fn canonicalize(bencher: Bencher<'_, '_>, stream: Stream) {
    let chunks = stream.chunks();
    let bytes = chunks.iter().map(Vec::len).sum::<usize>();
    let counts = chunks.iter().map(|chunk| count_events(chunk));
    let events = counts.map(|counts| counts.enters + counts.exits).sum::<u64>();
    let (mut out, mut marks) = (Vec::new(), EncodedMarks::default());
    bencher.counter(BytesCount::new(bytes)).counter(ItemsCount::new(events)).bench_local(|| {
        let mut canonicalizer = Canonicalizer::default();
        let mut base = Base::default();
        for chunk in &chunks {
            out.clear();
            marks.clear();
            canonicalizer.push_marked(chunk, &[], base, &mut out, &mut marks);
            base.start = base.start.plus(out.len());
        }
    });
}

/// What is canonicalized.
#[derive(Clone, Copy, Debug)]
enum Stream {
    NoExitRuns,
    Fib,
    Methods4000,
    MethodsTo63,
    MethodsFrom8192,
    MethodsFrom2To20,
    FibWithTimes,
    Methods4000WithTimes,
    OneIn10AConstructor,
    OneIn3AConstructor,
}

impl Stream {
    const ALL: [Self; 10] = [
        Self::NoExitRuns,
        Self::Fib,
        Self::Methods4000,
        Self::MethodsTo63,
        Self::MethodsFrom8192,
        Self::MethodsFrom2To20,
        Self::FibWithTimes,
        Self::Methods4000WithTimes,
        Self::OneIn10AConstructor,
        Self::OneIn3AConstructor,
    ];

    fn chunks(self) -> Vec<Vec<u8>> {
        let methods = |random| 64 + random % 4000;
        match self {
            Self::NoExitRuns => vec![[0xEC, 0x04, EXIT].repeat(CHUNK_BYTES / 3); 64],
            Self::Fib => program(&|_| 300, Shape::FIB),
            Self::Methods4000 => program(&methods, Shape::PLAIN),
            Self::MethodsTo63 => program(&|random| random % 64, Shape::PLAIN),
            Self::MethodsFrom8192 => program(&|random| 8192 + random % 10_000, Shape::PLAIN),
            Self::MethodsFrom2To20 => program(&|random| (1 << 20) + random % 10_000, Shape::PLAIN),
            Self::FibWithTimes => timed(program(&|_| 300, Shape::FIB)),
            Self::Methods4000WithTimes => timed(program(&methods, Shape::CONSTRUCTORS)),
            Self::OneIn10AConstructor => program(&methods, Shape::CONSTRUCTORS),
            Self::OneIn3AConstructor => program(&methods, Shape::MANY_CONSTRUCTORS),
        }
    }
}

/// How calls follow each other, in percent.
#[derive(Clone, Copy)]
struct Shape {
    calls_another: u64,
    constructors: u64,
    unwound: u64,
}

impl Shape {
    const FIB: Self = Self { calls_another: 50, constructors: 0, unwound: 0 };
    const PLAIN: Self = Self { calls_another: 47, constructors: 0, unwound: 0 };
    const CONSTRUCTORS: Self = Self { calls_another: 47, constructors: 10, unwound: 1 };
    const MANY_CONSTRUCTORS: Self = Self { calls_another: 47, constructors: 33, unwound: 2 };
}

/// What the probes of a random program append: whole events, cut into chunks.
fn program(method: &dyn Fn(u64) -> u64, shape: Shape) -> Vec<Vec<u8>> {
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random >> 8
    };
    let enter = |raw: &mut Vec<u8>, id: u64| {
        let id = MethodId::new(id).expect("a small number");
        raw.extend_from_slice(Encoded::enter(id).as_bytes());
    };
    let (mut chunks, mut raw) = (Vec::new(), Vec::new());
    let (mut open, mut bytes) = (0_u64, 0);
    while bytes < RAW_BYTES {
        while raw.len() < CHUNK_BYTES {
            if open == 0 || next() % 100 < shape.calls_another {
                enter(&mut raw, method(next()));
                open += 1;
                if next() % 100 < shape.constructors {
                    let parent = method(next());
                    raw.push(BEGIN);
                    enter(&mut raw, parent);
                    enter(&mut raw, parent);
                    if next() % 2 == 0 {
                        enter(&mut raw, method(next()));
                        raw.push(EXIT);
                    }
                    raw.extend_from_slice(&[EXIT, END]);
                }
            } else if next() % 100 < shape.unwound {
                raw.extend_from_slice(&[UNWOUND_EXIT, CATCH]);
                open -= 1;
            } else {
                raw.push(EXIT);
                open -= 1;
            }
        }
        bytes += raw.len();
        chunks.push(std::mem::take(&mut raw));
    }
    chunks
}

/// The same with a time before each event.
fn timed(chunks: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let mut time = 1_000_000_u64;
    let mut with_times = |chunk: Vec<u8>| {
        let mut timed = Vec::new();
        let mut rest = &chunk[..];
        while !rest.is_empty() {
            // What an ENTER ends with, that of a BEGIN too.
            let is_long = |byte: &u8| *byte >= 0xC0;
            let begin = usize::from(rest[0] == BEGIN);
            let len = begin + 1 + usize::from(rest.get(begin).is_some_and(is_long));
            time += 30 + time / 7 % 11;
            timed.extend_from_slice(&(time << 8 | u64::from(TIME)).to_le_bytes());
            timed.extend_from_slice(&rest[..len.min(rest.len())]);
            rest = rest.get(len..).unwrap_or_default();
        }
        timed
    };
    chunks.into_iter().map(&mut with_times).collect()
}
