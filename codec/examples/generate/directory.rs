//! The files of a trace other than the thread files.

use std::fmt::Write as _;
use std::fs::{self, DirBuilder, File};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::time::Duration;

use flow_codec::format::ids;
use flow_codec::format::manifest::{End, Jvm, Manifest, Order, Timing, Totals, VERSION};
use flow_codec::format::methods::{MethodInfo, MethodLine, flag_names};
use flow_codec::format::names::{self, EventFormat};
use flow_codec::format::threads::ThreadLine;
use flow_codec::{MethodId, ThreadId};

use crate::clock::{ENTER_NS, EXIT_NS};
use crate::options::Options;
use crate::stream::Written;

const METHODS_A_CLASS: u32 = 12;
const PUBLIC: u32 = 1;
/// The duration of a call.
const CALL_NS: u64 = ENTER_NS + EXIT_NS;

/// A trace directory that is being written.
#[derive(Debug)]
pub(crate) struct Directory {
    path: PathBuf,
    seed: u64,
    totals: Totals,
    threads: String,
    timing: Timing,
}

impl Directory {
    /// Creates the directory, which must be empty or not exist, with the names of all methods.
    pub(crate) fn create(options: &Options, id_count: u32) -> io::Result<Self> {
        let path = options.dir.clone();
        DirBuilder::new().recursive(true).create(&path)?;
        if fs::read_dir(&path)?.next().is_some() {
            let error = "the directory is not empty";
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, error));
        }
        let totals = Totals { methods: id_count.into(), ..Totals::default() };
        let tick = |period_ns| Timing::Sampled { period: Duration::from_nanos(period_ns) };
        let timing = options.clock.map_or(Timing::Off, tick);
        let (seed, threads) = (options.seed, String::new());
        let directory = Self { path, seed, totals, threads, timing };
        directory.write_methods(id_count)?;
        Ok(directory)
    }

    fn write_methods(&self, id_count: u32) -> io::Result<()> {
        let create = |name| File::create_new(self.path.join(name)).map(BufWriter::new);
        let (mut ids, mut methods) = (create(names::IDS)?, create(names::METHODS)?);
        for number in 0..id_count {
            let line = MethodLine { id: id(number), method: method(number) };
            let info = &line.method;
            let mut text = String::new();
            let key = ids::key(&info.class, &info.name, &info.descriptor);
            ids::encode_line(&key, line.id, &mut text);
            ids.write_all(text.as_bytes())?;
            serde_json::to_writer(&mut methods, &line)?;
            methods.write_all(b"\n")?;
        }
        ids.flush()?;
        methods.flush()
    }

    /// The file with the events of the thread of this number, which counts from 0.
    pub(crate) fn thread_file(&self, thread: u64) -> PathBuf {
        self.path.join(names::thread_file(ThreadId::new(thread + 1), EventFormat::Binary))
    }

    /// The file with its marks.
    pub(crate) fn marks_file(&self, thread: u64) -> PathBuf {
        self.thread_file(thread).with_extension(names::MARKS_EXTENSION)
    }

    /// Adds a thread that was written.
    pub(crate) fn add(&mut self, written: Written) {
        self.totals.threads += 1;
        self.totals.enters += written.enters;
        self.totals.exits += written.exits;
        self.totals.bytes += written.bytes;
        let id = ThreadId::new(self.totals.threads);
        let name = match id.get() {
            1 => "main".to_owned(),
            number => format!("worker-{number}"),
        };
        let lines = [
            ThreadLine::Start { id, name, daemon: false, is_virtual: false, at_ns: 0 },
            ThreadLine::End { id, at_ns: written.enters * CALL_NS, cpu_ns: None },
        ];
        for line in lines {
            let text = serde_json::to_string(&line).expect("plain fields");
            writeln!(self.threads, "{text}").expect("a string takes all");
        }
    }

    /// The manifest comes last, because a directory without one is incomplete.
    pub(crate) fn finish(self) -> io::Result<()> {
        fs::write(self.path.join(names::THREADS), &self.threads)?;
        let manifest = Manifest {
            format_version: VERSION,
            tool: concat!("flow-codec generate ", env!("CARGO_PKG_VERSION")).to_owned(),
            engine: "instrument".to_owned(),
            event_format: EventFormat::Binary.name().to_owned(),
            timing: self.timing,
            order: Order::Time,
            own: Vec::new(),
            options: [("seed".to_owned(), self.seed.to_string())].into(),
            id: None,
            pid: 1,
            host: "none".to_owned(),
            command: vec!["generate".to_owned()],
            jvm: Jvm { name: "none".into(), version: "0".into(), home: "/".into() },
            session: None,
            earlier: None,
            journal: None,
            spill: None,
            durability: None,
            start_unix_ns: 1_700_000_000_000_000_000,
            snapshot: None,
            end: Some(End {
                at_ns: self.totals.enters * CALL_NS,
                totals: self.totals,
                ..End::default()
            }),
        };
        let text = serde_json::to_string_pretty(&manifest)?;
        fs::write(self.path.join(names::MANIFEST), text + "\n")
    }
}

fn id(number: u32) -> MethodId {
    MethodId::new(number.into()).expect("32 bits are few")
}

fn method(number: u32) -> MethodInfo {
    let class = number / METHODS_A_CLASS;
    MethodInfo {
        class: format!("com.example.part{}.Class{class}", class / 40),
        name: format!("method{number}"),
        descriptor: "(ILjava/lang/String;)V".to_owned(),
        source: Some(format!("Class{class}.java")),
        line: Some(10 + 20 * (number % METHODS_A_CLASS)),
        loader: "app".to_owned(),
        flags: flag_names(PUBLIC),
        ..MethodInfo::default()
    }
}
