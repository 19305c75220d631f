//! The machine that measures: what it is, and where measured programs run.

use std::fs;
use std::path::Path;
use std::process::{self, Command};

use crate::base::failure::Result;
use crate::base::process::{on_path, output_of};

/// Where measured programs run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cores {
    /// On any core.
    All,
    /// On these, in the notation of `taskset -c`.
    These(String),
}

impl Cores {
    /// Returns the cores that a user asked for with `--cores`; without it, the last one that this process
    /// may use, because interrupts go to the first ones.
    pub(crate) fn choose(request: Option<&str>) -> Self {
        match request {
            Some("all") => Self::All,
            Some(list) => Self::These(list.to_owned()),
            None => {
                let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
                last_allowed(&status).map_or(Self::All, |core| Self::These(core.to_owned()))
            }
        }
    }

    /// Pins this process, and so all that it starts from now on. Returns the cores it really has: all of
    /// them where there is no `taskset`.
    ///
    /// # Errors
    ///
    /// If `taskset` refuses the list.
    pub(crate) fn pin(self) -> Result<Self> {
        let Self::These(list) = &self else { return Ok(self) };
        if on_path("taskset").is_none() {
            return Ok(Self::All);
        }
        output_of(Command::new("taskset").args(["-cp", list, &process::id().to_string()]))?;
        Ok(self)
    }

    /// Returns a sentence about them: `programs pinned to core 1`.
    pub(crate) fn describe(&self, what: &str) -> String {
        match self {
            Self::All => format!("{what} not pinned"),
            Self::These(list) => format!("{what} pinned to core {list}"),
        }
    }
}

/// Returns the last core of a `/proc/PID/status`.
fn last_allowed(status: &str) -> Option<&str> {
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    list.trim().rsplit([',', '-']).next().filter(|core| !core.is_empty())
}

/// Returns date and machine: `Measured 2026-11-23 on AMD EPYC, 2 cores, Linux 6.8`.
pub(crate) fn description() -> String {
    let text = |mut command: Command| output_of(&mut command).unwrap_or_else(|_| "?".to_owned());
    let date = text(command("date", &["-u", "+%F"]));
    let cores = text(command("nproc", &["--all"]));
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let model = model_in(&cpus).unwrap_or("an unnamed CPU");
    format!("Measured {date} on {model}, {cores} cores, Linux {}", kernel.trim())
}

fn command(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments);
    command
}

/// Returns the model of the first CPU in a `/proc/cpuinfo`. On aarch64 there is none.
fn model_in(cpus: &str) -> Option<&str> {
    let line = cpus.lines().find(|line| line.starts_with("model name"))?;
    line.split_once(": ").map(|(_, model)| model.trim())
}

/// Returns the load of the last minute.
pub(crate) fn load() -> String {
    let loads = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    loads.split(' ').next().unwrap_or_default().to_owned()
}

/// Returns the kind of file system that a directory is on.
pub(crate) fn file_system_of(dir: &Path) -> String {
    let mut stat = command("stat", &["-f", "-c", "%T"]);
    output_of(stat.arg(dir)).unwrap_or_else(|_| "?".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_allowed_core_ends_a_range_or_a_list() {
        for (list, last) in [("0-3", "3"), ("0,2", "2"), ("0-3,8-11", "11"), ("5", "5")] {
            let status = format!("Name:\tx\nCpus_allowed_list:\t{list}\nMems_allowed:\t1\n");
            assert_eq!(last_allowed(&status), Some(last));
        }
        assert_eq!(last_allowed("Name:\tx\n"), None);
    }

    #[test]
    fn a_list_of_cores_is_kept_and_all_pins_nothing() {
        assert_eq!(Cores::choose(Some("1,2")), Cores::These("1,2".to_owned()));
        assert_eq!(Cores::choose(Some("all")), Cores::All);
        assert_eq!(Cores::All.describe("programs"), "programs not pinned");
        assert_eq!(Cores::These("1".to_owned()).describe("programs"), "programs pinned to core 1");
    }

    #[test]
    fn the_model_of_the_cpu_is_read_where_there_is_one() {
        assert_eq!(
            model_in("processor\t: 0\nmodel name\t: A CPU @ 3 GHz\n"),
            Some("A CPU @ 3 GHz")
        );
        assert_eq!(model_in("processor\t: 0\nBogoMIPS\t: 50.00\n"), None);
    }
}
