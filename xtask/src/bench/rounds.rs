//! Runs the variants in turns and collects their figures.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use super::workload::{Places, Variant, Workload};
use crate::base::arguments::name_of;
use crate::base::failure::{Context, Result};
use crate::base::process::{Usage, output_of};
use crate::jdk::Jdk;
use crate::measure::{Bench, Run, rotated};

/// One run of a program.
#[derive(Clone, Debug)]
pub(super) struct JvmRun {
    pub(super) workload: &'static Workload,
    pub(super) jdk: u32,
    pub(super) variant: Variant,
    /// Runs are compared within a turn only.
    pub(super) turn: Turn,
    pub(super) usage: Usage,
    pub(super) recorded: Recorded,
    /// What [`Workload::figure`] is.
    pub(super) figure: Option<f64>,
}

impl Run for JvmRun {
    /// Returns workload, JDK, variant, turn, wall ns, CPU ns, KiB, calls, bytes, and the workload's own figure or `-`.
    fn line(&self) -> String {
        let Self { workload, jdk, variant, turn, usage, recorded, figure } = self;
        let figure = figure.map_or_else(|| "-".to_owned(), |figure| figure.to_string());
        let (name, variant) = (workload.name, name_of(*variant));
        let (Turn { round, number }, Recorded { calls, bytes }) = (turn, recorded);
        let Usage { wall_ns, cpu_ns, rss_kib } = usage;
        format!(
            "{name}\t{jdk}\t{variant}\t{round}.{number}\t{wall_ns}\t{cpu_ns}\t{rss_kib}\t{calls}\t{bytes}\t{figure}"
        )
    }
}

/// All variants of a workload once, on one JDK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) round: u32,
    /// Which variant runs first.
    pub(super) number: u32,
}

/// What a run left on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Recorded {
    pub(super) calls: u64,
    pub(super) bytes: u64,
}

/// Runs variants in turns.
#[derive(Debug)]
pub(super) struct Rounds<'a> {
    pub(super) places: &'a Places,
    /// Empty: all of a workload.
    pub(super) variants: &'a [Variant],
    pub(super) slow_in_every_round: bool,
    pub(super) bench: Bench<JvmRun>,
    /// Variants that failed, which are not tried again.
    pub(super) broken: HashSet<(&'static str, u32, Variant)>,
}

