//! `xtask verify-exports`: loads exports with code of the viewers.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use clap::Parser;

use super::samples;
use crate::base::failure::{Context, Failure, Outcome, Result};
use crate::base::process::{clean, on_path, output_of, run as run_command};
use crate::base::project::{self, Project, absolute};
use crate::base::report;

pub(crate) const NAME: &str = "verify-exports";

/// Exports traces, and loads the exports with code of the viewers themselves, as far as it works without a screen.
///
/// Downloads npm and PyPI packages. What is missing on this machine is named at the end.
///
/// Exit status: 0 all exports load, 1 one does not, or something is missing.
#[derive(Debug, Parser)]
pub(crate) struct VerifyExportsArgs {
    /// The trace to export (three that are made here: one of three threads, two with times)
    #[arg(value_name = "DIR", value_parser = absolute)]
    trace: Option<PathBuf>,
    /// Only run the recipes of docs/tables.md. Without Python's venv they are left out, and
    /// without the network only if `FLOW_OFFLINE` is set
    #[arg(long, conflicts_with = "trace")]
    recipes: bool,
}

/// Spans need times, which only the last trace has.
const SPANS: (&str, &str) = ("otlp", "export.otlp.jsonl");
/// Packages of Python for the recipes of docs/tables.md.
const ENGINES: [&str; 5] = ["duckdb", "chdb", "pandas", "pyarrow", "pyspark"];
/// PlantUML on Maven Central.
const PLANTUML: &str = "net.sourceforge.plantuml:plantuml:1.2025.4";

/// Targets of `flow export` that are checked, and the names of their files.
const EXPORTS: [(&str, &str); 9] = [
    ("perfetto", "export.pftrace"),
    ("chrome", "export.trace.json"),
    ("speedscope", "export.speedscope.json"),
    ("pprof", "export.pb"),
    ("otlp-profile", "export.otlp.pb"),
    ("collapsed", "export.collapsed.txt"),
    ("hpl", "export.hpl"),
    ("mermaid", "export.mmd"),
    ("plantuml", "export.puml"),
];

pub(crate) fn run(args: VerifyExportsArgs) -> Result<Outcome> {
    let project = Project::enter()?;
    project::build(["--workspace", "--bin", "flow"])?;
    let flow = project.target.join("debug/flow");
    if args.recipes {
        return recipes(&project, &flow);
    }
    let work = project.target.join("exports");
    let _ = fs::remove_dir_all(&work);
    fs::create_dir_all(&work).context(work.display())?;
    let traces = match args.trace {
        Some(trace) => vec![trace],
        None => make_traces(&project, &work)?,
    };
    let mut exports = Vec::new();
    for (number, trace) in (1..).zip(&traces) {
        let dir = work.join(format!("export-{number}"));
        fs::create_dir(&dir).context(dir.display())?;
        let spans = (number == traces.len()).then_some(SPANS);
        for (target, name) in EXPORTS.into_iter().chain(spans) {
            let mut export = clean(&flow);
            export.args(["export", "--to", target, "--out"]).arg(dir.join(name)).arg(trace);
            run_command(&mut export)?;
        }
        exports.push(dir);
    }
    let files = |name: &str| exports.iter().map(|dir| dir.join(name)).collect::<Vec<_>>();

    let mut missing = Vec::new();
    check_tables(&flow, &work, &mut missing)?;
    check_otlp(&work, exports.last(), &files("export.otlp.pb"), &mut missing)?;
    let differences = write_differences(&flow, &work, &traces)?;
    let diagrams =
        |name| files(name).into_iter().chain(differences.clone().map(|dir| dir.join(name)));
    check_diagrams(&work, diagrams("export.mmd"), diagrams("export.puml"), &mut missing)?;
    report::print("\n== hpl: the records of Honest Profiler\n");
    if on_path("python3").is_some() {
        for file in files("export.hpl") {
            run_command(clean("python3").arg("scripts/exports/read_hpl.py").arg(file))?;
        }
    } else {
        missing.push("python3");
    }

    report::print("\n== pprof: go tool pprof\n");
    if on_path("go").is_some() {
        for file in files("export.pb") {
            let mut pprof = clean("go");
            pprof.args(["tool", "pprof", "-top", "-nodecount=5"]).arg(file);
            run_command(pprof.stderr(Stdio::null()))?;
        }
    } else {
        missing.push("go");
    }

    report::print("\n== perfetto: its own descriptors\n");
    if let Some(python) = python_with(&work, &["perfetto", "protobuf"]) {
        for file in files("export.pftrace") {
            run_command(clean(&python).arg("scripts/exports/read_perfetto.py").arg(file))?;
        }
    } else {
        missing.push("python3 with the package perfetto");
    }

    report::print(
        "\n== speedscope, chrome, collapsed: the importers and the schema of speedscope\n",
    );
    if install_npm(&work, &["speedscope@1.25", "ajv@8"]) {
        let mut node = clean("node");
        node.arg("scripts/exports/read_speedscope.mjs").arg(work.join("node_modules"));
        for name in ["export.speedscope.json", "export.trace.json", "export.collapsed.txt"] {
            node.args(files(name));
        }
        run_command(&mut node)?;
    } else {
        missing.push("npm with the package speedscope");
    }

    if !missing.is_empty() {
        report::print(&format!(
            "\nnot checked, because these are missing: {}\n",
            missing.join(", ")
        ));
    }
    Ok(Outcome::passed_if(missing.is_empty()))
}

