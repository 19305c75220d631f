//! `flow calls`: calls one by one: as a list (`find`), with their values (`grep`), by shape, or the slowest.

mod find;
mod grep;
mod shapes;
mod slowest;

use crate::args::{CallsArgs, CallsQuestion};
use crate::failure::{Failure, Status};
use crate::output::Out;

pub(crate) fn run(args: &CallsArgs, out: &mut Out) -> Result<Status, Failure> {
    match args.question()? {
        CallsQuestion::Listed(args) => find::run(&args, out),
        CallsQuestion::WithValues(args) => grep::run(&args, out),
        CallsQuestion::ByShape(args) => shapes::run(&args, out),
        CallsQuestion::Slowest(args) => slowest::run(&args, out),
    }
}
