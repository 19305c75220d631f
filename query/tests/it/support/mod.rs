//! Naive models for comparison, and what the tests of the codec have too. The fuzz targets compile them.

pub(crate) mod calls;
#[path = "../../../../codec/tests/it/support/limited.rs"]
pub(crate) mod limited;
#[path = "../../../../codec/tests/it/support/marked.rs"]
pub(crate) mod marked;
#[path = "../../../../codec/tests/it/support/pieces.rs"]
pub(crate) mod pieces;
#[path = "../../../../codec/tests/it/support/readers.rs"]
pub(crate) mod readers;
pub(crate) mod times;
