//! Texts of messages that several verbs print.

pub(super) mod flow_command;
pub(super) mod lines;
pub(super) mod lost;
pub(super) mod remark;
pub(super) mod shell;
pub(super) mod unmatched;
