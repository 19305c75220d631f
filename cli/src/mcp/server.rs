//! The server: lists the tools, and answers calls of them.

use std::collections::HashSet;
use std::future::ready;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorCode, ErrorData,
    Implementation, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
    ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::transport::stdio_pipes;
use rmcp::{ServiceExt, model};
use tokio::sync::Semaphore;

use super::answer;
use super::parameter::schema;
use super::run::{Printed, run};
use super::tools::{RECORD, TOOLS, Tool, did_you_mean, shortened};
use super::traces::Traces;

/// How long a question may take.
const ANSWER_WITHIN: Duration = Duration::from_secs(120);

/// How long a recorded command may take.
const RECORD_WITHIN: Duration = Duration::from_secs(3600);

/// After an answer that took longer, an index is built, with which the next one is quicker.
const SLOW: Duration = Duration::from_secs(2);

/// How many questions are answered at a time; others wait.
const AT_A_TIME: usize = 2;

/// Exit status of flow for a command line that is wrong.
const USAGE: i32 = 2;

const INSTRUCTIONS: &str = "\
Answers questions about recordings of JVM programs made with flow: every method call, exactly, in order; times, tests, \
exceptions, and values and lines if they were recorded. Ask small questions one after the other: recordings, then tests, report or \
outline for an overview, then calls, around, behaviours or compare for details. A call has a handle THREAD:N (the Nth call of a \
thread, from 0), which around and outline take. Each answer begins with the command that prints the same for a person.";

struct Server {
    traces: Traces,
    may_record: bool,
    /// What each question begins with.
    flags: Vec<String>,
    free: Semaphore,
    /// Traces for which an index was requested.
    indexed: Mutex<HashSet<PathBuf>>,
}

/// Serves questions until the client closes standard input.
///
/// # Errors
/// The path does not exist, or the client does not speak the protocol.
pub(super) fn serve(
    path: Option<&Path>,
    default_name: &str,
    may_record: bool,
    flags: &[String],
) -> Result<(), String> {
    let traces = Traces::at(path, default_name).map_err(|error| {
        let path = path.map_or_else(|| ".".into(), |path| path.display().to_string());
        format!("{path}: {error}")
    })?;
    let free = Semaphore::new(AT_A_TIME);
    let (flags, indexed) = (flags.to_vec(), Mutex::default());
    let server = Server { traces, may_record, flags, free, indexed };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot start: {error}"))?;
    let served = runtime.block_on(async {
        match server.serve(stdio_pipes()).await {
            Ok(service) => service.waiting().await.map(drop).map_err(|error| error.to_string()),
            // The client has gone before it said anything.
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    });
    // A read of standard input that has not ended would be waited for.
    runtime.shutdown_background();
    served
}

impl Server {
    fn tools(&self) -> impl Iterator<Item = &'static Tool> {
        TOOLS.iter().chain(self.may_record.then_some(&RECORD))
    }

    /// Returns the answer to a question, or why there is none.
    async fn answer(
        &self,
        tool: &Tool,
        given: Option<&model::JsonObject>,
    ) -> Result<String, String> {
        let none = model::JsonObject::new();
        let asked = tool.command(given.unwrap_or(&none), &self.traces)?;
        let records = tool.name == RECORD.name;
        let limit = if records { RECORD_WITHIN } else { ANSWER_WITHIN };
        let _turn = self.free.acquire().await;
        let most = if records { usize::MAX } else { asked.bytes + 1 };
        let begun = Instant::now();
        let words = [&self.flags[..], &asked.words].concat();
        let printed = run(&words, self.traces.folder(), most, limit).await?;
        if let Some(trace) = asked.trace.filter(|_| begun.elapsed() > SLOW) {
            self.index(trace);
        }
        let (words, bytes) = (&asked.words, asked.bytes);
        let command: Vec<_> = words.iter().map(|word| answer::typed(word)).collect();
        let command = answer::harmless(&format!("flow {}", command.join(" ")));
        let notes = tool.in_parameters(&answer::notes(&printed.messages));
        let Printed { results, has_more, status, .. } = printed;
        let code = status.and_then(|status: ExitStatus| status.code());
        if results.is_empty() && !records && code != Some(0) || code == Some(USAGE) && !records {
            return Err(if notes.is_empty() { format!("{command} failed") } else { notes });
        }
        let results = tool.in_parameters(&answer::harmless(&results));
        Ok(answer::text(&command, &results, &notes, has_more, bytes, tool.narrow))
    }
}

impl Server {
    /// Builds the index and the shapes of a trace in the background, once.
    fn index(&self, trace: PathBuf) {
        let mut indexed = self.indexed.lock().unwrap_or_else(PoisonError::into_inner);
        if !indexed.insert(trace.clone()) {
            return;
        }
        let words = ["check", "--index", "--"].map(str::to_owned).into_iter();
        let words = self.flags.iter().cloned().chain(words);
        let words: Vec<_> = words.chain([trace.display().to_string()]).collect();
        let folder = self.traces.folder().to_owned();
        // Whatever prevents it, answers are right without.
        tokio::spawn(async move { run(&words, &folder, usize::MAX, RECORD_WITHIN).await });
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("flow", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<ListToolsResult, ErrorData>> + Send + '_ {
        let described = |tool: &Tool| {
            let reads = tool.name != RECORD.name;
            let hints = ToolAnnotations::new().read_only(reads).destructive(!reads);
            let schema = Arc::new(schema(tool.parameters));
            model::Tool::new(tool.name, tool.about, schema)
                .with_annotations(hints.idempotent(reads).open_world(!reads))
        };
        ready(Ok(ListToolsResult::with_all_items(self.tools().map(described).collect())))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = self.tools().find(|tool| tool.name == request.name) else {
            return Err(self.unknown(&request.name));
        };
        let answer = self.answer(tool, request.arguments.as_ref());
        // `None`: cancelled, so nobody reads what is returned.
        let answer = context.ct.run_until_cancelled(answer).await;
        let result = match answer.unwrap_or_else(|| Err("cancelled".to_owned())) {
            Ok(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
            Err(text) => {
                let text = format!("{text}\nnext: {}", tool.next);
                CallToolResult::error(vec![ContentBlock::text(text)])
            }
        };
        Ok(result.into())
    }
}

impl Server {
    /// Why there is no tool of a name.
    fn unknown(&self, name: &str) -> ErrorData {
        let names: Vec<_> = self.tools().map(|tool| tool.name).collect();
        let text = if name == RECORD.name {
            "this server only reads; start it with flow mcp --allow-record to let it run programs"
                .to_owned()
        } else {
            let meant = did_you_mean(name, names.iter().copied());
            format!("no tool {}{meant}; there are {}", shortened(name), names.join(", "))
        };
        ErrorData::new(ErrorCode::INVALID_PARAMS, text, None)
    }
}
