//! A call as a person names it.

use std::fmt;
use std::str::FromStr;

use flow_codec::ThreadId;

use crate::Error;

/// A call by its thread and its number there, as lists of calls show it: `22:1082`, or `1,082 in 22 pool-1`.
///
/// ```
/// use flow_query::select::CallPlace;
///
/// let call: CallPlace = "22:1082".parse()?;
/// assert_eq!(call, "1,082 in 22 pool-1".parse()?);
/// assert_eq!(call.to_string(), "22:1082");
/// # Ok::<(), flow_query::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallPlace {
    thread: ThreadId,
    number: u64,
}

impl CallPlace {
    /// The call with this number in a thread.
    #[must_use]
    pub fn new(thread: ThreadId, number: u64) -> Self {
        Self { thread, number }
    }

    /// The thread.
    #[must_use]
    pub fn thread(self) -> ThreadId {
        self.thread
    }

    /// The number of the call in it.
    #[must_use]
    pub fn number(self) -> u64 {
        self.number
    }
}

impl FromStr for CallPlace {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let number = |digits: &str| digits.replace(['_', ','], "").parse().ok();
        let thread = |words: &str| words.split(' ').next()?.parse().ok().map(ThreadId::new);
        let place = match text.split_once(" in ") {
            Some((digits, words)) => number(digits).zip(thread(words)),
            None => text.split_once(':').and_then(|(id, digits)| number(digits).zip(thread(id))),
        };
        let (number, thread) = place.ok_or_else(|| {
            Error::Text(format!("expected a call as THREAD:NUMBER, such as 1:82, found '{text}'"))
        })?;
        Ok(Self { thread, number })
    }
}

impl fmt::Display for CallPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.thread, self.number)
    }
}
