//! Opens a thread in the background, because without an index and shapes all events of a large one must be read.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use flow_codec::Error;
use flow_codec::parallel::BytesRead;
use flow_codec::read::{Selection, ThreadFile};
use flow_query::tree::{LazyTree, SelectedTree};

use crate::input::place::From;

/// A thread that is being opened.
pub(super) struct Opening {
    /// Its place among all threads.
    pub(super) thread: usize,
    /// How many bytes were read.
    pub(super) read: Arc<BytesRead>,
    pub(super) tree: Receiver<Result<SelectedTree, Error>>,
    /// Where to go then.
    pub(super) then: Option<From>,
}

impl Opening {
    /// Begins to open the selected calls of a thread. If nobody waits for it any more, it is opened for nothing.
    pub(super) fn begin(
        thread: usize,
        file: &ThreadFile,
        selection: Selection,
        then: Option<From>,
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
