//! `flow man`: the manual, made from the help texts.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::args::{Args, ManArgs};
use crate::failure::{Failure, Status};
use crate::output::Out;

pub(crate) fn run(args: &ManArgs, out: &mut Out) -> Result<Status, Failure> {
    // `flow help VERB` is not a verb of its own.
    let mut command = Args::command().disable_help_subcommand(true);
    // This gives the verbs their full names and the global flags.
    command.build();
    match (&args.out, &args.verb) {
        (Some(dir), _) => write_all_pages(&command, dir)
            .map_err(|error| Failure::Failed(format!("{}: {error}", dir.display())))?,
        (None, None) => write_page(&command, out)?,
        (None, Some(verb)) => write_page(find(&command, verb)?, out)?,
    }
    Ok(Status::Done)
}

fn find<'a>(command: &'a Command, verb: &str) -> Result<&'a Command, Failure> {
    command.find_subcommand(verb).ok_or_else(|| {
        let names: Vec<_> = command.get_subcommands().map(Command::get_name).collect();
        Failure::Usage(format!("no verb '{verb}'; there are: {}", names.join(", ")))
    })
}

fn write_all_pages(command: &Command, dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    for page in [command].into_iter().chain(command.get_subcommands()) {
        let name = Man::new(page.clone()).get_filename();
        write_page(page, &mut File::create(dir.join(name))?)?;
    }
    Ok(())
}

/// Writes a page section by section, because [`Man::render`] would join the lines of the examples.
fn write_page(command: &Command, to: &mut dyn Write) -> io::Result<()> {
    let man = Man::new(command.clone())
        .source(concat!("flow ", env!("CARGO_PKG_VERSION")))
        .manual("User Commands");
    man.render_title(to)?;
    man.render_name_section(to)?;
    man.render_synopsis_section(to)?;
    man.render_description_section(to)?;
    man.render_options_section(to)?;
    if command.has_subcommands() {
        man.render_subcommands_section(to)?;
    }
    let Some(help) = command.get_after_help() else { return Ok(()) };
    let mut notes = Roff::new();
    notes.control("SH", ["NOTES"]).control("nf", []);
    for line in help.to_string().lines() {
        notes.text([roman(line)]);
    }
    notes.control("fi", []);
    notes.to_writer(to)
}
