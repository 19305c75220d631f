//! Opens traces: a directory, a file, a folder with those of several JVMs, or a log of samples.

mod lock;
mod logs;
mod missing;
mod paths;
mod state;
mod traces;
mod words;

pub use self::lock::{Lock, is_open, is_recording, take_lock};
pub use self::logs::is_log;
pub use self::missing::{Missing, is_received, missing_journal};
pub use self::paths::{directories, further_among, is_container_name};
pub use self::state::State;
pub use self::traces::Traces;
pub use self::words::{
    foreign_files, lost, missing_text, unmatched, without_journal, without_names,
};