impl Rounds<'_> {
    /// Runs one round.
    ///
    /// # Errors
    ///
    /// If a file of ours cannot be written. A program that fails is listed in `failures`.
    pub(super) fn run(
        &mut self,
        round: u32,
        jdks: &[Jdk],
        workloads: &[&'static Workload],
    ) -> Result<()> {
        for jdk in jdks {
            for &workload in workloads {
                if self.variants_of(workload, jdk, round).contains(&Variant::Jfr) {
                    self.write_jfr_settings(jdk, workload)?;
                }
                for number in 0..workload.runs_per_round() {
                    let turn = Turn { round, number: round + number - 1 };
                    self.run_turn(workload, jdk, turn)?;
                }
            }
        }
        Ok(())
    }

    /// Returns the variants of a workload that a round runs.
    fn variants_of(&self, workload: &Workload, jdk: &Jdk, round: u32) -> Vec<Variant> {
        let mut variants = vec![Variant::None];
        variants.extend(workload.variants.iter().copied().filter(|&variant| {
            let is_wanted = self.variants.is_empty() || self.variants.contains(&variant);
            let is_due = self.slow_in_every_round || round == 1 || !workload.is_slow(variant);
            is_wanted && is_due && variant.runs_on(jdk.version)
        }));
        variants.retain(|&variant| !self.broken.contains(&(workload.name, jdk.version, variant)));
        variants
    }

    fn run_turn(&mut self, workload: &'static Workload, jdk: &Jdk, turn: Turn) -> Result<()> {
        let mut took = Vec::new();
        for variant in rotated(&self.variants_of(workload, jdk, turn.round), turn.number) {
            // There is nothing to compare with.
            if self.broken.contains(&(workload.name, jdk.version, Variant::None)) {
                break;
            }
            match self.run_once(workload, jdk, variant, turn)? {
                Ok(run) => {
                    took.push((name_of(variant), run.usage.wall_ns));
                    self.bench.keep(run)?;
                }
                Err(problem) => {
                    let (name, variant_name) = (workload.name, name_of(variant));
                    self.bench
                        .fail(format!("{name}, JDK {}, {variant_name}: {problem}", jdk.version));
                    self.broken.insert((workload.name, jdk.version, variant));
                }
            }
        }
        let (round, version, name) = (turn.round, jdk.version, workload.name);
        self.bench.progress(&format!("round {round}, JDK {version}, {name}"), &took);
        Ok(())
    }

    /// Runs a variant once. The inner error is a failure of the program or of its recording.
    fn run_once(
        &self,
        workload: &'static Workload,
        jdk: &Jdk,
        variant: Variant,
        turn: Turn,
    ) -> Result<std::result::Result<JvmRun, String>> {
        let dir = &self.places.run;
        let _ = fs::remove_dir_all(dir);
        fs::create_dir_all(dir.join("classes")).context(dir.display())?;
        let mut java = jdk.tool("java");
        java.args(variant.option(workload.package, self.places));
        java.args(workload.arguments(self.places));
        let stdout = dir.join("stdout");
        java.stdout(fs::File::create(&stdout).context(stdout.display())?);
        let usage = match self.bench.measure(&mut java, &[0])? {
            Ok(usage) => usage,
            Err(problem) => return Ok(Err(problem)),
        };
        let recorded = match self.recorded(variant, jdk)? {
            Ok(recorded) => recorded,
            Err(problem) => return Ok(Err(problem)),
        };
        let stdout = fs::read(&stdout).unwrap_or_default();
        let figure =
            workload.figure.and_then(|figure| figure.of(&usage, &String::from_utf8_lossy(&stdout)));
        Ok(Ok(JvmRun { workload, jdk: jdk.version, variant, turn, usage, recorded, figure }))
    }

    /// Returns what the last run recorded. The inner error says why that cannot be trusted.
    fn recorded(
        &self,
        variant: Variant,
        jdk: &Jdk,
    ) -> Result<std::result::Result<Recorded, String>> {
        match variant {
            Variant::None | Variant::Again => Ok(Ok(Recorded::default())),
            Variant::Jfr => {
                let mut summary = jdk.tool("jfr");
                let file = self.places.run.join("trace.jfr");
                Ok(jfr_recorded(&output_of(summary.arg("summary").arg(file))?))
            }
            _ => {
                let trace = self.places.run.join("trace");
                let manifest = fs::read_to_string(trace.join("trace.json")).unwrap_or_default();
                let calls = flow_recorded(&manifest);
                Ok(calls.map(|calls| Recorded { calls, bytes: size_of(&trace) }))
            }
        }
    }

    /// Writes the settings with which Flight Recorder traces every method of a package.
    fn write_jfr_settings(&self, jdk: &Jdk, workload: &Workload) -> Result<()> {
        let mut java = jdk.tool("java");
        java.arg("-cp").arg(self.places.work.join("classes"));
        let settings = output_of(java.args([
            "bench.JfrSettings",
            &workload.classes(self.places),
            workload.package,
        ]))?;
        let file = self.places.work.join(format!("{}.jfc", workload.package));
        fs::write(&file, settings).context(file.display())
    }
}

/// Returns the calls of a trace by its `trace.json`, or why they cannot be trusted.
fn flow_recorded(manifest: &str) -> std::result::Result<u64, String> {
    let manifest: serde_json::Value = serde_json::from_str(manifest).unwrap_or_default();
    let end = &manifest["end"];
    let Some(calls) = end["totals"]["enters"].as_u64() else {
        return Err("the recording did not end".to_owned());
    };
    match (end["lost"]["events"].as_u64().unwrap_or_default(), calls) {
        (0, 0) => Err("nothing was recorded".to_owned()),
        (0, calls) => Ok(calls),
        (lost, _) => Err(format!("{lost} events lost")),
    }
}

