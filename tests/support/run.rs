//! Runs programs under the agent.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Lines, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::{Decoded, Jdk, decode_trace, harness};

/// The directory into which cargo put the test binary, the library and the command line.
///
/// # Panics
/// The test binary is not where cargo puts it.
#[must_use]
pub fn target_dir() -> PathBuf {
    let test = std::env::current_exe().expect("a process knows its binary");
    test.ancestors().nth(2).expect("cargo runs tests from target/<profile>/deps").to_path_buf()
}

/// The agent: the one that `FLOW_TEST_AGENT` names, such as one for musl, or else the one built beside the test binary.
///
/// # Panics
/// It is not there.
#[must_use]
pub fn library() -> PathBuf {
    let named = std::env::var_os("FLOW_TEST_AGENT").filter(|path| !path.is_empty());
    let built = || target_dir().join("deps/libflowagent.so");
    let library = named.map_or_else(built, PathBuf::from);
    assert!(library.is_file(), "{} is missing; run cargo test from the root", library.display());
    library
}

/// The command line, built if necessary.
///
/// # Panics
/// It does not build.
#[must_use]
pub fn flow() -> &'static Path {
    static FLOW: OnceLock<PathBuf> = OnceLock::new();
    FLOW.get_or_init(|| {
        let mut build = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        // Not the agent: cargo would replace the library while other tests use it. Of the whole workspace, with whose
        // features scripts/test.sh has built it.
        build.args(["build", "-q", "--workspace", "--bin", "flow"]);
        if !cfg!(debug_assertions) {
            build.arg("--release");
        }
        assert!(build.status().is_ok_and(|status| status.success()), "flow-cli does not build");
        target_dir().join("flow")
    })
}

/// How the agent sees calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Engine {
    /// Classes are rewritten: the default.
    Instrument,
    /// The JVM reports each call: slow, but complete. The oracle.
    Events,
}

impl Engine {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Instrument, Self::Events];

    /// Its name in the options.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Instrument => "instrument",
            Self::Events => "events",
        }
    }
}

/// Returns whether the tests record into one file instead of a directory.
#[must_use]
pub fn in_one_file() -> bool {
    std::env::var("FLOW_E2E_OUT").is_ok_and(|out| out == "file")
}

/// A Java program to run under the agent.
#[derive(Debug)]
pub struct Program {
    jdk: Jdk,
    jvm_args: Vec<OsString>,
    main: Vec<OsString>,
    options: String,
    environment: Vec<(String, OsString)>,
    shell: Option<String>,
    out: Option<PathBuf>,
    is_only_sent: bool,
    stdin: Vec<u8>,
    workspace: TempDir,
}

impl Program {
    /// A program of the harness.
    #[must_use]
    pub fn harness(jdk: &Jdk, name: &str) -> Self {
        Self::compiled(jdk, &harness().join("target/classes"), name)
    }

    /// A program of the harness that was compiled into another directory.
    #[must_use]
    pub fn compiled(jdk: &Jdk, classes: &Path, name: &str) -> Self {
        let main = format!("harness.{name}");
        Self::new(jdk, [OsStr::new("-cp"), classes.as_os_str(), OsStr::new(&main)])
    }

    /// Creates a program from what `java` is to run: class path and main class, `-jar`, or `-m`.
    ///
    /// # Panics
    /// No temporary directory can be created.
    #[must_use]
    pub fn new<S: AsRef<OsStr>>(jdk: &Jdk, main: impl IntoIterator<Item = S>) -> Self {
        Self {
            jdk: jdk.clone(),
            jvm_args: Vec::new(),
            main: main.into_iter().map(|arg| arg.as_ref().to_owned()).collect(),
            options: String::new(),
            environment: Vec::new(),
            shell: None,
            out: None,
            is_only_sent: false,
            stdin: Vec::new(),
            workspace: tempfile::tempdir().expect("a temporary directory can be made"),
        }
    }

