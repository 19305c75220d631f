//! Options, from text to values, and the messages of mistakes.

use std::fs;
use std::time::Duration;

use flow_codec::format::manifest::Timing;
use flow_codec::format::names::EventFormat;
use log::LevelFilter;

use super::filter::LoaderKind;
use super::*;

fn parse(text: &str) -> Result<Options, OptionError> {
    Options::parse(text, |_| None)
}

fn message(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

#[test]
fn presets_are_chosen_by_name_and_a_file_adds_some() {
    let parse = |text: &str| Options::parse(text, |_| None).map(|options| options.filter);
    let filter = parse("presets=sql;log").unwrap();
    assert!(filter.presets.need_types() && filter.names_jdk() && filter.max_text() == 4_000);
    let filter = parse("presets=sql,max-value=100").unwrap();
    assert!(!filter.names_jdk() && !filter.reaches_boot_classes() && filter.max_text() == 100);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("own.presets");
    fs::write(&file, "[mine]\nrun com.app.Db#ask(String) arg0\n").unwrap();
    let file = file.display();
    let filter = parse(&format!("presets=mine,presets-file={file}")).unwrap();
    assert!(filter.may_select("com.app.Db", &[], LoaderKind::Application));
    assert!(
        !filter.presets.need_types()
            && filter.may_select("com.Other", &[], LoaderKind::Application)
    );
    for (text, expected) in [
        (
            "presets=sqll",
            "there is no preset 'sqll'; there are sql, http, log, handovers, coroutines, context, and those of a file that presets-file= names",
        ),
        ("presets=sql,engine=events", "needs engine=instrument"),
        ("include=@Test,engine=events", "annotations need engine=instrument"),
        ("presets=sql,format=jsonl", "format=jsonl has no place for it"),
        (
            "presets=sql,presets-file=/nowhere",
            "presets-file=/nowhere (agent options): No such file",
        ),
        ("redact=password", "has a meaning with values, presets, fields or exceptions only"),
    ] {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
    assert!(parse("presets=sql,redact=password").is_ok());
}

#[test]
fn sizes_have_the_units_of_the_command_line() {
    for (text, bytes) in [("4096", 4096), ("64k", 65_536), ("64KB", 65_536), ("2M", 2 << 20)] {
        assert_eq!(parse(&format!("chunk={text}")).unwrap().chunk_bytes, bytes, "{text}");
    }
    for odd in ["", "k", "64kk", "1.5m", "-64", "64 k", "99999999999g"] {
        assert!(parse(&format!("chunk={odd}")).is_err(), "{odd}");
    }
}

#[test]
fn a_list_of_patterns_may_have_descriptors() {
    for (text, expected) in [
        ("a.B;c.D#m", &["a.B", "c.D#m"][..]),
        ("a.B#m(Ljava/lang/String;I)V; c.D", &["a.B#m(Ljava/lang/String;I)V", "c.D"]),
        ("a.B#m()Ljava/lang/Object;;c.D", &["a.B#m()Ljava/lang/Object;", "c.D"]),
        ("a.B#m()Ljava/lang/Object;", &["a.B#m()Ljava/lang/Object;"]),
        (r"a.B#m()Ljava/lang/Object\;", &["a.B#m()Ljava/lang/Object;"]),
        ("a.B#m()[[Lx/Y;;c.D#n(I)[I;e.F", &["a.B#m()[[Lx/Y;", "c.D#n(I)[I", "e.F"]),
        ("a.B#m(int): Object;L.x", &["a.B#m(int): Object", "L.x"]),
        ("a.B#odd(;c.D", &["a.B#odd(", "c.D"]),
    ] {
        let options = parse(&format!("include={text}")).unwrap();
        let found: Vec<_> = options.filter.include.iter().map(flow_codec::Glob::text).collect();
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn defaults_hold_without_options() {
    let options = parse("").unwrap();
    assert_eq!(options.out, "flow-trace");
    assert_eq!(options.chunk_bytes, 65536);
    assert_eq!(options.log, LevelFilter::Warn);
    assert_eq!(options.ids, IdSource::Fresh);
    assert!(options.filter.constructors && !options.filter.natives);
    assert!(options.set.is_empty());
    assert_eq!(options.clock, Timing::Sampled { period: Duration::from_micros(100) });
}

#[test]
fn a_clock_has_a_period_where_the_format_has_times() {
    let tick = |period| Timing::Sampled { period };
    assert_eq!(parse("clock=tick:1ms").unwrap().clock, tick(Duration::from_millis(1)));
    assert_eq!(parse("clock=off").unwrap().clock, Timing::Off);
    assert_eq!(parse("clock=exact").unwrap().clock, Timing::Exact);
    assert_eq!(parse("format=jsonl").unwrap().clock, Timing::Off);
}

#[test]
fn escaped_commas_belong_to_the_value() {
    let options = parse(r"out=/tmp/a\,b\c,target=com.x.+com.y.,format=jsonl,chunk=1k").unwrap();
    assert_eq!(options.out, r"/tmp/a,b\c");
    assert_eq!(options.filter.targets.iter().collect::<Vec<_>>(), ["com.x.", "com.y."]);
    assert_eq!(options.format, EventFormat::Jsonl);
    assert_eq!(options.chunk_bytes, 1024);
}

#[test]
fn own_classes_are_named_and_not_selected() {
    let options = parse("own=demo.**; *").unwrap();
    assert_eq!(options.own, ["demo.**", "*"]);
    assert!(options.filter.include.is_empty() && options.filter.targets.is_empty());
}

#[test]
fn free_space_is_a_size_or_a_share() {
    for (text, expected) in [
        ("", MinFree::Default),
        ("min-free=none", MinFree::None),
        ("min-free=7%", MinFree::Percent(7)),
        ("min-free=2g", MinFree::Bytes(2 << 30)),
    ] {
        assert_eq!(parse(text).unwrap().min_free, expected, "{text}");
    }
}

#[test]
fn a_trace_in_memory_has_a_limit_and_its_journal_in_memory() {
    let kept = |text: &str| {
        let options = parse(&format!("out=a.flowtrace,{text}")).unwrap();
        let journal = options.journal.map(|path| path.to_string_lossy().into_owned());
        (options.in_memory, options.max_bytes, journal)
    };
    assert_eq!(kept("keep=all"), (false, None, None));
    assert_eq!(kept("keep=memory"), (true, Some(256 << 20), Some("/dev/shm".to_owned())));
    let chosen = (true, Some(1 << 30), Some("/mnt".to_owned()));
    assert_eq!(kept("keep=memory,max-size=1g,journal=/mnt"), chosen);
}

#[test]
#[expect(clippy::too_many_lines, reason = "one table of cases")]
fn mistakes_are_reported_in_one_line_with_place_and_remedy() {
    for (text, expected) in [
        ("incldue=x", "unknown option 'incldue' (agent options); did you mean 'include'?"),
        (
            "zzz=1",
            "unknown option 'zzz' (agent options); known are out, earlier, keep, rotate, snapshot-on, stream, \
           stream-token, overflow, target, include, exclude, lines, lines-once, calls, values, instructions, fields, exceptions, waits, presets, presets-file, redact, max-value, values-depth, quick, own, constructors, synthetic, natives, skip, engine, sample, sample-clock, max-frames, format, compress, clock, order, ids, \
          optimize, chunk, max-size, min-free, start, only-main, api, journal, durability, overload, command, log, debug, config, onerror",
        ),
        ("out", "'out' (agent options): expected key=value; did you mean 'out=…'?"),
        (
            "out=a.flowtrace,snapshot-on=oom;method:",
            "snapshot-on=oom;method: (agent options): expected method:GLOB, exception:GLOB, uncaught, oom or exit, \
             separated by ';'",
        ),
        (
            "out=",
            "out= (agent options): expected a directory, or a file whose name ends in .flowtrace",
        ),
        (
            "out=a.flowtrace,format=jsonl",
            "out=a.flowtrace: format=jsonl needs a directory; use format=binary, or a name without .flowtrace",
        ),
        (
            "engine=events,lines=a.B",
            "lines=a.B (agent options): needs engine=instrument; leave out engine",
        ),
        ("skip=getters", "skip=getters (agent options): expected accessors"),
        (
            "skip=accessors,fields=a.B#c",
            "skip=accessors (agent options): leaves out methods that access the fields of fields=a.B#c; leave out one of the two",
        ),
        (
            "lines-once=true",
            "lines-once=true (agent options): has a meaning with lines only; add lines=PATTERN",
        ),
        (
            "lines=a.B,lines-once=true,out=a.flowtrace,keep=last:64m",
            "lines-once=true (agent options): keep=last removes lines that are not recorded again; leave out one of the two",
        ),
        (
            "lines=a.B,calls=off",
            "calls=off (agent options): records nothing; add lines=PATTERN and lines-once=true",
        ),
        (
            "lines=a.B,lines-once=true,calls=off,values=a.B",
            "calls=off (agent options): values=a.B records details of calls; leave out one of the two",
        ),
        (
            "lines=a.B,lines-once=true,calls=off,order=total",
            "calls=off (agent options): order=total is about calls; leave out one of the two",
        ),
        (
            "lines=a.B,lines-once=true,calls=off,waits=on",
            "calls=off (agent options): waits=on is about calls; leave out one of the two",
        ),
        ("calls=none", "calls=none (agent options): expected on or off"),
        (
            "lines=a.B,format=jsonl",
            "lines=a.B (agent options): format=jsonl has no place for it; use format=binary",
        ),
        (
            "engine=events,instructions=a.B",
            "instructions=a.B (agent options): needs engine=instrument; leave out engine",
        ),
        (
            "engine=events,values=a.B",
            "values=a.B (agent options): needs engine=instrument; leave out engine",
        ),
        (
            "engine=events,fields=a.B",
            "fields=a.B (agent options): needs engine=instrument; leave out engine",
        ),
        (
            "exceptions=a.B,format=jsonl",
            "exceptions=a.B (agent options): format=jsonl has no place for it; use format=binary",
        ),
        (
            "exceptions=",
            "exceptions= (agent options): expected globs over pkg.Class or pkg.Class#method, separated by ';'",
        ),
        ("waits=yes", "waits=yes (agent options): expected on or off"),
        (
            "waits=on,format=jsonl",
            "waits=on (agent options): format=jsonl has no place for it; use format=binary",
        ),
        (
            "waits=on,engine=none,sample=10ms",
            "waits=on (agent options): engine=none records no calls; leave out engine",
        ),
        (
            "redact=password",
            "redact=password (agent options): has a meaning with values, presets, fields or exceptions only; add values=PATTERN",
        ),
        (
            "values=a.B,max-value=1001",
            "max-value=1001 (agent options): expected a number from 0 to 1000",
        ),
        (
            "compress=zip",
            "compress=zip (agent options): expected auto, off, lz4, zstd, or zstd:N with a level N from 1 to 19",
        ),
        ("target=", "target= (agent options): expected class name prefixes, separated by '+'"),
        ("own=;", "own=; (agent options): expected globs over pkg.Class, separated by ';'"),
        (
            "earlier=-1",
            "earlier=-1 (agent options): expected how many earlier traces to keep, from 0 to 99",
        ),
        ("natives=yes", "natives=yes (agent options): expected true or false"),
        ("chunk=1", "chunk=1 (agent options): expected a size from 64 to 16m, such as 64k"),
        (
            "max-size=9kk",
            "max-size=9kk (agent options): expected a size from 1m up, such as 500m or 2g",
        ),
        (
            "min-free=100%",
            "min-free=100% (agent options): expected a size such as 5g, a share of the disk from 0% to 99%, or none",
        ),
        ("engine=jit", "engine=jit (agent options): expected instrument, events or none"),
        ("format=xml", "format=xml (agent options): expected binary or jsonl"),
        (
            "clock=tick:1us",
            "clock=tick:1us (agent options): expected off, exact, tick, or tick:PERIOD with a period from \
             20us to 1s, such as tick:1ms",
        ),
        (
            "clock=tick,format=jsonl",
            "clock=tick (agent options): format=jsonl has no times; use format=binary, or clock=off",
        ),
        ("log=loud", "log=loud (agent options): expected off, error, warn, info, debug or trace"),
        (
            "durability=system:0s",
            "durability=system:0s (agent options): expected process, system, or system:PERIOD with a period \
             from 10ms to 1h, such as system:5s",
        ),
        ("start=later", "start=later (agent options): expected now or paused"),
        ("onerror=maybe", "onerror=maybe (agent options): expected stop or continue"),
        ("out=a,out=b", "option 'out' is given twice (agent options); keep one"),
        (
            "keep=memory",
            "keep=memory (agent options): needs a trace in one file; use a name such as out=flow-trace.flowtrace",
        ),
        (
            "out=a.flowtrace,keep=memory,rotate=1m",
            "rotate=1m (agent options): a trace in memory has one file; leave out keep=memory",
        ),
        (
            "out=a.flowtrace,keep=memory,durability=system",
            "keep=memory (agent options): memory does not survive a power failure; use durability=process",
        ),
    ] {
        assert_eq!(message(text), expected);
    }
    assert!(message("config=/no/such/file").starts_with("config=/no/such/file (agent options): "));
}

#[test]
fn the_string_wins_over_the_environment_and_that_over_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("flow.conf");
    fs::write(&file, "# ours\nout = c\nlog=info\nchunk=2k\n").unwrap();
    let config = file.to_str().unwrap().to_owned();
    let environment = |name: &str| match name {
        "FLOW_CONFIG" => Some(config.clone()),
        "FLOW_OUT" => Some("b".to_owned()),
        "FLOW_LOG" => Some("debug".to_owned()),
        "FLOW_TARGET" => Some(String::new()),
        _ => None,
    };
    let options = Options::parse("out=a", environment).unwrap();
    assert_eq!((options.out.as_str(), options.log), ("a", LevelFilter::Debug));
    assert_eq!(options.chunk_bytes, 2048);
    assert!(options.filter.targets.is_empty(), "an empty variable is not set");

    fs::write(&file, "out=c\nnativs=true\n").unwrap();
    let error = Options::parse("", environment).unwrap_err().to_string();
    assert!(error.contains("flow.conf:2); did you mean 'natives'?"), "{error}");
}

#[test]
fn onerror_holds_even_when_the_rest_is_wrong() {
    assert_eq!(Options::on_error("bogus=1,onerror=continue", |_| None), OnError::Continue);
    assert_eq!(Options::on_error("bogus=1", |_| None), OnError::Stop);
    let environment = |name: &str| (name == "FLOW_ONERROR").then(|| "continue".to_owned());
    assert_eq!(Options::on_error("bogus=1", environment), OnError::Continue);
}

#[test]
fn every_option_is_documented() {
    let docs = include_str!("../../docs/options.md");
    for key in KEYS {
        assert!(docs.contains(&format!("`{}=", key.name)), "{}", key.name);
    }
}

#[test]
fn debug_is_a_log_level() {
    assert_eq!(parse("debug=true").unwrap().log, LevelFilter::Debug);
    assert_eq!(parse("debug=true,log=error").unwrap().log, LevelFilter::Error);
    assert_eq!(parse("debug=false").unwrap().log, LevelFilter::Warn);
}

#[test]
fn optimize_wins_over_ids() {
    let options = parse("ids=a.properties,optimize=old").unwrap();
    assert_eq!(options.ids, IdSource::Optimize("old".into()));
}

#[test]
fn a_filter_that_changes_has_no_other_options() {
    let filter = parse_filter(r"include=com.app.**;b.B#m(int\,int), exclude=*.Util,natives=true");
    let filter = filter.unwrap();
    let include = filter.include.iter().count();
    assert_eq!((include, filter.exclude.len()), (2, 1));
    assert!(filter.targets.is_empty());
    assert!(filter.natives && filter.constructors);
    assert!(parse_filter("").unwrap().include.is_empty());
    for (text, expected) in [
        (
            "out=x",
            "filter: 'out' cannot change; target, include, exclude, constructors, synthetic, natives can",
        ),
        (
            "lines=**",
            "filter: 'lines' cannot change; target, include, exclude, constructors, synthetic, natives can",
        ),
        (
            "include=a.A;@Test",
            "filter: patterns with @ and extends: are for the start of a recording; name classes and methods",
        ),
        ("include=a.A,include=a.B", "filter: include is given twice; keep one"),
        ("natives=maybe", "natives=maybe (filter): expected true or false"),
        ("include", "'include' (filter): expected key=value; did you mean 'include=…'?"),
    ] {
        assert_eq!(parse_filter(text).unwrap_err().to_string(), expected);
    }
}

proptest::proptest! {
    #[test]
    fn any_text_is_parsed_or_refused(text in "(out|log|chunk|include|=|,|\\\\|[a-z0-9*;# ]|\\PC){0,40}") {
        let _ = parse(&text);
        Options::on_error(&text, |_| None);
    }

    #[test]
    fn any_directory_can_be_named(dir in "[^\\\\,\\pC\\pZ]([^\\\\\\pC]{0,20}[^\\\\\\pC\\pZ])?") {
        let options = parse(&format!("log=info,out={},chunk=1k", dir.replace(',', r"\,"))).unwrap();
        proptest::prop_assert_eq!(options.out, dir);
    }
}
