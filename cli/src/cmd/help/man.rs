//! `flow help man`: the manual, made from the help texts.

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
    let mut command = Args::command();
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

/// Writes the page of a command. That of flow itself has those of all verbs in it.
fn write_page(command: &Command, to: &mut dyn Write) -> io::Result<()> {
    let man = man(command);
    man.render_title(to)?;
    man.render_name_section(to)?;
    write_sections(command, to)?;
    for verb in command.get_subcommands() {
        let mut page = Vec::new();
        write_sections(verb, &mut page)?;
        let title = format!("flow {}", verb.get_name()).to_uppercase();
        Roff::new().control("SH", [title.as_str()]).to_writer(to)?;
        // Its sections are parts of one here.
        let page = String::from_utf8_lossy(&page).replace("\n.SH ", "\n.SS ");
        to.write_all(page.as_bytes())?;
    }
    Ok(())
}

fn man(command: &Command) -> Man {
    Man::new(command.clone())
        .source(concat!("flow ", env!("CARGO_PKG_VERSION")))
        .manual("User Commands")
}

/// Writes what a command does section by section, because [`Man::render`] would join the lines of the examples.
fn write_sections(command: &Command, to: &mut dyn Write) -> io::Result<()> {
    let man = man(command);
    man.render_synopsis_section(to)?;
    man.render_description_section(to)?;
    man.render_options_section(to)?;
    if command.has_subcommands() {
        man.render_subcommands_section(to)?;
    }
    let help = command.get_after_long_help().or_else(|| command.get_after_help());
    let Some(help) = help else { return Ok(()) };
    let mut notes = Roff::new();
    notes.control("SH", ["NOTES"]);
    let mut is_list = false;
    for line in help.to_string().lines() {
        // Examples are lists of lines, all else is paragraphs.
        let is_item = line.starts_with(' ');
        if is_item != std::mem::replace(&mut is_list, is_item) {
            notes.control(if is_item { "nf" } else { "fi" }, []);
        }
        match line {
            "" => notes.control("PP", []),
            line => notes.text([roman(line)]),
        };
    }
    if is_list {
        notes.control("fi", []);
    }
    notes.to_writer(to)
}