/// Makes a trace of three threads, one in which each call has its own time, and one with samples, between which all calls
/// have the same time.
fn make_traces(project: &Project, work: &Path) -> Result<Vec<PathBuf>> {
    let small = work.join("small");
    fs::create_dir(&small).context(small.display())?;
    samples::write_small(&small)?;
    project::build(["--workspace", "--example", "generate"])?;
    let mut traces = vec![small];
    for (name, period_ns) in [("exact", "1"), ("timed", "10000")] {
        let trace = work.join(name);
        let mut generate = Command::new(project.target.join("debug/examples/generate"));
        generate.args(["--calls", "20k", "--threads", "2", "--clock", period_ns]);
        run_command(generate.arg(&trace))?;
        traces.push(trace);
    }
    Ok(traces)
}

/// Writes diagrams of how the first and the last trace differ into a directory, and returns that; `None` if there is one trace.
fn write_differences(flow: &Path, work: &Path, traces: &[PathBuf]) -> Result<Option<PathBuf>> {
    let [first, .., last] = traces else { return Ok(None) };
    let dir = work.join("difference");
    fs::create_dir(&dir).context(dir.display())?;
    for (format, name) in [("mermaid", "export.mmd"), ("plantuml", "export.puml")] {
        let mut diff = clean(flow);
        diff.args(["diff", "--exact", "--format", format]).arg(first).arg(last);
        let file = dir.join(name);
        fs::write(&file, output_of(&mut diff)?).context(file.display())?;
    }
    Ok(Some(dir))
}

/// Runs the recipes alone, for engines that stay installed for the next time.
fn recipes(project: &Project, flow: &Path) -> Result<Outcome> {
    let work = project.work_dir("recipes")?;
    let Some(programs) = environment(&work) else {
        report::print(
            "(not checked: no python3 with venv. Debian: apt-get install python3-venv)\n",
        );
        return Ok(Outcome::passed_if(true));
    };
    let is_offline = env::var_os("FLOW_OFFLINE").is_some();
    let mut pip = pip_install(&programs, &ENGINES);
    match run_command(pip.args(is_offline.then_some("--no-index"))) {
        Ok(()) => query_tables(flow, &work, &programs.join("python"))?,
        Err(_) if is_offline => report::print("(not checked: not all engines are installed)\n"),
        Err(error) => {
            let remedy = "FLOW_OFFLINE=1 leaves these recipes out";
            return Err(Failure::Failed(format!("{error}; {remedy}")));
        }
    }
    Ok(Outcome::passed_if(true))
}

/// Runs the recipes of the page about tables for all engines.
fn check_tables(flow: &Path, work: &Path, missing: &mut Vec<&'static str>) -> Result<()> {
    report::print("\n== parquet: DuckDB, ClickHouse, pandas and Spark\n");
    match python_with(work, &ENGINES) {
        Some(python) => query_tables(flow, work, &python)?,
        None => missing.push("python3 with the packages duckdb, chdb, pandas, pyarrow and pyspark"),
    }
    Ok(())
}

