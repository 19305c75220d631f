//! Positions in a thread, as given to `--from`.

use std::fmt;
use std::str::FromStr;

use flow_codec::{Glob, ThreadId};

use super::flags::ThreadArgs;
use crate::output::{grouped, instant};
use flow_query::select::{CallPlace, nanoseconds};

/// The value of `--from`.
#[derive(Clone, Debug)]
pub(crate) enum From {
    /// The call of this number in its thread, from 0.
    Call(u64),
    /// The call of this number in the thread with this id.
    CallIn(u64, ThreadId),
    /// The event of this number in its thread, from 0: entries and exits count alike.
    Event(u64),
    /// The first record at this offset, or after it.
    Offset(u64),
    /// The last time mark at or before this time, in nanoseconds since the start of the trace.
    Time(u64),
    /// The first call that matches the last of these patterns, below one that matches the one before, and so
    /// on.
    Path(Vec<Glob>),
}

impl FromStr for From {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || {
            format!(
                "expected a number, event:N, offset:N, a time such as 1.5s or a pattern such as \
                 pkg.Class#method, found '{text}'"
            )
        };
        let number = |digits: &str| digits.replace(['_', ','], "").parse().map_err(|_| expected());
        if let Ok(place) = text.parse::<CallPlace>() {
            return Ok(Self::CallIn(place.number(), place.thread()));
        }
        match text.split_once(':') {
            Some(("call", digits)) => Ok(Self::Call(number(digits)?)),
            Some(("event", digits)) => Ok(Self::Event(number(digits)?)),
            Some(("offset", digits)) => Ok(Self::Offset(number(digits)?)),
            _ if text.starts_with(|c: char| c.is_ascii_digit()) => match nanoseconds(text) {
                Ok(at_ns) => Ok(Self::Time(at_ns)),
                Err(_) => Ok(Self::Call(number(text)?)),
            },
            _ => {
                // The names of constructors and static initialisers end with this character too.
                let names =
                    text.replace("<init>", "<init\u{0}").replace("<clinit>", "<clinit\u{0}");
                let parts = names.split('>').map(|part| part.trim().replace('\u{0}', ">"));
                // Names may contain colons, but this is the form of the numbers above.
                let is_word = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphabetic());
                let is_number = text.split_once(':').is_some_and(|(word, _)| is_word(word));
                if is_number || parts.clone().any(|part| part.is_empty()) {
                    return Err(expected());
                }
                Ok(Self::Path(parts.map(|part| Glob::new(&part)).collect()))
            }
        }
    }
}

impl fmt::Display for From {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call(number) => write!(f, "call {}", grouped(*number)),
            Self::CallIn(number, thread) => write!(f, "call {} in {thread}", grouped(*number)),
            Self::Event(number) => write!(f, "event {}", grouped(*number)),
            Self::Offset(offset) => write!(f, "offset {offset}"),
            Self::Time(at_ns) => write!(f, "event at {}", instant(*at_ns)),
            Self::Path(_) => f.write_str("such call"),
        }
    }
}

impl From {
    /// If the position has a thread, selects that thread as --thread does, and keeps only the number of the call.
    pub(crate) fn choose_thread(from: &mut Option<Self>, threads: &mut ThreadArgs) {
        if let Some(Self::CallIn(number, thread)) = *from {
            *threads = ThreadArgs { patterns: vec![thread.to_string()] };
            *from = Some(Self::Call(number));
        }
    }

    /// Returns whether it is a number, which means something else in each thread.
    pub(crate) fn is_number(&self) -> bool {
        !matches!(self, Self::Path(_) | Self::Time(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_paths_are_distinguished() {
        assert!(matches!("900_000".parse(), Ok(From::Call(900_000))));
        assert!(matches!("call:7".parse(), Ok(From::Call(7))));
        for text in ["1,082 in 22 pool-1", "1_082 in 22", "22:1082"] {
            let thread = ThreadId::new(22);
            assert!(matches!(text.parse(), Ok(From::CallIn(1_082, id)) if id == thread), "{text}");
        }
        assert!(matches!("event:1,024".parse(), Ok(From::Event(1024))));
        assert!(matches!("offset:12".parse(), Ok(From::Offset(12))));
        assert!(matches!("a.B#m > **#n".parse(), Ok(From::Path(path)) if path.len() == 2));
        assert!(matches!("1.5s".parse(), Ok(From::Time(1_500_000_000))));
        // Names may have colons.
        assert!(matches!("a.B#it: works".parse(), Ok(From::Path(path)) if path.len() == 1));
        for bad in ["12x", "event:x", "offset:", "", "a >", "> a", "time:1.5s"] {
            assert!(bad.parse::<From>().is_err(), "{bad}");
        }
    }
}
