//! What follows from events: readers store it for the next one, or compare by it.

pub mod baseline;
pub mod dag;
pub mod index;
pub mod of_events;
pub mod shape_name;
pub mod test_lock;