    /// Adds arguments of the program.
    #[must_use]
    pub fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.main.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Adds an argument of the JVM.
    #[must_use]
    pub fn jvm_arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.jvm_args.push(arg.as_ref().to_owned());
        self
    }

    /// Adds options of the agent, after `out`.
    #[must_use]
    pub fn options(mut self, options: &str) -> Self {
        self.options.push(',');
        self.options.push_str(options);
        self
    }

    /// Chooses the engine.
    #[must_use]
    pub fn engine(self, engine: Engine) -> Self {
        self.options(&format!("engine={}", engine.name()))
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.environment.push((name.to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Makes a shell run this first, in the workspace, such as `ulimit`: `\"$@\"` is the JVM.
    #[must_use]
    pub fn shell(mut self, script: &str) -> Self {
        self.shell = Some(script.to_owned());
        self
    }

    /// Sets the program's standard input.
    #[must_use]
    pub fn stdin(mut self, bytes: &[u8]) -> Self {
        self.stdin = bytes.to_vec();
        self
    }

    /// Writes the trace to another place than the workspace.
    #[must_use]
    pub fn record_into(mut self, out: PathBuf) -> Self {
        self.out = Some(out);
        self
    }

    /// Sends the trace to a collector, and stores it in no place of its own. Temporary files are in the workspace.
    #[must_use]
    pub fn only_send_to(mut self, address: &str) -> Self {
        self.is_only_sent = true;
        let workspace = self.workspace.path().to_path_buf();
        self.env("TMPDIR", workspace).options(&format!("stream={address}"))
    }

    /// The directory of the trace; or its file, if `FLOW_E2E_OUT` is `file`.
    #[must_use]
    pub fn out(&self) -> PathBuf {
        let name = if in_one_file() { "trace.flowtrace" } else { "trace" };
        self.out.clone().unwrap_or_else(|| self.workspace.path().join(name))
    }

    /// A directory for other files of this run.
    #[must_use]
    pub fn workspace(&self) -> &Path {
        self.workspace.path()
    }

    /// The command with the agent, without streams.
    #[must_use]
    pub fn command(&self) -> Command {
        let mut agent = OsString::from("-agentpath:");
        agent.push(library());
        let out = format!("out={}", self.out().display());
        agent.push(format!("={}{}", if self.is_only_sent { "" } else { &out }, self.options));
        self.command_with(Some(agent))
    }

    /// The same command without the agent.
    #[must_use]
    pub fn command_without_agent(&self) -> Command {
        self.command_with(None)
    }

    fn command_with(&self, agent: Option<OsString>) -> Command {
        let java = self.jdk.tool("java");
        let mut command = match &self.shell {
            None => Command::new(java),
            Some(script) => {
                let mut shell = Command::new("sh");
                shell.args(["-c", script, "sh"]).arg(java);
                shell
            }
        };
        command.args(&self.jvm_args).args(agent).args(&self.main);
        command.current_dir(self.workspace.path());
        // Options in the caller's environment must not change the test.
        for name in ["JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS"] {
            command.env_remove(name);
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs to the end.
    #[must_use]
    pub fn run(self) -> Finished {
        let command = self.command();
        self.finish(command)
    }

    /// Runs to the end without the agent.
    #[must_use]
    pub fn run_without_agent(self) -> Finished {
        let command = self.command_without_agent();
        self.finish(command)
    }

    /// Starts the program with its streams in files of the workspace, its input on a pipe.
    ///
    /// # Panics
    /// Java cannot be started.
    #[must_use]
    pub fn launch(&self) -> Running {
        self.launch_as(self.command())
    }

    fn launch_as(&self, mut command: Command) -> Running {
        // Into files, because a program stops when it fills a pipe that nobody reads yet.
        command.stdin(Stdio::piped()).stdout(self.stream("stdout")).stderr(self.stream("stderr"));
        Running { child: command.spawn().expect("java starts") }
    }

    /// Starts the program with its output on a pipe, to be read by [`Running::lines`].
    ///
    /// # Panics
    /// Java cannot be started.
    #[must_use]
    pub fn start(&self) -> Running {
        let mut command = self.command();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(self.stream("stderr"));
        Running { child: command.spawn().expect("java starts") }
    }

    /// Creates a file of the workspace for a stream.
    fn stream(&self, name: &str) -> File {
        File::create(self.workspace.path().join(name)).expect("the workspace can be written")
    }

    fn finish(self, command: Command) -> Finished {
        let mut running = self.launch_as(command);
        // A program that does not read its input closes the pipe.
        let _ = running.child.stdin.take().expect("piped above").write_all(&self.stdin);
        let status = running.child.wait().expect("java ends");
        self.finished(status)
    }

    /// A program that was started elsewhere and has ended.
    ///
    /// # Panics
    /// Its streams are gone.
    #[must_use]
    pub fn finished(self, status: ExitStatus) -> Finished {
        let read =
            |name: &str| std::fs::read(self.workspace.path().join(name)).expect("just written");
        Finished { status, stdout: read("stdout"), stderr: read("stderr"), program: self }
    }
}

/// A running program. Dropping it kills it, so that a failed test leaves nothing running.
#[derive(Debug)]
pub struct Running {
    child: Child,
}

/// Longer than any wait of a test.
const PATIENCE: Duration = Duration::from_secs(300);

impl Running {
    /// Waits until a condition holds. Returns whether it did before the program ended.
    ///
    /// # Panics
    /// It takes too long.
    pub fn wait_for(&mut self, condition: impl Fn() -> bool) -> bool {
        let begun = Instant::now();
        while !condition() {
            if self.child.try_wait().expect("a child can be waited for").is_some() {
                return condition();
            }
            assert!(begun.elapsed() < PATIENCE, "still waiting for it");
            std::thread::sleep(Duration::from_micros(200));
        }
        true
    }

    /// The lines it prints, if it was [started](Program::start) for that.
    ///
    /// # Panics
    /// It was not, or this was called before.
    pub fn lines(&mut self) -> Lines<BufReader<ChildStdout>> {
        BufReader::new(self.child.stdout.take().expect("its output is on a pipe")).lines()
    }

    /// Ends its input.
    pub fn close_input(&mut self) {
        drop(self.child.stdin.take());
    }

    /// Kills it; `None` if it had ended before.
    ///
    /// # Panics
    /// The system refuses.
    pub fn kill(mut self) -> Option<ExitStatus> {
        let ended = self.child.try_wait().expect("a child can be waited for");
        self.child.kill().expect("a child can be killed");
        let status = self.child.wait().expect("a child can be waited for");
        ended.is_none().then_some(status)
    }

    /// Its process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// It takes too long.
    #[must_use]
    pub fn end(mut self) -> ExitStatus {
        self.close_input();
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("a child can be waited for") {
                return status;
            }
            assert!(begun.elapsed() < PATIENCE, "the program does not end");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Nothing to do if it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Removes a directory into which others may still be writing files.
///
/// # Panics
/// The system refuses.
pub fn remove_in_use(dir: &Path) {
    while let Err(error) = std::fs::remove_dir_all(dir) {
        assert_eq!(error.kind(), ErrorKind::DirectoryNotEmpty, "{}", dir.display());
    }
}

/// A program that has ended.
#[derive(Debug)]
pub struct Finished {
    /// How it ended.
    pub status: ExitStatus,
    /// What it printed.
    pub stdout: Vec<u8>,
    /// What it and the JVM printed on the error stream.
    pub stderr: Vec<u8>,
    /// The program; its files exist until this is dropped.
    pub program: Program,
}

impl Finished {
    /// The exit code; `None` if it was killed.
    #[must_use]
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// The error stream as text.
    #[must_use]
    pub fn errors(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    /// The agent's lines on the error stream.
    #[must_use]
    pub fn our_lines(&self) -> Vec<String> {
        let errors = self.errors();
        errors.lines().filter(|l| l.starts_with("[flowagent]")).map(str::to_owned).collect()
    }

    /// The error stream without the agent's lines.
    #[must_use]
    pub fn other_errors(&self) -> String {
        let errors = self.errors();
        let others = errors.lines().filter(|line| !line.starts_with("[flowagent]"));
        others.flat_map(|line| [line, "\n"]).collect()
    }

    /// The directory of the trace.
    #[must_use]
    pub fn out(&self) -> PathBuf {
        self.program.out()
    }

    /// Reads the trace with the independent decoder.
    ///
    /// # Panics
    /// It is damaged.
    #[must_use]
    pub fn trace(&self) -> Decoded {
        assert_eq!(self.errors(), "", "nothing is to be said");
        decode_trace(&self.out())
    }
}
