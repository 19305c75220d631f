//! Writes a trace of any size, as if a program had been recorded, for measuring readers.
//!
//! ```text
//! cargo run --release -p flow-codec --example generate -- \
//!     [--calls N] [--shape real|fib|deep|wide|tests] [--threads T] [--seed S] [--methods M] \
//!     [--clock NANOSECONDS] DIR
//! ```
//!
//! The same options give the same bytes. `N` may end in `k`, `M` or `G`. `shapes.rs` and `real.rs` describe
//! the shapes. With a clock there are marks of a program in which every call takes
//! [`ENTER_NS`](clock::ENTER_NS) and every exit [`EXIT_NS`](clock::EXIT_NS), with some notes and exceptions.

#![expect(clippy::print_stderr, reason = "messages of a command")]

mod clock;
mod directory;
mod options;
mod real;
mod shapes;
mod stream;

use std::fs::File;
use std::process::ExitCode;

use clock::Clock;
use directory::Directory;
use options::Options;
use shapes::Program;
use stream::Stream;

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(error) => {
            eprintln!("generate: {error}\n{}", options::USAGE);
            return ExitCode::from(2);
        }
    };
    match generate(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("generate: {}: {error}", options.dir.display());
            ExitCode::FAILURE
        }
    }
}

fn generate(options: &Options) -> std::io::Result<()> {
    let program = Program::new(options.shape, options.methods, options.calls, options.seed);
    let mut directory = Directory::create(options, program.id_count())?;
    for thread in 0..options.threads {
        // The first threads have one call more, where the number cannot be divided.
        let calls =
            options.calls / options.threads + u64::from(thread < options.calls % options.threads);
        if calls == 0 {
            break;
        }
        let file = File::create_new(directory.thread_file(thread))?;
        let clock = options.clock.map(|period_ns| {
            File::create_new(directory.marks_file(thread)).map(|file| Clock::new(file, period_ns))
        });
        let mut stream = Stream::new(file, calls, clock.transpose()?);
        program.run(&mut stream, options.seed.wrapping_add(thread))?;
        directory.add(stream.finish()?);
    }
    directory.finish()
}
