//! Receives the traces of JVMs that stream to `flow top`, for as long as it runs.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use flow_codec::read::Trace;
use flow_options::StreamAddress;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::failure::Failure;
use crate::live::{Collector, Listener, Sessions, Store, Token};
use crate::output::message;

/// How often it is checked whether a JVM has connected.
const PERIOD: Duration = Duration::from_millis(50);

/// A collector whose traces are removed at the end.
#[derive(Debug)]
pub(super) struct Received {
    dir: PathBuf,
    stop: Arc<AtomicBool>,
    /// Set by signals that end programs.
    interrupted: Arc<AtomicBool>,
    server: Option<JoinHandle<()>>,
    /// What it said last, unless that is shown at once.
    said: Arc<Mutex<Option<String>>>,
}

impl Received {
    /// Listens at an address, and waits for the first JVM; `None` if a signal ends that.
    pub(super) fn at(address: &StreamAddress) -> Result<Option<Self>, Failure> {
        let token = Token::at(address, None)?;
        let listener = Listener::bind(address)?;
        let dir = std::env::temp_dir().join(format!("flow-top-{}", std::process::id()));
        let fail = |error| Failure::Failed(format!("{}: {error}", dir.display()));
        DirBuilder::new().mode(0o700).create(&dir).map_err(fail)?;
        let (stop, interrupted, said) = Default::default();
        let mut received = Self { dir, stop, interrupted, server: None, said };
        let store = Store::new(&received.path())
            .map_err(|error| Failure::Failed(format!("{}: {error}", received.dir.display())))?;
        let option = listener.agent_option(token.as_ref());
        message(&format!("listening; record a JVM with: {option}"));
        let said = Arc::clone(&received.said);
        let tell = move |text: &str| {
            *said.lock().unwrap_or_else(PoisonError::into_inner) = Some(text.to_owned());
        };
        let sessions = Sessions::new(Arc::clone(&received.stop));
        let collector = Collector { store, token, sessions, tell: Box::new(tell) };
        let server = thread::Builder::new().name("flow-listener".to_owned());
        let server = server.spawn(move || listener.serve(collector)).map_err(Failure::Output)?;
        received.server = Some(server);
        Ok(received.wait_for_first()?.then_some(received))
    }

    /// The file of the first JVM.
    pub(super) fn path(&self) -> PathBuf {
        self.dir.join("top.flowtrace")
    }

    /// What the collector said since the last call.
    pub(super) fn said(&self) -> Option<String> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(super) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    fn wait_for_first(&self) -> Result<bool, Failure> {
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let flag = || Arc::clone(&self.interrupted);
            // The second one ends the program at once.
            signal_hook::flag::register_conditional_shutdown(signal, 1, flag())
                .and_then(|_| signal_hook::flag::register(signal, flag()))
                .map_err(|error| Failure::Failed(format!("signals cannot be handled: {error}")))?;
        }
        while !self.is_interrupted() {
            if let Some(said) = self.said() {
                message(&said);
            }
            if has_begun(&self.path()) {
                return Ok(true);
            }
            thread::sleep(PERIOD);
        }
        Ok(false)
    }
}

fn has_begun(path: &Path) -> bool {
    Trace::manifest_of(path).is_ok_and(|manifest| manifest.is_some())
}

impl Drop for Received {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(server) = self.server.take() {
            let _ = server.join();
        }
        let _ = fs::remove_dir_all(&self.dir);
    }
}
