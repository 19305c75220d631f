//! The source tree: where it is, and how its programs are built.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use crate::base::failure::{Context, Failure, Result};
use crate::base::process::{output_of, run};

/// The source tree. While it is in use, its root is the working directory.
#[derive(Debug)]
pub(crate) struct Project {
    /// Where cargo puts what it builds.
    pub(crate) target: PathBuf,
}

impl Project {
    /// Finds the source tree of this program and makes it the working directory. Paths from the command
    /// line must be absolute before.
    ///
    /// # Errors
    ///
    /// If the tree is gone, or cargo does not know it.
    pub(crate) fn enter() -> Result<Self> {
        // Of `cargo run`; or, if the program is run without it, where it was compiled.
        let own =
            env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
        let root = Path::new(&own).parent().unwrap_or(Path::new("/"));
        env::set_current_dir(root).context(root.display())?;
        let metadata = output_of(Command::new("cargo").args([
            "metadata",
            "--format-version",
            "1",
            "--no-deps",
            "--offline",
        ]))?;
        let metadata: serde_json::Value =
            serde_json::from_str(&metadata).context("cargo metadata")?;
        let target = metadata["target_directory"].as_str();
        let target = target
            .ok_or_else(|| Failure::Failed("cargo metadata: no target_directory".to_owned()))?;
        Ok(Self { target: target.into() })
    }

    /// Returns a directory of that name below the target directory, made if necessary.
    ///
    /// # Errors
    ///
    /// If it cannot be made.
    pub(crate) fn work_dir(&self, name: &str) -> Result<PathBuf> {
        let dir = self.target.join(name);
        fs::create_dir_all(&dir).context(dir.display())?;
        Ok(dir)
    }
}

/// Builds with cargo, what is selected by the arguments. With `--package`, cargo builds all dependencies with the features
/// that this package needs, with `--workspace` with those that all need, as the tests do: choose that, and then
/// what is needed, such as `--bin`. Only what is measured is built with `--package`, as releases are.
///
/// # Errors
///
/// If the build fails.
pub(crate) fn build<const N: usize>(arguments: [&str; N]) -> Result<()> {
    run(Command::new("cargo").args(["build", "--quiet"]).args(arguments))
}

/// Returns which build of this source is measured, for the lines below a table.
pub(crate) fn revision() -> String {
    let git =
        |arguments: &[&str]| Command::new("git").args(arguments).stderr(Stdio::null()).output();
    let head = git(&["rev-parse", "--short", "HEAD"]).ok().filter(|output| output.status.success());
    let Some(head) = head else { return "flow without history".to_owned() };
    let head = String::from_utf8_lossy(&head.stdout).trim().to_owned();
    let is_clean = git(&["diff", "--quiet", "HEAD"]).is_ok_and(|output| output.status.success());
    format!("flow {head}{}", if is_clean { "" } else { " with changes" })
}

/// Makes a path of the command line independent of the working directory.
///
/// # Errors
///
/// If it is empty, or the working directory is gone.
pub(crate) fn absolute(path: &str) -> Result<PathBuf> {
    std::path::absolute(path).context(path)
}

/// Returns the paths of what is in a directory, sorted by name.
///
/// # Errors
///
/// If it cannot be read.
pub(crate) fn entries_of(dir: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(dir).context(dir.display())?;
    let entries = entries.map(|entry| entry.map(|entry| entry.path()).context(dir.display()));
    let mut paths = entries.collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}
