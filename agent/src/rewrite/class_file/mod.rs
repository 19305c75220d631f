//! The parts of a class file, and the methods in it, as they are (JVMS §4).

pub(super) mod accessor;
pub(super) mod annotations;
pub(super) mod bridge;
pub(super) mod bytes;
pub(super) mod class;
pub(super) mod code;
pub(super) mod descriptor;
pub(super) mod frames;
pub(super) mod judge;
pub(super) mod kind;
pub(super) mod opcode;
pub(super) mod pool;
mod proxy;
pub(super) mod source_map;
pub(super) mod stack;
