//! Receives the traces of JVMs that stream to `flow top`, for as long as it runs.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use flow_codec::read::Trace;
use flow_options::StreamAddress;
use tempfile::TempDir;

use crate::failure::Failure;
use crate::live::{Collector, Listener, Sessions, Store, Token, stop_flag};
use crate::output::message;

/// How often it is checked whether a JVM has connected.
const PERIOD: Duration = Duration::from_millis(50);

/// A collector whose traces are removed at the end.
#[derive(Debug)]
pub(super) struct Received {
    dir: TempDir,
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
        let dir = tempfile::Builder::new().prefix("flow-top-").tempdir();
        let dir = dir.map_err(Failure::temporary_file)?;
        let (stop, said) = Default::default();
        let mut received = Self { dir, stop, interrupted: stop_flag()?, server: None, said };
        let store = Store::new(&received.path()).map_err(Failure::temporary_file)?;
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
        Ok(received.wait_for_first().then_some(received))
    }

    /// The file of the first JVM.
    pub(super) fn path(&self) -> PathBuf {
        self.dir.path().join("top.flowtrace")
    }

    /// What the collector said since the last call.
    pub(super) fn said(&self) -> Option<String> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(super) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    fn wait_for_first(&self) -> bool {
        while !self.is_interrupted() {
            if let Some(said) = self.said() {
                message(&said);
            }
            if has_begun(&self.path()) {
                return true;
            }
            thread::sleep(PERIOD);
        }
        false
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
    }
}
