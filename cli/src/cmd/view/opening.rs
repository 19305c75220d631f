//! What is opened: the traces, and in the background a thread, and the counts of all threads. Without an index and shapes, all events
//! of a large one must be read.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use flow_codec::Error;
use flow_codec::parallel::BytesRead;
use flow_codec::read::{Selection, ThreadFile};
use flow_query::open::Request;
use flow_query::reading::count_threads;
use flow_query::tree::{LazyTree, SelectedTree};

use super::search::Searching;
use crate::args::{SourceArgs, ViewArgs};
use crate::failure::Failure;
use crate::input::place::From;
use crate::input::source::Source;
use crate::output::{Format, Progress};

/// What is shown.
pub(super) struct Opened {
    /// The traces, with the selected threads and tests only.
    pub(super) source: Source,
    /// The request, or the value of a context, that is shown as one tree, and how it is named.
    pub(super) request: Option<(Request, String)>,
}

impl Opened {
    pub(super) fn open(path: PathBuf, args: &ViewArgs) -> Result<Self, Failure> {
        let format = Format::Text;
        let mut source = Source::open(&SourceArgs { dir: path, format })?;
        let request = source.choose_part_as_tree(&args.part)?;
        Ok(Self { source, request })
    }
}

/// How many threads are counted before the counts are sent.
const AT_ONCE: usize = 256;

/// What follows when a thread is open.
#[derive(Clone, Debug)]
pub(super) enum Then {
    /// The calls of the thread are shown, from a position on.
    Show(Option<From>),
    /// The rows of the thread are added to those of the request that is shown.
    Add,
    /// Adds the rows of the thread to those of the request, then searches it.
    Search(Searching),
}

/// A thread that is being opened.
pub(super) struct Opening {
    /// The place of the thread among all of them.
    pub(super) thread: usize,
    /// How many bytes were read.
    pub(super) read: Arc<BytesRead>,
    pub(super) tree: Receiver<Result<SelectedTree, Error>>,
    pub(super) then: Then,
}

impl Opening {
    /// Begins to open the selected calls of a thread. If nobody waits for it any more, it is opened for nothing.
    pub(super) fn begin(
        thread: usize,
        file: &ThreadFile,
        selection: Selection,
        then: Then,
    ) -> Self {
        let (sender, tree) = channel();
        let read = Arc::new(BytesRead::default());
        let (file, progress) = (file.clone(), Arc::clone(&read));
        thread::spawn(move || {
            let opened = LazyTree::open_shapes_first(&file.whole(), &progress);
            let parts = file.parts();
            let selected =
                opened.and_then(|tree| SelectedTree::new(tree, selection, parts, &progress));
            let _ = sender.send(selected);
        });
        Self { thread, read, tree, then }
    }
}

/// The counts that have not been received yet.
pub(super) struct Counting {
    /// The places of threads among all of them, and how many calls they made.
    pub(super) counts: Receiver<(usize, u64)>,
}

impl Counting {
    /// Begins to count. Ends early if nobody waits for the counts any more.
    pub(super) fn begin(files: Vec<ThreadFile>) -> Self {
        let (sender, counts) = channel();
        thread::spawn(move || {
            let mut places = 0..;
            for files in files.chunks(AT_ONCE) {
                let mut is_wanted = true;
                count_threads(files, &mut Progress::hidden(), |_, counted, _, _| {
                    let place = places.next().unwrap_or(0);
                    is_wanted &= sender.send((place, counted.calls)).is_ok();
                });
                if !is_wanted {
                    break;
                }
            }
        });
        Self { counts }
    }
}