/// Runs the recipes with the tables of one trace, and those of two machines on two days.
fn query_tables(flow: &Path, work: &Path, python: &Path) -> Result<()> {
    let tables = work.join("tables");
    let _ = fs::remove_dir_all(&tables);
    for (machine, day) in [("alpha", "2026-11-28"), ("beta", "2026-11-29")] {
        let trace = tables.join(format!("traces/{machine}"));
        fs::create_dir_all(&trace).context(trace.display())?;
        samples::write_shop(&trace, machine == "beta")?;
        for (target, name) in [
            ("parquet", format!("machines/{machine}")),
            ("parquet-shapes", format!("fleet/day={day}/{machine}")),
        ] {
            let out = tables.join(name);
            fs::create_dir_all(&out).context(out.display())?;
            let mut export = clean(flow);
            export.args(["export", "--commit", machine, "--to", target, "--out"]).arg(out);
            run_command(export.arg(&trace))?;
        }
    }
    let first = tables.join("tables");
    std::os::unix::fs::symlink("machines/alpha", &first).context(first.display())?;
    let mut query = clean(python);
    run_command(query.arg("scripts/exports/query_tables.py").arg(&tables))
}

/// Reads spans and profiles with OpenTelemetry's own messages.
fn check_otlp(
    work: &Path,
    export: Option<&PathBuf>,
    profiles: &[PathBuf],
    missing: &mut Vec<&'static str>,
) -> Result<()> {
    report::print("\n== otlp: the messages of OpenTelemetry\n");
    match python_with(work, &["opentelemetry-proto"]).zip(export) {
        Some((python, export)) => {
            let mut reader = clean(&python);
            run_command(reader.arg("scripts/exports/read_otlp.py").arg(export.join(SPANS.1)))?;
            let mut reader = clean(&python);
            run_command(reader.arg("scripts/exports/read_otlp_profile.py").args(profiles))?;
        }
        None => missing.push("python3 with the package opentelemetry-proto"),
    }
    Ok(())
}

/// Reads sequence diagrams with the parsers of Mermaid and of PlantUML.
fn check_diagrams(
    work: &Path,
    mermaid: impl Iterator<Item = PathBuf>,
    plantuml: impl Iterator<Item = PathBuf>,
    missing: &mut Vec<&'static str>,
) -> Result<()> {
    report::print("\n== mermaid: its parser\n");
    if install_npm(work, &["mermaid@11", "jsdom@26"]) {
        let mut node = clean("node");
        node.arg("scripts/exports/read_mermaid.mjs").arg(work.join("node_modules"));
        run_command(node.args(mermaid))?;
    } else {
        missing.push("npm with the packages mermaid and jsdom");
    }
    report::print("\n== plantuml: its parser\n");
    let mut maven = clean("mvn");
    maven.args(["-q", "dependency:copy"]).arg(format!("-Dartifact={PLANTUML}"));
    maven.args(["-Dmdep.stripVersion=true"]);
    if succeeds(maven.arg(format!("-DoutputDirectory={}", work.display()))) {
        let mut java = clean("java");
        java.args(["-Djava.awt.headless=true", "-jar"]).arg(work.join("plantuml.jar"));
        run_command(java.arg("-checkonly").args(plantuml))?;
    } else {
        missing.push("java and mvn with PlantUML");
    }
    Ok(())
}

/// Returns a Python that has some packages, if they are installed or can be.
fn python_with(work: &Path, packages: &[&str]) -> Option<PathBuf> {
    let programs = environment(work)?;
    succeeds(&mut pip_install(&programs, packages)).then_some(())?;
    Some(programs.join("python"))
}

/// Returns the command that installs packages in an environment of Python.
fn pip_install(programs: &Path, packages: &[&str]) -> Command {
    let mut pip = clean(programs.join("pip"));
    pip.args(["--quiet", "install"]).args(packages);
    pip
}

/// Makes an environment of Python below a directory. Returns where its programs are, if Python is there with all that it needs.
fn environment(work: &Path) -> Option<PathBuf> {
    on_path("python3")?;
    let environment = work.join("venv");
    succeeds(clean("python3").args(["-m", "venv"]).arg(&environment))
        .then(|| environment.join("bin"))
}

/// Installs packages of npm below a directory. Returns whether that worked.
fn install_npm(work: &Path, packages: &[&str]) -> bool {
    let mut npm = clean("npm");
    npm.args(["install", "--silent", "--prefix"]).arg(work).args(packages);
    on_path("node").is_some() && succeeds(&mut npm)
}

fn succeeds(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
