//! `flow calls`: calls one by one: as a list, with what is around one, with their values, by shape, the slowest, coroutines, or each
//! as it ends;
//! or what libraries did: statements, requests, messages.

mod around;
mod contexts;
mod coroutines;
mod following;
mod following_contexts;
mod list;
mod operations;
mod slowest;
mod values;
mod ways;

pub(crate) use self::following::run as follow;
use crate::args::{CallsArgs, CallsQuestion};
use crate::failure::{Failure, Status};
use crate::output::Out;

pub(crate) fn run(args: &CallsArgs, out: &mut Out) -> Result<Status, Failure> {
    match args.question()? {
        CallsQuestion::OfPreset(args) => operations::run(&args, out),
        CallsQuestion::Listed(args) => list::run(&args, out),
        CallsQuestion::WithValues(args) => values::run(&args, out),
        CallsQuestion::ByShape(args) => ways::run(&args, out),
        CallsQuestion::Around(args) => around::run(args, out),
        CallsQuestion::Followed(args) => follow(&args, out),
        CallsQuestion::Coroutines(args) => coroutines::run(&args, out),
        CallsQuestion::Contexts(args) => contexts::run(&args, out),
        CallsQuestion::Slowest(args) => slowest::run(&args, out),
    }
}
