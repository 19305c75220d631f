//! Sums of time over simulated programs whose shares are known, sampled as the recorder samples them.

use std::collections::BTreeMap;
use std::fs;

use flow_codec::MethodId;
use flow_codec::format::flow::Encoded;
use flow_codec::format::marks::{HEADER, Mark, MarkEncoder, Position};
use flow_codec::read::{Clock, Selection, TimeLimits, Trace};
use flow_codec::{Offset, ThreadId};
use flow_query::analysis::{ReportRow, TimedReport};

/// A thread that runs, and is sampled now and then.
struct Simulated {
    now_ns: u64,
    cpu_ns: u64,
    bytes: Vec<u8>,
    stack: Vec<u64>,
    /// The true self times: on the processor, and all of them.
    truth: BTreeMap<u64, (u64, u64)>,
    period_ns: u64,
    next_look_ns: u64,
    random: u64,
    /// The position of the last sample; the sample, and what is known about the stay there.
    seen: Option<usize>,
    sample: (Position, Mark),
    stays: u32,
    runs: bool,
    ran_in_place: Option<(u64, u64)>,
    counted_us: u64,
    marks: Vec<u8>,
    encoder: MarkEncoder,
}

impl Simulated {
    fn new(period_ns: u64) -> Self {
        let none = Mark::Time { by_ns: 0, from_ns: 0, ran_us: Some(0) };
        Self {
            now_ns: 0,
            cpu_ns: 0,
            bytes: Vec::new(),
            stack: Vec::new(),
            truth: BTreeMap::new(),
            period_ns,
            next_look_ns: period_ns,
            random: 0x9E37_79B9_7F4A_7C15,
            seen: Some(0),
            sample: (Position::default(), none),
            stays: 0,
            runs: false,
            ran_in_place: None,
            counted_us: 0,
            marks: HEADER.to_vec(),
            encoder: MarkEncoder::default(),
        }
    }

    fn random(&mut self, below: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % below.max(1)
    }

    fn enter(&mut self, method: u64) {
        self.stack.push(method);
        self.bytes.extend(Encoded::enter(MethodId::new(method).expect("small")).as_bytes());
    }

    fn exit(&mut self) {
        self.stack.pop();
        self.bytes.extend(Encoded::exits(1.try_into().expect("not 0")).as_bytes());
    }

    /// Time passes in the innermost frame.
    fn spend(&mut self, mut ns: u64, is_running: bool) {
        while ns > 0 {
            let some = ns.min(self.next_look_ns - self.now_ns);
            self.now_ns += some;
            self.cpu_ns += if is_running { some } else { 0 };
            if let Some(method) = self.stack.last() {
                let (cpu, wall) = self.truth.entry(*method).or_default();
                *cpu += if is_running { some } else { 0 };
                *wall += some;
            }
            ns -= some;
            if self.now_ns == self.next_look_ns {
                self.look(is_running, ns);
                let jitter = self.random(self.period_ns / 2);
                self.next_look_ns += self.period_ns * 3 / 4 + jitter;
            }
        }
    }

    fn ran_us(&mut self) -> u64 {
        let us = self.cpu_ns / 1_000;
        us - std::mem::replace(&mut self.counted_us, us)
    }

    /// What the sampler does, while the thread runs or waits for some more time.
    fn look(&mut self, is_running: bool, more_ns: u64) {
        let now_ns = self.now_ns;
        if self.seen == Some(self.bytes.len()) {
            if let (_, Mark::Time { from_ns, .. }) = &mut self.sample {
                *from_ns = now_ns;
            }
            self.stays += 1;
            if self.stays.is_power_of_two() || self.runs {
                let us = self.ran_us();
                self.runs = us > 0;
                let (ran, _) = self.ran_in_place.unwrap_or_default();
                self.ran_in_place = Some((ran + us, now_ns));
            }
            return;
        }
        self.put();
        self.seen = Some(self.bytes.len());
        let ran_us = Some(self.ran_us());
        let at = Position::before(Offset::new(self.bytes.len() as u64));
        // The second of two readings of its clock shows that it waits.
        let is_waiting = !is_running && more_ns >= 1_000;
        let from_ns = now_ns + if is_waiting { 1_000 } else { 0 };
        self.sample = (at, Mark::Time { by_ns: now_ns, from_ns, ran_us });
        (self.stays, self.runs) = (0, false);
    }

    fn put(&mut self) {
        let (at, mut sample) = self.sample.clone();
        let mut stay = None;
        if let (Some((us, by_ns)), Mark::Time { from_ns, .. }) =
            (self.ran_in_place.take(), &mut sample)
        {
            let until_ns = std::mem::replace(from_ns, by_ns);
            stay = Some(Mark::Time { by_ns, from_ns: until_ns, ran_us: Some(us) });
        }
        for mark in [Some(sample), stay].into_iter().flatten() {
            self.encoder.encode(at, &mark, &mut self.marks);
        }
    }