/// Returns the calls and bytes of a flight recording by what `jfr summary` prints, or why they cannot be
/// trusted.
fn jfr_recorded(summary: &str) -> std::result::Result<Recorded, String> {
    let of = |event: &str| {
        let mut lines = summary.lines().map(|line| line.split_whitespace());
        let mut numbers =
            lines.find_map(|mut words| (words.next() == Some(event)).then_some(words))?;
        let mut number = || numbers.next()?.parse::<u64>().ok();
        Some(Recorded { calls: number()?, bytes: number()? })
    };
    let lost = of("jdk.DataLoss").unwrap_or_default().calls;
    if lost > 0 {
        return Err(format!("JFR lost data {lost} times"));
    }
    let traced = of("jdk.MethodTrace").filter(|traced| traced.calls > 0);
    traced.ok_or_else(|| "nothing was recorded".to_owned())
}

/// Returns the bytes of all files below a directory.
fn size_of(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let size =
        |path: &Path, data: &fs::Metadata| if data.is_dir() { size_of(path) } else { data.len() };
    entries.filter_map(|entry| Some(size(&entry.path(), &entry.metadata().ok()?))).sum()
}

#[cfg(test)]
mod tests {
    use super::super::workload::named;
    use super::*;

    #[test]
    fn calls_of_a_trace_count_if_it_ended_and_nothing_is_lost() {
        let manifest = |enters: u32, lost: u32| {
            format!(
                "{{\"end\": {{\"totals\": {{\"enters\": {enters}}}, \"lost\": {{\"events\": {lost}}}}}}}"
            )
        };
        assert_eq!(flow_recorded(&manifest(7, 0)), Ok(7));
        assert_eq!(flow_recorded(&manifest(7, 2)), Err("2 events lost".to_owned()));
        assert_eq!(flow_recorded(&manifest(0, 0)), Err("nothing was recorded".to_owned()));
        assert_eq!(flow_recorded("{\"pid\": 1}"), Err("the recording did not end".to_owned()));
        assert_eq!(flow_recorded(""), Err("the recording did not end".to_owned()));
    }

    #[test]
    fn calls_of_a_flight_recording_count_if_nothing_is_lost() {
        let summary =
            " Event Type   Count  Size (bytes)\n=====\n jdk.MethodTrace  12  340\n jdk.DataLoss  ";
        let whole = format!("{summary}0  0\n");
        assert_eq!(jfr_recorded(&whole), Ok(Recorded { calls: 12, bytes: 340 }));
        let torn = format!("{summary}3  99\n");
        assert_eq!(jfr_recorded(&torn), Err("JFR lost data 3 times".to_owned()));
        assert_eq!(jfr_recorded(" jdk.MethodTrace 0 0\n"), Err("nothing was recorded".to_owned()));
        assert_eq!(jfr_recorded(""), Err("nothing was recorded".to_owned()));
    }

    #[test]
    fn the_size_of_a_directory_is_that_of_all_files_below() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("sub")).unwrap();
        fs::write(dir.path().join("a"), [0; 10]).unwrap();
        fs::write(dir.path().join("sub/b"), [0; 5]).unwrap();
        assert_eq!(size_of(dir.path()), 15);
    }

    #[test]
    fn a_line_has_a_column_for_each_figure() {
        let run = JvmRun {
            workload: named("fib-small").unwrap()[0],
            jdk: 17,
            variant: Variant::Instrument,
            turn: Turn { round: 2, number: 1 },
            usage: Usage { wall_ns: 5, cpu_ns: 6, rss_kib: 7 },
            recorded: Recorded { calls: 8, bytes: 9 },
            figure: None,
        };
        assert_eq!(run.line(), "fib-small\t17\tinstrument\t2.1\t5\t6\t7\t8\t9\t-");
    }
}
