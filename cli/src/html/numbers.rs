//! Numbers and boxes as the script of the page reads them; [`data`](super::data) describes the arrays.

use super::charts::chart::{ChartBox, Kind};
use super::names::PageMethods;

/// The largest number that JavaScript represents exactly.
const MAX: u64 = (1 << 53) - 1;

/// Encodes boxes as numbers.
pub(super) fn flat_boxes(boxes: &[ChartBox], names: &PageMethods) -> Vec<i64> {
    let mut flat = Vec::with_capacity(5 * boxes.len());
    // For each depth, the end of the last box, or the start of the box around it.
    let mut next = vec![0];
    for cell in boxes {
        let up = next.len().saturating_sub(cell.depth + 1);
        next.truncate(cell.depth + 1);
        let place = names.place(cell.method).map(i64::from);
        let method = match cell.kind {
            Kind::Call => place.unwrap_or(names.unnamed().into()),
            Kind::More => -2 - place.unwrap_or(-1),
        };
        let begin = next.last().copied().unwrap_or(0);
        let width = cell.end.saturating_sub(cell.at);
        let calls = if cell.calls == width { 0 } else { cell.calls };
        let up = i64::try_from(up).unwrap_or(i64::MAX);
        flat.extend([up, method, exact(cell.at.saturating_sub(begin)), exact(width), exact(calls)]);
        if let Some(next) = next.last_mut() {
            *next = cell.end;
        }
        next.push(cell.at);
    }
    flat
}

/// A number that a script reads exactly.
pub(super) fn exact(number: u64) -> i64 {
    i64::try_from(number.min(MAX)).unwrap_or(i64::MAX)
}
