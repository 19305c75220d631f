//! A real JVM under the agent, on every JDK found.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "all of this is tests")]

mod behaviour;
mod counts;
mod ends;
mod failures;
mod options;
mod output;
mod threads;
mod tidy;
mod trees;

/// Runs the body for each JDK, naming the one that failed.
fn on_every_jdk(mut body: impl FnMut(&flow_e2e::Jdk)) {
    for jdk in flow_e2e::jdks() {
        println!("on JDK {} at {}", jdk.version, jdk.home.display());
        body(jdk);
    }
}
