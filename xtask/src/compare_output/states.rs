//! The states in which a trace can be: what readers have stored beside it, and whether it is a directory or a file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::base::failure::{Context, Result};
use crate::base::process::{cannot_run, clean};
use crate::traces::{copy, files_in};

/// The end of the name of a trace in one file.
pub(super) const FILE: &str = ".flowtrace";

/// What is stored beside a trace, or the form of a trace without that.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    Nothing,
    Indexes,
    Shapes,
    /// Indexes and shapes.
    Everything,
    /// One file, made by `flow export --to flowtrace`.
    File,
    /// The file on standard input.
    Stdin,
}

impl State {
    const ALL: [Self; 6] =
        [Self::Nothing, Self::Indexes, Self::Shapes, Self::Everything, Self::File, Self::Stdin];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing stored",
            Self::Indexes => "indexes stored",
            Self::Shapes => "shapes stored",
            Self::Everything => "everything stored",
            Self::File => "one file",
            Self::Stdin => "a file on standard input",
        }
    }

    /// Returns whether the trace has another form.
    pub(super) const fn is_form(self) -> bool {
        matches!(self, Self::File | Self::Stdin)
    }

    /// The word by which a command is given the trace of this name.
    pub(super) fn word(self, main: &str) -> String {
        match self {
            Self::File => format!("{main}{FILE}"),
            Self::Stdin => "-".to_owned(),
            _ => main.to_owned(),
        }
    }

    /// Returns whether a stored file is left out in this state.
    fn is_without(self, path: &Path) -> bool {
        let ending = path.extension().unwrap_or_default().to_string_lossy();
        match self {
            Self::Nothing => ["idx", "dag"].contains(&&*ending),
            Self::Indexes => ending == "dag",
            Self::Shapes => ending == "idx",
            Self::Everything | Self::File | Self::Stdin => false,
        }
    }
}

/// Returns whether a trace is a directory that becomes one file without a change. A journal is not converted; text becomes
/// bytes, whose number `flow info` shows; and of several JVMs each becomes a file of its own.
fn becomes_one_file(trace: &Path) -> bool {
    let is_changed = |file: &PathBuf| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let is_text = name.starts_with("thread-") && name.ends_with(".jsonl");
        name == "journal" || is_text || file.components().count() > 1
    };
    trace.is_dir() && files_in(trace).is_ok_and(|files| !files.iter().any(is_changed))
}

/// Makes a copy of a folder with a trace for each state, below `to`. Nothing is stored of a small trace; and only some have
/// other forms.
pub(super) fn prepare(
    flow: &Path,
    folder: &Path,
    main: &str,
    to: &Path,
) -> Result<Vec<(State, PathBuf)>> {
    let place = |state: State| to.join(state.name());
    for state in State::ALL {
        let _ = fs::remove_dir_all(place(state));
    }
    let mut states = vec![(State::Nothing, place(State::Nothing))];
    copy(folder, &place(State::Nothing))?;
    let everything = place(State::Everything);
    copy(folder, &everything)?;
    // A damaged trace has indexes of its other threads.
    run(flow, &["check", "--index", main], &everything)?;
    let files = |state: State| files_in(&place(state));
    if files(State::Nothing)? != files(State::Everything)? {
        for state in [State::Indexes, State::Shapes] {
            copy(&everything, &place(state))?;
            for path in files(state)?.iter().filter(|path| state.is_without(path)) {
                let path = place(state).join(path);
                fs::remove_file(&path).context(path.display())?;
            }
            // What is stored of a trace in one file is in one file, too.
            if files(state)? != files(State::Nothing)? && files(state)? != files(State::Everything)?
            {
                states.push((state, place(state)));
            }
        }
        states.push((State::Everything, everything));
    } else if becomes_one_file(&folder.join(main)) {
        let file = place(State::File);
        copy(folder, &file)?;
        run(flow, &["export", "--to", "flowtrace", main, "-o", &State::File.word(main)], &file)?;
        fs::remove_dir_all(file.join(main)).context(main)?;
        states.extend([(State::File, file.clone()), (State::Stdin, file)]);
    }
    Ok(states)
}

fn run(flow: &Path, arguments: &[&str], folder: &Path) -> Result<()> {
    let mut command = clean(flow);
    command.args(arguments).current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().map(|_| ()).map_err(|error| cannot_run(&command, &error))
}
