//! What the view does with inputs: its state, and how that changes.
//!
//! ```text
//! keys, mouse ─▶ inputs ─▶ going (where to) ─▶ jobs (what takes longer than a key may wait)
//! ```

mod going;
mod inputs;
mod jobs;
mod state;

pub(super) use self::state::{Next, Page, Prompt, Start, ThreadKey, View};

#[cfg(test)]
mod tests {
    use std::fs;
    use std::num::NonZeroU64;

    use clap::Parser;
    use flow_codec::Offset;
    use flow_codec::format::marks::{HEADER, Mark, MarkEncoder, Position};
    use flow_codec::format::test_marks::{Outcome, TestMark};
    use flow_codec::format::values::{CallValue, Identity, Role, Value};
    use ratatui::layout::Rect;
    use tempfile::TempDir;

    use super::super::draw::draw;
    use super::super::opening::Opened;
    use super::super::text::plain_lines;
    use super::*;
    use crate::args::{Args, SourceArgs, Verb, ViewArgs};
    use crate::input::source::Source;
    use crate::output::Format;
    use crate::terminal::{Input, Key};

    /// A trace of a thread, and a screen on which it is shown.
    struct Shown {
        _dir: TempDir,
        opened: Opened,
        args: ViewArgs,
    }

    const WIDTH: u16 = 60;
    const HEIGHT: u16 = 12;

    impl Shown {
        fn new(events: &[u8], marks: &[(u64, u64, Mark)]) -> Self {
            Self::with(&["view"], events, marks)
        }

        fn with(words: &[&str], events: &[u8], marks: &[(u64, u64, Mark)]) -> Self {
            let dir = tempfile::tempdir().unwrap();
            let names = "a.B#main()V=1\na.B#run()V=2\na.B#leaf()V=3\na.B#other()V=4\n";
            fs::write(dir.path().join("ids.properties"), names).unwrap();
            fs::write(dir.path().join("thread-1.flow"), events).unwrap();
            if !marks.is_empty() {
                let (mut encoder, mut bytes) = (MarkEncoder::default(), HEADER.to_vec());
                for (offset, exits, mark) in marks {
                    let position = Position { offset: Offset::new(*offset), exits: *exits };
                    encoder.encode(position, mark, &mut bytes);
                }
                encoder.finish(&mut bytes);
                fs::write(dir.path().join("thread-1.marks"), bytes).unwrap();
            }
            let args = Args::parse_from([&["flow"], words].concat());
            let Verb::View(args) = args.verb else { panic!("another verb") };
            let of = SourceArgs { dir: dir.path().to_path_buf(), format: Format::Text };
            let opened = Opened { source: Source::open(&of).unwrap(), request: None };
            Self { opened, args, _dir: dir }
        }

