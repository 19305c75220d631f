//! Many calls in a short time.

use flow_e2e::{Program, check, jdks};

use super::{is_long, times};

#[test]
fn however_fast_calls_come_none_is_lost() {
    let seconds = times("SPEED_SECONDS", 2);
    // Each call is two events.
    let rate = times("SPEED_CALLS", 5_000_000);
    let threads = 2;
    let jdk = jdks().last().unwrap();
    let args = [threads, rate, seconds].map(|number| number.to_string());
    let run = Program::harness(jdk, "Busy").args(args).run();
    assert_eq!((run.code(), run.errors().as_str()), (Some(0), ""));
    let text = String::from_utf8(run.stdout.clone()).unwrap();
    let number = |what: &str| -> u64 {
        let line = text.lines().find_map(|line| line.strip_prefix(what)?.strip_prefix(' '));
        line.unwrap().parse().unwrap()
    };
    let (code, found) = check(&run.out());
    assert_eq!(code, Some(0), "{found}");
    // And main, and the constructors.
    let calls = number("calls") + 1 + threads;
    assert_eq!(found["totals"]["enters"], calls, "{found}");
    assert_eq!(found["totals"]["exits"], calls, "{found}");
    let calls_per_second = 1000 * calls / number("ms");
    println!("torture: {calls} calls in {} ms, {calls_per_second} a second: 0 lost", number("ms"));
    // The short form also runs on busy machines.
    assert!(!is_long() || calls_per_second >= threads * rate / 2, "{calls_per_second} a second");
}