    /// The sums, and the true ones.
    fn sums(mut self) -> Sums {
        self.look(false, 0);
        self.put();
        self.encoder.finish(&mut self.marks);
        let dir = tempfile::tempdir().expect("a directory");
        fs::write(dir.path().join("thread-1.flow"), &self.bytes).expect("written");
        fs::write(dir.path().join("thread-1.marks"), &self.marks).expect("written");
        let trace = Trace::open(dir.path()).expect("a trace");
        assert_eq!(trace.files()[0].id(), ThreadId::new(1));
        let (clock, all) = (Clock::default(), Selection::all());
        let mut report = TimedReport::<true>::new(&clock);
        let mut pass = trace.files()[0]
            .timed_pass(&all, TimeLimits::NONE, &clock, &mut report)
            .expect("readable");
        while pass.visit_some().expect("sound") {}
        assert!(pass.finish().is_none());
        report.end_thread();
        Sums { rows: report.rows(), truth: self.truth, cpu_ns: self.cpu_ns }
    }
}

/// What a report shows, and what is true.
struct Sums {
    rows: Vec<ReportRow>,
    truth: BTreeMap<u64, (u64, u64)>,
    cpu_ns: u64,
}

/// Compares the shares of self times with the true ones, in points.
fn check(name: &str, simulated: Simulated, points: f64) {
    let Sums { rows, truth, cpu_ns } = simulated.sums();
    let share = |ns: u64| 100.0 * ns as f64 / cpu_ns as f64;
    let mut text = String::new();
    let mut worst: f64 = 0.0;
    let of = |method: u64| rows.iter().find(|row| row.method.get() == method);
    for (method, (cpu, _)) in &truth {
        let shown = of(*method).map_or(0, |row| row.self_weight);
        worst = worst.max((share(shown) - share(*cpu)).abs());
        text += &format!("{method}: {:.1} % of {:.1} %, ", share(shown), share(*cpu));
    }
    assert!(worst <= points, "{name}: {text}");
    // No sum is more than the time of the thread.
    let all: u64 = rows.iter().map(|row| row.self_weight).sum();
    assert!(all <= cpu_ns, "{name}: {all} of {cpu_ns}");
    // No method is before one that took twice as much.
    for (one, (one_cpu, _)) in &truth {
        for (other, (other_cpu, _)) in &truth {
            let shown = |method: u64| of(method).map_or(0, |row| row.self_weight);
            let is_right = *one_cpu < 2 * other_cpu || shown(*one) >= shown(*other);
            assert!(is_right || share(*one_cpu) < 1.0, "{name}: {one} before {other}: {text}");
        }
    }
}

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

/// The periods of the sampler on a quiet machine and on a busy one, and how many points shares may be off.
const PERIODS: [(u64, f64); 3] = [(107 * US, 2.0), (613 * US, 2.0), (2_617 * US, 4.0)];

#[test]
fn chatty_methods_do_not_have_the_time_of_busy_ones() {
    for (period_ns, points) in PERIODS {
        let mut program = Simulated::new(period_ns);
        program.enter(1);
        for _ in 0..4_000 {
            program.enter(2);
            program.spend(1_480 * US, true);
            program.exit();
            program.enter(3);
            program.spend(500 * US, true);
            program.exit();
            program.enter(4);
            for _ in 0..200 {
                program.enter(5);
                program.spend(60, true);
                program.exit();
                program.spend(40, true);
            }
            program.exit();
        }
        check("chatty", program, points);
    }
}

#[test]
fn what_runs_between_waits_has_its_time() {
    for (period_ns, points) in PERIODS {
        for (run_us, wait_us) in
            [(50, 950), (500, 500), (500, 5_000), (3_000, 2_000), (20_000, 20_000)]
        {
            let mut program = Simulated::new(period_ns);
            program.enter(1);
            // Thousands of samples see it run.
            for _ in 0..(6_000 * period_ns / (run_us * US)).max(200) {
                let jitter = program.random(wait_us * US / 4);
                program.enter(2);
                program.spend(jitter + wait_us * US, false);
                program.exit();
                program.enter(3);
                program.spend(run_us * US * 3 / 4, true);
                program.exit();
                program.enter(4);
                for _ in 0..50 {
                    program.enter(5);
                    program.exit();
                }
                program.spend(run_us * US / 4, true);
                program.exit();
            }
            check(&format!("run {run_us}, wait {wait_us}, period {period_ns}"), program, points);
        }
    }
}

#[test]
fn a_thread_that_shares_its_processor_has_the_same_shares() {
    for (period_ns, points) in PERIODS {
        let mut program = Simulated::new(period_ns);
        program.enter(1);
        for _ in 0..1_500 {
            for (method, slices) in [(2, 7), (3, 3)] {
                program.enter(method);
                for _ in 0..slices {
                    program.spend(300 * US, true);
                    // Others run.
                    program.spend(1_200 * US, false);
                }
                program.exit();
            }
        }
        check(&format!("shared, period {period_ns}"), program, points);
    }
}

#[test]
fn sleeping_callers_do_not_have_the_time_of_what_they_call() {
    for (period_ns, points) in PERIODS {
        let mut program = Simulated::new(period_ns);
        program.enter(1);
        for _ in 0..2_000 {
            program.enter(2);
            program.enter(3);
            program.spend(MS, true);
            program.exit();
            program.enter(4);
            program.exit();
            program.exit();
            program.spend(20 * MS, false);
        }
        check(&format!("sleeping, period {period_ns}"), program, points);
    }
}
