//! `flow record`: runs a command and records the JVMs it starts.
//!
//! ```text
//! flags ─▶ agent (library, option string) ─▶ child (command line, signals) ─▶ summary (on stderr)
//! ```

mod agent;
mod child;
mod summary;

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use self::agent::AgentOptions;
use self::summary::Summary;
use crate::args::{DEFAULT_DIR, EventFormat, RecordArgs};
use crate::failure::{Failure, Status};

/// Runs the verb.
pub(crate) fn run(args: &RecordArgs) -> Result<Status, Failure> {
    let library = agent::library(args.agent.as_deref())?;
    let out = match (&args.out, std::env::var_os("FLOW_OUT")) {
        (Some(out), _) => out.clone(),
        // The agent would take it from there; the option string, which goes first, must not hide it.
        (None, Some(out)) if !out.is_empty() => PathBuf::from(out),
        (None, _) => PathBuf::from(DEFAULT_DIR),
    };
    let pattern = absolute_pattern(&out)?;
    let options = options(args, &pattern)?.encode()?;
    let agent = agent::argument(&library, &options)?;
    let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (pid, status) = child::run(&args.command, &agent, started)?;
    let summary = Summary::of(&out, &pattern, started, pid);
    summary.tell();
    Ok(Status::Command(status))
}

fn options(args: &RecordArgs, out: &str) -> Result<AgentOptions, Failure> {
    let mut options = AgentOptions::default();
    options.add("out", out)?;
    for (key, values, separator) in [
        ("target", &args.target, "+"),
        ("include", &args.include, ";"),
        ("exclude", &args.exclude, ";"),
    ] {
        if !values.is_empty() {
            options.add(key, &values.join(separator))?;
        }
    }
    if args.no_constructors {
        options.add("constructors", "false")?;
    }
    if args.natives {
        options.add("natives", "true")?;
    }
    let format = args.event_format.map(|format| match format {
        EventFormat::Binary => "binary".to_owned(),
        EventFormat::Jsonl => "jsonl".to_owned(),
    });
    for (key, value) in
        [("engine", &args.engine), ("format", &format), ("chunk", &args.chunk), ("log", &args.log)]
    {
        if let Some(value) = value {
            options.add(key, value)?;
        }
    }
    // Absolute: a build tool may start its JVMs in another directory.
    for (key, path) in [("ids", &args.ids), ("optimize", &args.optimize), ("config", &args.config)]
    {
        if let Some(path) = path {
            options.add(key, as_text(&absolute(path)?)?)?;
        }
    }
    for (key, value) in &args.options {
        if key == "out" {
            return Err(Failure::Usage("-O out=…: use --out instead".to_owned()));
        }
        options.add(key, value)?;
    }
    Ok(options)
}

/// The `out` option: absolute, and with `%` expanded by the agent only where the user wrote it.
fn absolute_pattern(out: &Path) -> Result<String, Failure> {
    if out.as_os_str().is_empty() {
        return Err(Failure::Usage("--out: expected a directory".to_owned()));
    }
    let absolute = absolute(out)?;
    let absolute = as_text(&absolute)?;
    if out.is_absolute() {
        return Ok(absolute.to_owned());
    }
    let current = std::env::current_dir().unwrap_or_default();
    Ok(match absolute.strip_prefix(as_text(&current)?) {
        Some(relative) => as_text(&current)?.replace('%', "%%") + relative,
        None => absolute.to_owned(),
    })
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path)
        .map_err(|error| Failure::Failed(format!("{}: {error}", path.display())))
}

fn as_text(path: &Path) -> Result<&str, Failure> {
    path.to_str().ok_or_else(|| {
        Failure::Failed(format!(
            "{}: not valid UTF-8, which options of the agent must be; use another path",
            path.display()
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn out_becomes_absolute_and_keeps_its_placeholders() {
        assert_eq!(absolute_pattern(Path::new("/tmp/t-%p")).unwrap(), "/tmp/t-%p");
        let relative = absolute_pattern(Path::new("t-%p")).unwrap();
        assert!(relative.starts_with('/') && relative.ends_with("/t-%p"), "{relative}");
        assert!(absolute_pattern(Path::new("")).is_err());
    }
}
