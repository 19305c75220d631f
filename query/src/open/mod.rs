//! Opens traces: a directory, a file, a folder with those of several JVMs, a folder of recordings, or a log of samples.

mod call;
mod locate;
mod lock;
mod logs;
mod missing;
mod paths;
mod recordings;
mod request;
mod state;
mod traces;
mod words;

pub use self::call::SelectedCall;
pub use self::locate::{Chosen, Located, locate};
pub use self::lock::{Lock, is_open, is_recording, take_lock};
pub use self::logs::is_log;
pub use self::missing::Missing;
pub use self::paths::{further_among, is_container_name};
pub use self::recordings::{Newest, RecordedRun, Recordings, is_named_by_start, recording_name};
pub(crate) use self::request::{
    ContextSpans, LinkedPart, LinkedValue, Links, PartOf, hand_overs_if_recorded, read_contexts,
    recorded_contexts,
};
pub use self::request::{GivenBy, Request, RequestPart};
pub use self::state::State;
pub use self::traces::Traces;
pub use self::words::{
    foreign_files, lost, missing_text, unmatched, without_journal, without_names,
};
