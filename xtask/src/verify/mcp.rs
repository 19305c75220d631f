//! `xtask verify-mcp`: clients of the protocol ask `flow mcp`.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use clap::Parser;

use super::samples;
use crate::base::failure::{Context, Failure, Outcome, Result};
use crate::base::process::{clean, on_path, run as run_command};
use crate::base::project::{self, Project};
use crate::base::report;

pub(crate) const NAME: &str = "verify-mcp";

/// Asks flow mcp with clients that others wrote: the SDK for Python, in each way to begin a session, and the inspector of the
/// protocol.
///
/// Downloads PyPI and npm packages into target/mcp. What is missing on this machine is named at the end.
///
/// Exit status: 0 all clients that are there got right answers, 1 one did not.
#[derive(Debug, Parser)]
pub(crate) struct VerifyMcpArgs {
    /// Fail, too, if a client is missing
    #[arg(long)]
    strict: bool,
}

/// Ways of the SDK to begin a session: `initialize`, `server/discover` with a version, and what it chooses.
const MODES: [&str; 3] = ["legacy", "2026-07-28", "auto"];

pub(crate) fn run(args: VerifyMcpArgs) -> Result<Outcome> {
    let project = Project::enter()?;
    let work = project.work_dir("mcp")?;
    let folder = work.join("folder");
    let trace = folder.join("flow-trace");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&trace).context(trace.display())?;
    samples::write_small(&trace)?;
    project::build(["--workspace", "--bin", "flow"])?;
    let flow = project.target.join("debug/flow");
    let mut missing = Vec::new();

    report::print("\n== the SDK for Python\n");
    if let Some(python) = python_with_sdk(&work) {
        for mode in MODES {
            let mut session = clean(&python);
            run_command(session.arg("scripts/mcp/session.py").arg(&flow).arg(&folder).arg(mode))?;
        }
    } else {
        missing.push("python3 with the package mcp");
    }

    report::print("\n== the inspector\n");
    if install_inspector(&work) {
        inspect(&work, &flow, &folder)?;
    } else {
        missing.push("npm with the package @modelcontextprotocol/inspector");
    }

    if !missing.is_empty() {
        let missing = missing.join(", ");
        report::print(&format!("\nnot checked, because these are missing: {missing}\n"));
    }
    Ok(Outcome::passed_if(missing.is_empty() || !args.strict))
}

/// Lists the tools, and calls one.
fn inspect(work: &Path, flow: &Path, folder: &Path) -> Result<()> {
    for (method, expected) in [
        (&["tools/list"][..], "who_runs"),
        (&["tools/call", "--tool-name", "report", "--tool-arg", "by=calls"], "a.B.work(int, List)"),
    ] {
        let mut inspector = clean(work.join("node_modules/.bin/mcp-inspector"));
        inspector.arg("--cli").arg(flow).arg("mcp").arg(folder).arg("--method").args(method);
        let output = inspector.stdin(Stdio::null()).output().context("mcp-inspector")?;
        let text = String::from_utf8_lossy(&output.stdout);
        if !text.contains(expected) {
            let error = String::from_utf8_lossy(&output.stderr);
            let words = method.join(" ");
            return Err(Failure::Failed(format!("{words}: no {expected} in {text}{error}")));
        }
        report::print(&format!("{}: {} bytes\n", method.join(" "), text.len()));
    }
    Ok(())
}

/// Returns a Python that has the SDK, if it can be installed.
fn python_with_sdk(work: &Path) -> Option<std::path::PathBuf> {
    let environment = work.join("venv");
    let python = environment.join("bin/python");
    if !succeeds(clean(&python).args(["-c", "import mcp.client.client"])) {
        on_path("python3")?;
        succeeds(clean("python3").args(["-m", "venv"]).arg(&environment)).then_some(())?;
        let mut pip = clean(environment.join("bin/pip"));
        succeeds(pip.args(["--quiet", "install", "mcp==2.3.0"])).then_some(())?;
    }
    Some(python)
}

/// Installs the inspector below a directory. Returns whether that worked.
fn install_inspector(work: &Path) -> bool {
    if work.join("node_modules/.bin/mcp-inspector").exists() {
        return true;
    }
    let mut npm = clean("npm");
    npm.args(["install", "--silent", "--prefix"]).arg(work);
    on_path("npm").is_some() && succeeds(npm.arg("@modelcontextprotocol/inspector@0.15.0"))
}

fn succeeds(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
