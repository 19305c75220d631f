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

pub use self::missing::Missing;
pub use self::recordings::{Newest, RecordedRun, Recordings};
pub(crate) use self::request::{
    ContextSpans, LinkedPart, LinkedValue, Links, PartOf, hand_overs_if_recorded, read_contexts,
    recorded_contexts,
};
pub use self::request::{Request, RequestPart};
pub use self::state::State;
pub use self::traces::Traces;
pub use self::words::missing_text;

#[cfg(unix)]
#[doc(hidden)]
pub use self::lock::{Lock, take_lock};
#[doc(hidden)]
pub use self::{
    call::SelectedCall,
    locate::{Chosen, Located, locate},
    lock::{is_open, is_recording},
    logs::is_log,
    paths::{further_among, is_container_name},
    recordings::{is_named_by_start, recording_name},
    request::GivenBy,
    words::{foreign_files, lost, unmatched, without_journal, without_names},
};
