//! `xtask verify-html`: opens pages in a headless Chromium and checks what they show and do.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Parser;

use super::samples;
use crate::base::failure::{Context, Failure, Outcome, Result};
use crate::base::process::{clean, on_path, output_of, run as run_command};
use crate::base::project::{self, Project, absolute};
use crate::base::report;

pub(crate) const NAME: &str = "verify-html";

/// Opens pages of `flow report --html` and `flow diff --html` in a headless Chromium, and checks what they show and do.
///
/// Makes traces: a small one, one of 20 million calls, one whose names try to become code, one of a call with a million
/// others in it, one of 100,000 nested calls, and one of threads that hand something to each other; and another one to compare. Checks the calls that a page
/// unfolds against `flow replay`. Screenshots go to target/html/. What is missing is installed in target/browser/, from npm.
///
/// Environment: CHROMIUM, the browser (chromium, chromium-browser or google-chrome on the PATH).
///
/// Exit status: 0 all pages are right, 1 one is not, 2 Node.js is missing.
#[derive(Debug, Parser)]
pub(crate) struct VerifyHtmlArgs {
    /// A trace whose page is checked too, though less of it
    #[arg(value_name = "DIR", value_parser = absolute)]
    trace: Option<PathBuf>,
}

pub(crate) fn run(args: VerifyHtmlArgs) -> Result<Outcome> {
    let project = Project::enter()?;
    if on_path("node").is_none() {
        return Err(Failure::Usage("Node.js is missing".to_owned()));
    }
    let (work, tools) = (project.work_dir("html")?, project.work_dir("browser")?);
    if !tools.join("node_modules/playwright-core").is_dir() {
        npm_install(&tools, "playwright-core@1")?;
    }
    let chromium = find_chromium(&tools)?;
    project::build(["--workspace", "--bin", "flow"])?;
    let flow = project.target.join("debug/flow");

    report::print("\n== traces\n");
    for name in ["small", "hostile", "wide", "deep", "changed", "handed"] {
        let dir = work.join(name);
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir(&dir).context(dir.display())?;
    }
    samples::write_small(&work.join("small"))?;
    samples::write_hostile(&work.join("hostile"))?;
    samples::write_wide(&work.join("wide"), &[])?;
    samples::write_wide(&work.join("changed"), &[0x83, 0x00, 0x81, 0x82, 0x01])?;
    samples::write_deep(&work.join("deep"))?;
    samples::write_handed(&work.join("handed"))?;
    let large = work.join("large");
    if !large.is_dir() {
        project::build(["--release", "--package", "flow-codec", "--example", "generate"])?;
        let mut generate = Command::new(project.target.join("release/examples/generate"));
        run_command(generate.args(["--calls", "20M", "--threads", "3"]).arg(&large))?;
    }

    let made = [
        ("small", "all"),
        ("large", "all"),
        ("hostile", "all"),
        ("wide", "calls"),
        ("deep", "calls"),
        ("handed", "all"),
    ];
    let mut traces = made.map(|(name, what)| (name, work.join(name), what)).to_vec();
    traces.extend(args.trace.map(|dir| ("given", dir, "all")));
    for (name, dir, what) in traces {
        report::print(&format!("\n== {name}\n"));
        let mut page = clean(&flow);
        page.args(["report", "--html"]).arg(work.join(format!("{name}.html")));
        run_command(page.arg(&dir))?;
        for verb in ["report", "info"] {
            let file = work.join(format!("{name}.{verb}"));
            let out = fs::File::create(&file).context(file.display())?;
            let mut rows = clean(&flow);
            run_command(rows.args([verb, "--format", "json"]).arg(&dir).stdout(out))?;
        }
        verify(&tools, &chromium, [&work, Path::new(name), &flow, &dir, Path::new(what)])?;
    }
    for (name, selection) in [("handed", &[][..]), ("request", &["--request", "1:1"])] {
        report::print(&format!("\n== {name}, as one tree\n"));
        let dir = work.join("handed");
        let mut page = clean(&flow);
        page.args(["report", "--html"]).arg(work.join(format!("{name}.html")));
        run_command(page.args(selection).arg(&dir))?;
        verify(&tools, &chromium, [&work, Path::new(name), &flow, &dir, Path::new("parts")])?;
    }
    report::print("\n== diff\n");
    let mut page = clean(&flow);
    page.args(["diff", "--exact", "--html"]).arg(work.join("diff.html"));
    run_command(page.args(["wide", "changed"].map(|name| work.join(name))))?;
    let (diff, changed) = (Path::new("diff"), work.join("changed"));
    verify(&tools, &chromium, [&work, diff, &flow, &changed, diff])?;
    Ok(Outcome::Passed)
}

/// Checks a page in the browser: where it is, its name, flow, the trace, and what is checked.
fn verify(tools: &Path, chromium: &str, of: [&Path; 5]) -> Result<()> {
    let mut node = clean("node");
    node.env("NODE_PATH", tools.join("node_modules"));
    run_command(node.arg("scripts/html/verify.cjs").arg(chromium).args(of))
}

/// Returns the browser of this machine, or installs one.
fn find_chromium(tools: &Path) -> Result<String> {
    if let Some(named) = env::var_os("CHROMIUM").filter(|named| !named.is_empty()) {
        return Ok(named.to_string_lossy().into_owned());
    }
    let installed = ["chromium", "chromium-browser", "google-chrome"].into_iter().find_map(on_path);
    if let Some(chromium) = installed {
        return Ok(chromium.to_string_lossy().into_owned());
    }
    npm_install(tools, "@sparticuz/chromium")?;
    let mut node = clean("node");
    node.current_dir(tools).args(["--input-type=module", "--eval"]);
    output_of(node.arg(
        "import chromium from '@sparticuz/chromium'; console.log(await chromium.executablePath());",
    ))
}

fn npm_install(tools: &Path, package: &str) -> Result<()> {
    let mut npm = clean("npm");
    npm.args(["install", "--silent", "--no-fund", "--no-audit", "--prefix"]).arg(tools);
    run_command(npm.arg(package).stdout(Stdio::null()))
}
