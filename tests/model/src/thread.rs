//! A thread: its files and its open chunk together.

use crate::flow::{Event, decode_canonical, encode};
use crate::journal::OpenChunk;
use crate::marks::{Mark, decode_marks};

/// Reads the `.flow` file and the marks file of a thread, and its open chunk if it has one. Returns the events, and the
/// marks, each with the number of events before it.
///
/// # Panics
/// They are not as flow writes them, or contradict each other.
#[must_use]
pub fn read_thread(
    file: &[u8],
    marks: &[u8],
    chunk: Option<&OpenChunk>,
) -> (Vec<Event>, Vec<(usize, Mark)>) {
    let Some(chunk) = chunk else {
        let events = decode_canonical(file);
        let marks = decode_marks(marks, &events, file);
        return (events, marks);
    };
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
        let mark = Mark::Time { by_ns: tick.by_ns, from_ns: tick.from_ns, ran_us: tick.ran_us };
        marks.push((first + tick.events, mark));
    }
    for (event, known) in (first..).zip(&chunk.events) {
        if let Some(time) = known.time {
            marks.push((event, Mark::Instant(time - chunk.zero_ns)));
        }
        if known.is_unwound {
            marks.push((event, Mark::Unwound { exits: 1, class: String::new() }));
        }
    }
    (events, marks)
}
