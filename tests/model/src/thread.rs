//! A thread: its files and its open chunk together.

use std::collections::BTreeMap;

use crate::flow::{Event, decode_canonical, encode};
use crate::journal::{OpenChunk, Tick};
use crate::marks::{Mark, decode_marks};

/// Reads the `.flow` file and the marks file of a thread, and its open chunks if it has any. Returns the events, and the
/// marks, each with the number of events before it.
///
/// # Panics
/// They are not as flow writes them, or contradict each other.
#[must_use]
pub fn read_thread(
    file: &[u8],
    marks: &[u8],
    chunks: Option<&BTreeMap<usize, OpenChunk>>,
) -> (Vec<Event>, Vec<(usize, Mark)>) {
    let Some((chunk, waiting)) = chunks.and_then(|chunks| last_and_waiting(file, chunks)) else {
        let events = decode_canonical(file);
        let marks = decode_marks(marks, &events, file);
        return (events, marks);
    };
    let file = &waiting;
    assert!(chunk.offset <= file.len(), "{} bytes are not in the file", chunk.offset);
    let (file, after) = file.split_at(chunk.offset);
    let chunk_events: Vec<Event> = chunk.events.iter().map(|event| event.event).collect();
    // The thread may have died after it wrote the chunk to its file, or while it did. Exits at the end are held back.
    let last_enter = chunk_events.iter().rposition(|event| *event != Event::Exit);
    let without_exits = &chunk_events[..last_enter.map_or(0, |last| last + 1)];
    assert!(
        [without_exits, &chunk_events].iter().any(|events| encode(events).starts_with(after)),
        "what the file has after offset {} is not in the chunk",
        chunk.offset
    );
    let mut events = decode_canonical(file);
    let first = events.len();
    events.extend(chunk_events);

    assert!(chunk.marks_offset <= marks.len(), "{} bytes of marks are missing", chunk.marks_offset);
    let marks = [&marks[..chunk.marks_offset], &chunk.pending_marks].concat();
    let mut marks = decode_marks(&marks, &events, file);
    for tick in &chunk.ticks {
        let Tick { by_ns, from_ns, ran_us, .. } = *tick;
        let mark = match tick.is_stacks {
            true => Mark::Stacks(by_ns, from_ns),
            false => Mark::Time { by_ns, from_ns, ran_us },
        };
        marks.push((first + tick.events, mark));
    }
    let is_numbered = chunk.events.iter().any(|event| event.number.is_some());
    marks.extend(chunk.details.iter().map(|(before, detail)| (first + before, (*detail).into())));
    for (event, known) in (first..).zip(&chunk.events) {
        // Exits that the chunk before held back have a mark there.
        if is_numbered && event >= first + chunk.held {
            marks.push((event, Mark::Order(known.number)));
        }
        if let Some(time) = known.time {
            marks.push((event, Mark::Instant(time - chunk.zero_ns)));
        }
        if let Some(class) = known.class {
            marks.push((event, Mark::Thrown(class)));
        }
        if known.is_unwound {
            marks.push((event, Mark::Unwound { exits: 1, class: String::new() }));
        }
    }
    (events, marks)
}

/// The last chunk, and the file with the chunks before it that wait to be written.
fn last_and_waiting<'a>(
    file: &[u8],
    chunks: &'a BTreeMap<usize, OpenChunk>,
) -> Option<(&'a OpenChunk, Vec<u8>)> {
    let (_, last) = chunks.last_key_value()?;
    let mut file = file.to_vec();
    for (at, chunk) in chunks.range(..last.offset) {
        // Exits at its end are held back, and begin the next one.
        let last_enter = chunk.events.iter().rposition(|event| event.event != Event::Exit);
        let events = chunk.events.iter().map(|event| event.event);
        let events: Vec<_> = events.take(last_enter.map_or(0, |last| last + 1)).collect();
        let written = file.split_off((*at).min(file.len()));
        let bytes = encode(&events);
        assert!(file.len() == *at, "{at} bytes are not in the file");
        assert!(bytes.starts_with(&written) || written.starts_with(&bytes), "after {at}");
        file.extend(if written.len() > bytes.len() { written } else { bytes });
    }
    Some((last, file))
}
