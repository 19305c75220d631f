//! Real JVMs under the agent, on every JDK found.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "all of this is tests")]

mod attach;
mod behaviour;
mod builds;
mod clock;
mod coexistence;
mod commands;
mod counts;
mod durability;
mod ends;
mod engines;
mod exceptions;
mod failures;
mod fields;
mod filters;
mod instructions;
mod jdk;
mod journal;
mod kept;
mod launching;
mod lines;
mod live;
mod marks;
mod mcp;
mod one_file;
mod options;
mod order;
mod output;
mod overload;
mod recording;
mod reserved;
mod samples;
mod stream;
mod threads;
mod tidy;
mod torture;
mod trees;
mod values;

use std::path::Path;
use std::process::Command;

use flow_e2e::flow;

/// What a verb of `flow` prints about a trace.
fn shown(args: &[&str], dir: &Path) -> String {
    let output = Command::new(flow()).args(args).arg(dir).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// Runs the body for each JDK, naming the one that failed.
fn on_every_jdk(mut body: impl FnMut(&flow_e2e::Jdk)) {
    for jdk in flow_e2e::jdks() {
        println!("on JDK {} at {}", jdk.version, jdk.home.display());
        body(jdk);
    }
}

/// Runs the body for each JDK with each engine, naming the pair that failed.
fn on_every_engine(mut body: impl FnMut(&flow_e2e::Jdk, flow_e2e::Engine)) {
    on_every_jdk(|jdk| {
        for engine in flow_e2e::Engine::ALL {
            println!("with engine={}", engine.name());
            body(jdk, engine);
        }
    });
}