        fn view(&self) -> View<'_> {
            let start = Start { from: self.args.from.clone(), ..Start::default() };
            let mut view = View::new(&self.opened, &self.args, start);
            view.resize(Rect::new(0, 0, WIDTH, HEIGHT));
            view.finish();
            view
        }
    }

    /// `main` calls `run` twice, which calls `leaf` twice; then `run`, which calls `leaf` and `other`.
    const EVENTS: &[u8] = &[
        0x81, 0x82, 0x83, 0x00, 0x83, 0x01, 0x82, 0x83, 0x00, 0x83, 0x01, 0x82, 0x83, 0x00, 0x84,
        0x02,
    ];

    /// The same events in a form that has no shapes: two records in place of one for two exits.
    fn without_shapes() -> Vec<u8> {
        [&EVENTS[..EVENTS.len() - 1], &[0x01, 0x00]].concat()
    }

    fn press(view: &mut View<'_>, keys: &str) {
        for key in keys.chars() {
            let key = match key {
                '→' => Key::Right,
                '←' => Key::Left,
                '↑' => Key::Up,
                '↓' => Key::Down,
                '⏎' => Key::Enter,
                '⎋' => Key::Escape,
                '⇱' => Key::Home,
                '⇲' => Key::End,
                key => Key::Char(key),
            };
            assert_eq!(view.on(Input::Key(key)), Next::Stay, "{key:?}");
            view.finish();
        }
    }

    fn draw_once(view: &mut View<'_>) {
        crate::terminal::shown(WIDTH, 24, |frame| {
            view.resize(frame.area());
            draw(frame, view);
        });
    }

    /// The rows of the calls without their numbers; `>` is before the chosen one.
    fn rows(view: &mut View<'_>) -> Vec<String> {
        let calls = view.calls.as_mut().unwrap();
        let lines = plain_lines(calls, WIDTH.into());
        let tree = lines[0].find("    call").unwrap() + 2;
        let rows = lines[1..].iter().enumerate();
        let chosen = calls.chosen;
        let row = |(at, line): (usize, &String)| {
            let text: String = line.chars().skip(tree).collect();
            format!("{}{}", if at == chosen { ">" } else { " " }, text)
        };
        rows.map(row).collect()
    }

    /// A thread that hands two tasks to another one.
    fn handed(words: &[&str]) -> Shown {
        let dir = tempfile::tempdir().unwrap();
        let method = |id: u64, name: &str, roles: &str| {
            format!(
                r#"{{"id":{id},"class":"a.B","name":"{name}","descriptor":"()V","roles":[{roles}]}}"#
            ) + "\n"
        };
        let methods = method(1, "main", "")
            + &method(2, "give", r#""handovers give arg0""#)
            + &method(3, "take", r#""handovers take arg0""#)
            + &method(4, "other", "");
        fs::write(dir.path().join("methods.jsonl"), methods).unwrap();
        let threads: [(&[u8], _); 2] = [
            (&[0x81, 0x82, 0x00, 0x82, 0x00, 0x84, 0x01], [(2, 5), (4, 6)]),
            (&[0x83, 0x84, 0x01, 0x83, 0x84, 0x00, 0x84, 0x01], [(1, 5), (4, 6)]),
        ];
        for (thread, (events, values)) in (1..).zip(threads) {
            fs::write(dir.path().join(format!("thread-{thread}.flow")), events).unwrap();
            let (mut encoder, mut marks) = (MarkEncoder::default(), HEADER.to_vec());
            for (offset, hash) in values {
                let mut bytes = Vec::new();
                let value = Value::Object(Identity { class: None, hash });
                CallValue::new(Role::Argument(0), value).encode(&mut bytes);
                let position = Position::before(Offset::new(offset));
                encoder.encode(position, &Mark::Values(bytes), &mut marks);
            }
            encoder.finish(&mut marks);
            fs::write(dir.path().join(format!("thread-{thread}.marks")), marks).unwrap();
        }
        let args = Args::parse_from([&["flow", "view"], words].concat());
        let Verb::View(args) = args.verb else { panic!("another verb") };
        let opened = Opened::open(dir.path().to_path_buf(), &args).unwrap();
        Shown { opened, args, _dir: dir }
    }

    /// The rows as the way from the last one to the first shows them.
    fn rows_backwards(view: &mut View<'_>) -> Vec<u64> {
        let forest = &mut view.calls.as_mut().unwrap().forest;
        let (mut numbers, mut row) = (Vec::new(), forest.last().unwrap());
        while let Some(shown) = row {
            numbers.push(shown.number() + 10 * shown.thread as u64);
            row = forest.before(&shown).unwrap();
        }
        numbers.reverse();
        numbers
    }

    #[test]
    fn a_request_is_one_tree_across_threads() {
        let shown = handed(&["--request", "1:0"]);
        let mut view = shown.view();
        assert!(view.heading().ends_with("request 1:0, 3 parts"), "{}", view.heading());
        let folded = [">▾ 1 a.B.main()", "   ▸ a.B.give()", "   ▸ a.B.give()", "     a.B.other()"];
        assert_eq!(rows(&mut view), folded);
        press(&mut view, "↓↓→↓→");
        let second = [
            " ▾ 1 a.B.main()",
            "   ▸ a.B.give()",
            "   ▾ a.B.give()",
            ">    ▾ ⇢ 2 a.B.take()",
            "         ×2 a.B.other()",
            "     a.B.other()",
        ];
        assert_eq!(rows(&mut view), second);
        assert_eq!(rows_backwards(&mut view), [0, 1, 2, 12, 13, 3]);
        press(&mut view, "[");
        assert_eq!(rows(&mut view), second, "each call gave one task");
        press(&mut view, "d");
        draw_once(&mut view);
        let (_, details) = view.details.clone().unwrap();
        assert!(details[3].starts_with("handed over by call 2 of thread 1"), "{details:?}");
        // A call in another part is shown below what handed it over.
        press(&mut view, "dg1⏎");
        assert_eq!(view.calls.as_ref().unwrap().row().unwrap().number(), 1);
        assert_eq!(rows_backwards(&mut view), [0, 1, 10, 11, 2, 12, 13, 3]);
        press(&mut view, "←");
        assert_eq!(rows(&mut view)[2], ">    ▾ ⇢ 2 a.B.take()");
        press(&mut view, "←←");
        assert_eq!(rows(&mut view)[1], ">  ▾ a.B.give()", "to what handed it over");
        press(&mut view, "g1:3⏎");
        assert!(rows(&mut view).last().unwrap().starts_with(">    a.B.other()"));
        // As threads.
        press(&mut view, "⎋");
        let list = view.shown_list().unwrap();
        assert!(list.rows[0].text.ends_with("request 1:0, all threads"), "{:?}", list.rows);
        press(&mut view, "⇱⏎");
        assert_eq!(rows(&mut view), folded);
    }

    #[test]
    fn a_request_is_searched_and_unfolded_in_all_its_threads() {
        let shown = handed(&["--request", "1:0"]);
        let mut view = shown.view();
        let place = |view: &View<'_>| {
            let row = view.calls.as_ref().unwrap().row().unwrap();
            (row.thread, row.number())
        };
        press(&mut view, "/other⏎");
        let mut found = vec![place(&view)];
        for _ in 0..3 {
            press(&mut view, "n");
            found.push(place(&view));
        }
        assert_eq!(found, [(0, 3), (1, 1), (1, 3), (1, 4)]);
        press(&mut view, "n");
        let message = view.message.clone().unwrap();
        assert!(message.ends_with("after this one, in this thread or a later one"), "{message}");
        press(&mut view, "NNN");
        assert_eq!(place(&view), (0, 3));
        press(&mut view, "⇱u");
        let unfolded = [
            ">▾ 1 a.B.main()",
            "   ▾ a.B.give()",
            "     ▾ ⇢ 2 a.B.take()",
            "         a.B.other()",
            "   ▾ a.B.give()",
            "     ▾ ⇢ 2 a.B.take()",
            "         ×2 a.B.other()",
            "     a.B.other()",
        ];
        assert_eq!(rows(&mut view), unfolded);
    }

    #[test]
    fn tasks_of_hidden_calls_belong_to_their_callers() {
        let shown = handed(&["--request", "1:0", "--exclude", "a.B#give"]);
        let mut view = shown.view();
        let expected =
            [">▾ 1 a.B.main()", "   ▸ ⇢ 2 a.B.take()", "   ▸ ⇢ 2 a.B.take()", "     a.B.other()"];
        assert_eq!(rows(&mut view), expected);
        press(&mut view, "↓]");
        assert!(rows(&mut view)[2].starts_with('>'));
        press(&mut view, "↓↑[←");
        assert!(rows(&mut view)[0].starts_with('>'));
    }

    #[test]
    fn some_threads_of_a_request_are_trees_of_their_own() {
        let shown = handed(&["--request", "1:0", "--thread", "2"]);
        let mut view = shown.view();
        assert_eq!(rows(&mut view), [">▸ a.B.take()", " ▸ a.B.take()"]);
    }

    #[test]
    fn equal_calls_are_one_line_until_one_of_them_is_unfolded() {
        let shown = Shown::new(EVENTS, &[]);
        let mut view = shown.view();
        assert_eq!(rows(&mut view), [">▾ a.B.main()", "   ▸ ×2 a.B.run()", "   ▸ a.B.run()"]);
        press(&mut view, "↓→");
        assert_eq!(
            rows(&mut view),
            [
                " ▾ a.B.main()",
                ">  ▾ a.B.run()",
                "       ×2 a.B.leaf()",
                "   ▸ a.B.run()",
                "   ▸ a.B.run()"
            ]
        );
        press(&mut view, "←");
        assert_eq!(rows(&mut view), [" ▾ a.B.main()", ">  ▸ ×2 a.B.run()", "   ▸ a.B.run()"]);
        press(&mut view, "x");
        assert_eq!(
            rows(&mut view),
            [" ▾ a.B.main()", ">  ▸ a.B.run()", "   ▸ a.B.run()", "   ▸ a.B.run()"]
        );
        press(&mut view, "⇲");
        assert!(rows(&mut view)[3].starts_with('>'));
        press(&mut view, "←");
        assert!(rows(&mut view)[0].starts_with('>'), "it goes to the caller");
    }

    #[test]
    fn the_largest_calls_are_unfolded_as_long_as_they_fit() {
        let shown = Shown::new(EVENTS, &[]);
        let mut view = shown.view();
        press(&mut view, "u");
        let expected = [
            ">▾ a.B.main()",
            "   ▾ a.B.run()",
            "       ×2 a.B.leaf()",
            "   ▸ a.B.run()",
            "   ▾ a.B.run()",
            "       a.B.leaf()",
            "       a.B.other()",
        ];
        assert_eq!(rows(&mut view), expected);
        // Six rows: the two callees of the last `run` do not fit.
        view.resize(Rect::new(0, 0, WIDTH, HEIGHT - 3));
        press(&mut view, "u");
        assert_eq!(rows(&mut view), [&expected[..4], &["   ▸ a.B.run()"]].concat());
        press(&mut view, "↓↓u");
        assert_eq!(rows(&mut view)[2], ">      ×2 a.B.leaf()", "there is nothing to unfold");
        // Without shapes, calls that did the same are not known to.
        let events = without_shapes();
        let shown = Shown::new(&events, &[]);
        let mut view = shown.view();
        press(&mut view, "u");
        let found = rows(&mut view);
        assert_eq!(found[1..3], ["   ▾ a.B.run()", "       a.B.leaf()"], "{found:?}");
        assert_eq!(found.len(), 8, "{found:?}");
    }

    #[test]
    fn the_hot_path_leads_to_where_the_time_was_spent() {
        // By calls: `main` is spread over three calls of `run`.
        let shown = Shown::new(EVENTS, &[]);
        let mut view = shown.view();
        press(&mut view, "p");
        assert!(view.message.as_ref().unwrap().contains("no callee took half"));
        assert!(rows(&mut view)[0].starts_with(">▾ a.B.main()"));
        // By time: the second `leaf` of the second `run` takes most of it.
        let stay = |offset, by_ms: u64, from_ms: u64| {
            let (by_ns, from_ns) = (by_ms * 1_000_000, from_ms * 1_000_000);
            (offset, 0, Mark::Time { by_ns, from_ns, ran_us: None })
        };
        let time = |offset, ms| stay(offset, ms, ms);
        let marks =
            [time(0, 0), time(6, 2), time(9, 5), stay(10, 6, 95), time(11, 96), time(15, 100)];
        let shown = Shown::new(EVENTS, &marks);
        let mut view = shown.view();
        press(&mut view, "p");
        assert_eq!(
            (view.calls.as_ref().unwrap().row().unwrap().number(), &view.message),
            (6, &None)
        );
        let found = rows(&mut view);
        assert!(found.iter().any(|row| row == ">      a.B.leaf()"), "{found:?}");
    }

    #[test]
    fn methods_are_selected_in_place() {
        let shown = Shown::new(EVENTS, &[]);
        let mut view = shown.view();
        press(&mut view, "fa.B#leaf⏎");
        assert_eq!(rows(&mut view)[2], "   ×2 a.B.leaf()");
        assert!(view.heading().ends_with("5 of 10 calls of a.B#leaf"), "{}", view.heading());
        press(&mut view, "fnothing⏎");
        assert_eq!(
            view.message.as_deref(),
            Some("no call of this thread is one of the selected methods")
        );
        assert!(view.heading().ends_with("5 of 10 calls of a.B#leaf"), "{}", view.heading());
        press(&mut view, "f⏎");
        assert!(view.heading().ends_with("10 calls"), "{}", view.heading());
        press(&mut view, "o");
        assert!(view.message.as_ref().unwrap().contains("use f to name them"));
    }

    #[test]
    fn a_search_finds_each_call_of_a_method_with_shapes_and_without() {
        for events in [EVENTS.to_vec(), without_shapes()] {
            let shown = Shown::new(&events, &[]);
            let mut view = shown.view();
            let has_shapes =
                view.calls.as_mut().unwrap().here().unwrap().0.selected.whole().shapes().is_some();
            assert_eq!(has_shapes, events == EVENTS);
            let number = |view: &View<'_>| view.calls.as_ref().unwrap().row().unwrap().number();
            press(&mut view, "/LEAF⏎");
            let mut found = vec![number(&view)];
            for _ in 0..4 {
                press(&mut view, "n");
                found.push(number(&view));
            }
            assert_eq!(found, [2, 3, 5, 6, 8], "{has_shapes}");
            press(&mut view, "n");
            let nothing = "no call of a.B.leaf() after this one";
            assert!(view.message.as_ref().unwrap().contains("after this one"), "{nothing}");
            press(&mut view, "NNNNN");
            assert_eq!(number(&view), 2);
            press(&mut view, "/no such method⏎");
            assert!(view.message.as_ref().unwrap().starts_with("no method name has"));
            assert_eq!(number(&view), 2);
        }
    }

    #[test]
    fn a_found_call_is_shown_below_its_callers_alone() {
        let shown = Shown::new(EVENTS, &[]);
        let mut view = shown.view();
        press(&mut view, "g3⏎");
        assert_eq!(
            rows(&mut view),
            [
                " ▾ a.B.main()",
                "   ▾ a.B.run()",
                "       a.B.leaf()",
                ">      a.B.leaf()",
                "   ▸ a.B.run()",
                "   ▸ a.B.run()"
            ]
        );
        press(&mut view, "goffset:13⏎");
        assert_eq!(view.calls.as_ref().unwrap().row().unwrap().number(), 8, "an exit");
        press(&mut view, "g100%⏎");
        assert!(rows(&mut view).last().unwrap().starts_with('>'));
        press(&mut view, "g99⏎");
        assert_eq!(view.message.as_deref(), Some("this thread has no call 99"));
        press(&mut view, "gx y⏎");
        assert!(view.message.is_some());
    }

    #[test]
    fn a_caller_of_many_calls_is_scrolled_and_only_the_screen_is_kept() {
        for is_shaped in [true, false] {
            let mut events = vec![0x81];
            for n in 0..100_000_u32 {
                events.extend(if n % 2 == 0 { [0x82, 0x00] } else { [0x83, 0x00] });
            }
            events.extend(if is_shaped { &[0x84, 0x01][..] } else { &[0x84, 0x00, 0x00] });
            let shown = Shown::new(&events, &[]);
            let mut view = shown.view();
            press(&mut view, "⇲");
            let all = rows(&mut view);
            assert_eq!(all.len(), usize::from(HEIGHT) - 3, "{all:?}");
            assert_eq!(all.last().unwrap(), ">  a.B.other()");
            press(&mut view, "g50%⏎");
            let number = view.calls.as_ref().unwrap().row().unwrap().number();
            assert!((49_990..50_010).contains(&number), "{number}");
            press(&mut view, "⇱");
            assert_eq!(rows(&mut view)[0], ">▾ a.B.main()");
            for _ in 0..30 {
                press(&mut view, "↓");
            }
            assert_eq!(view.calls.as_ref().unwrap().row().unwrap().number(), 30);
            assert_eq!(view.calls.as_ref().unwrap().rows.len(), usize::from(HEIGHT) - 3);
            view.resize(Rect::new(0, 0, WIDTH, 30));
            let calls = view.calls.as_ref().unwrap();
            assert_eq!((calls.row().unwrap().number(), calls.rows.len()), (30, 27));
        }
    }

    fn time(at: u64) -> Mark {
        Mark::Time { by_ns: at, from_ns: at, ran_us: None }
    }

    /// A time before each event of `main`, `run`, its exception, and `run`.
    fn timed(words: &[&str]) -> Shown {
        let unwound = Mark::Unwound { exits: NonZeroU64::MIN, thrown: Some("x.Oops".to_owned()) };
        let events = &[0x81, 0x82, 0x83, 0x01, 0x82, 0x00, 0x82, 0x01];
        let marks = [
            (0, 0, time(1_000)),
            (1, 0, time(2_000)),
            (2, 0, time(4_000)),
            (3, 0, time(9_000)),
            (3, 0, unwound.clone()),
            (3, 1, time(10_000)),
            (4, 0, time(20_000)),
            (5, 0, time(40_000)),
            (6, 0, time(41_000)),
            (7, 0, time(43_000)),
            (7, 0, unwound),
            (7, 1, time(90_000)),
            (8, 0, time(90_000)),
        ];
        Shown::with(words, events, &marks)
    }

    #[test]
    fn exceptions_are_found_one_after_the_other() {
        let shown = timed(&["view"]);
        let mut view = shown.view();
        let number = |view: &View<'_>| view.calls.as_ref().unwrap().row().unwrap().number();
        press(&mut view, "e");
        assert_eq!(number(&view), 2);
        assert!(rows(&mut view).iter().any(|row| row.ends_with("a.B.leaf()  ! Oops")));
        press(&mut view, "e");
        assert_eq!(number(&view), 4);
        press(&mut view, "e");
        assert_eq!(number(&view), 4);
        assert_eq!(
            view.message.as_deref(),
            Some("no call was left by an exception after this one")
        );
        press(&mut view, "E");
        assert_eq!(number(&view), 2);
    }

    #[test]
    fn rows_have_durations_and_times_are_found() {
        let shown = timed(&["view"]);
        let mut view = shown.view();
        press(&mut view, "↓→");
        let lines = plain_lines(view.calls.as_mut().unwrap(), 60);
        assert_eq!(lines[0], "duration      self  calls    call");
        // From the middle between two samples to that between two others.
        assert!(lines[1].trim_start().starts_with("88.5 µs"), "{lines:#?}");
        press(&mut view, "g21us⏎");
        assert_eq!(view.calls.as_ref().unwrap().row().unwrap().number(), 3);
        press(&mut view, "g1s⏎");
        assert!(view.message.as_ref().unwrap().contains("1.000000 s"), "{:?}", view.message);
    }

    #[test]
    fn callers_and_callees_lead_to_calls() {
        for events in [EVENTS.to_vec(), without_shapes()] {
            let shown = Shown::new(&events, &[]);
            let mut view = shown.view();
            press(&mut view, "↓c");
            let list = view.shown_list().unwrap();
            let rows: Vec<_> = list.rows.iter().map(|row| row.text.trim_start()).collect();
            assert_eq!(rows[0], "callers: 1");
            assert!(rows[1].ends_with("a.B.main()") && rows[1].starts_with("3  "), "{rows:?}");
            assert_eq!(rows[2], "callees: 2");
            assert!(rows[3].ends_with("a.B.leaf()") && rows[3].starts_with("5  "), "{rows:?}");
            press(&mut view, "↓↓⏎");
            assert_eq!(view.calls.as_ref().unwrap().row().unwrap().number(), 2);
        }
    }

    #[test]
    fn tests_lead_to_what_they_called() {
        let test = |outcome| {
            let (name, detail) = ("a.BTest.runs()".to_owned(), String::new());
            Mark::Test(TestMark { outcome, name, detail })
        };
        let marks = [(6, 0, test(None)), (11, 0, test(Some(Outcome::Passed)))];
        let shown = Shown::new(EVENTS, &marks);
        let mut view = shown.view();
        press(&mut view, "t");
        let list = view.shown_list().unwrap();
        let rows: Vec<_> = list.rows.iter().map(|row| row.text.as_str()).collect();
        assert_eq!(rows, ["passed                  a.BTest.runs()"]);
        press(&mut view, "/none⏎");
        assert!(view.shown_list().unwrap().rows.is_empty());
        press(&mut view, "⎋");
        assert_eq!(view.shown_list().unwrap().rows.len(), 1, "Esc ends the filter first");
        press(&mut view, "/runs⏎⏎");
        assert_eq!(view.calls.as_ref().unwrap().row().unwrap().number(), 4);
        let shown = Shown::new(EVENTS, &[]);
        let mut view = shown.view();
        press(&mut view, "t");
        assert_eq!(view.message.as_deref(), Some("no tests are marked in this trace"));
    }

    #[test]
    fn callees_of_hidden_calls_move_up_to_their_callers() {
        for events in [EVENTS.to_vec(), without_shapes()] {
            let words = ["view", "--exclude", "a.B#run"];
            let shown = Shown::with(&words, &events, &[]);
            let mut view = shown.view();
            assert!(view.heading().ends_with("thread 1, 7 of 10 calls"), "{}", view.heading());
            let (two, one) = ("     ×2 a.B.leaf()", "     a.B.leaf()");
            let leaves = if events == EVENTS { vec![two, two, one] } else { vec![one; 5] };
            let expected = [vec![">▾ a.B.main()"], leaves, vec!["     a.B.other()"]].concat();
            assert_eq!(rows(&mut view), expected);
            assert_eq!(view.calls.as_ref().unwrap().rows[0].all_calls(), 7);
            press(&mut view, "⇲");
            assert!(rows(&mut view).last().unwrap().starts_with('>'));
            press(&mut view, "[");
            assert_eq!(view.calls.as_ref().unwrap().row().unwrap().number(), 8);
            press(&mut view, "←");
            assert_eq!(view.calls.as_ref().unwrap().row().unwrap().number(), 0, "its caller");
            press(&mut view, "/run⏎");
            assert!(
                view.message.as_ref().unwrap().contains("after this one"),
                "{:?}",
                view.message
            );
            press(&mut view, "g4⏎");
            assert!(view.message.as_ref().unwrap().starts_with("call 4 is not selected"));
            assert_eq!(view.calls.as_ref().unwrap().row().unwrap().number(), 0);
            press(&mut view, "c");
            let list = view.shown_list().unwrap();
            assert_eq!(list.rows[2].text, "callees: 2", "{:?}", list.rows);
        }
        let shown = Shown::with(&["view", "--include", "a.B#nothing"], EVENTS, &[]);
        let view = shown.view();
        assert!(view.is_on_threads);
        assert!(
            view.message.as_ref().unwrap().contains("one of the selected methods"),
            "{:?}",
            view.message
        );
    }

    #[test]
    fn exceptions_that_leave_hidden_calls_are_passed() {
        let shown = timed(&["view", "--exclude", "a.B#leaf"]);
        let mut view = shown.view();
        press(&mut view, "e");
        assert_eq!(view.calls.as_ref().unwrap().row().unwrap().number(), 4);
        press(&mut view, "E");
        assert!(view.message.as_ref().unwrap().contains("before this one"));
    }

    #[test]
    fn clicks_choose_and_unfold_and_the_wheel_scrolls() {
        let shown = Shown::new(EVENTS, &[]);
        let mut view = shown.view();
        let top = view.areas.body.y;
        view.on(Input::Click(5, top + 1));
        assert!(rows(&mut view)[1].starts_with('>'));
        view.on(Input::Click(5, top + 1));
        assert_eq!(rows(&mut view).len(), 5);
        for input in [Input::Click(5, top + 9), Input::Click(0, 0), Input::Click(200, 200)] {
            view.on(input);
        }
        assert!(rows(&mut view)[1].starts_with('>'), "there is nothing");
        view.on(Input::WheelDown);
        assert_eq!(rows(&mut view).len(), 5, "all of it is on the screen");
    }

    #[test]
    fn every_page_fits_on_every_screen() {
        let shown = Shown::with(&["view", "--source", "."], EVENTS, &[]);
        let mut view = shown.view();
        for keys in ["", "d", "s", "?", "⎋/x", "⎋c", "⎋t", "⎋⎋", "/1⏎"] {
            press(&mut view, keys);
            for (width, height) in [(1, 1), (20, 5), (80, 24), (200, 60)] {
                crate::terminal::shown(width, height, |frame| {
                    view.resize(frame.area());
                    draw(frame, &mut view);
                });
            }
        }
        assert!(view.is_on_threads);
        assert_eq!(view.on(Input::Key(Key::Char('r'))), Next::Reload);
        assert_eq!(view.on(Input::Key(Key::Char('q'))), Next::End);
    }

    #[test]
    fn damaged_and_empty_threads_are_reported() {
        let shown = Shown::new(
            &[0x81, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x00, 0x82],
            &[],
        );
        let view = shown.view();
        assert!(
            view.message.as_ref().unwrap().contains("1 place of this thread cannot be read"),
            "{:?}",
            view.message
        );
        let shown = Shown::new(&[], &[]);
        let view = shown.view();
        assert!(view.calls.is_none() && view.is_on_threads);
    }
}
