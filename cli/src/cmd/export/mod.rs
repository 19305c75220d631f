//! `flow export`: a trace in the format of another tool.

mod destination;
mod size;
mod write;

use crate::args::{ExportArgs, Format, SourceArgs};
use crate::export::{Writer, is_binary, writer};
use crate::failure::{Failure, Status};
use crate::input::reading::Chosen;
use crate::input::source::Source;
use crate::input::times::{time_line, weight_of};
use crate::output::{Out, Unit};
use write::Export;

pub(crate) fn run(args: &ExportArgs, out: &mut Out) -> Result<Status, Failure> {
    if args.out.is_none() && out.is_terminal() && is_binary(args.to) && !args.estimate {
        return Err(Failure::Usage("this format is binary: use --out FILE or a pipe".to_owned()));
    }
    let mut source = Source::open(&SourceArgs { dir: args.dir.clone(), format: Format::Text })?;
    source.choose_part(&args.part)?;
    source.report_losses();
    let trace = source.only("export")?;
    let scale = match args.to.is_timeline() {
        true => time_line(args.weight.by(), trace)?,
        false => weight_of(args.weight.by(), trace)?,
    };
    let chosen = Chosen::new(trace, &args.part.filter, &args.when)?;
    let export = Export { args, trace, chosen, scale };
    let status = match writer(args.to, trace, scale) {
        Writer::Timeline(_) if export.is_limited() && scale == Unit::Calls => {
            return Err(Failure::Usage(
                "--time and --min-duration cannot be combined with a timeline by calls".to_owned(),
            ));
        }
        Writer::Timeline(timeline) => export.timeline(timeline, out)?,
        Writer::Paths(format) => export.paths(format, out)?,
    };
    Ok(source.status.and(status))
}
