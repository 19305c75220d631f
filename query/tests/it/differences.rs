//! Values of calls that both sides made: compared by the events of hand-made traces.

use std::fs;
use std::num::NonZeroU64;

use flow_codec::format::flow::Encoded;
use flow_codec::format::marks::{HEADER, Mark, MarkEncoder, Position};
use flow_codec::format::values::{CallValue, Identity, Primitive, Role, Value};
use flow_codec::{MethodId, Offset};
use flow_query::Error;
use flow_query::ask::{Differences, DifferingValues, RunDifferences};
use flow_query::open::Traces;
use flow_query::select::{CallPlace, Filter};
use proptest::prelude::*;
use tempfile::TempDir;

/// What happens in a thread.
#[derive(Clone, Debug)]
enum Event {
    Enter(u64),
    Exit,
    /// By an exception of this class.
    Throw(&'static str),
    Value(Role, Value),
    /// The beginning of an access: see `write` and `read`.
    Part(CallValue),
}

use Event::{Enter, Exit, Part, Throw};

fn int(role: Role, number: i32) -> Event {
    Event::Value(role, Value::Primitive(Primitive::Int(number)))
}

fn argument(number: i32) -> Event {
    int(Role::Argument(0), number)
}

fn result(number: i32) -> Event {
    int(Role::Result, number)
}

fn text(role: Role, text: &str) -> Event {
    let units = text.encode_utf16().count() as u64;
    Event::Value(role, Value::Text { units, beginning: text.to_owned() })
}

/// An access to a static field.
fn access(role: Role, field: u64, number: i32) -> Event {
    let place = flow_codec::format::values::Place {
        field: Some(MethodId::new(field).expect("a sound trace")),
        ..Default::default()
    };
    let value = Value::Primitive(Primitive::Int(number));
    Part(CallValue { place: Some(Box::new(place)), ..CallValue::new(role, value) })
}

/// A trace with one thread. Methods have the ids 0 to 7, classes 16 and 17, fields 18 and 19; `shift` is added to all.
fn trace(events: &[Event], shift: u64) -> TempDir {
    let dir = tempfile::tempdir().expect("a sound trace");
    let mut ids = String::new();
    for id in 0..8 {
        ids += &format!("a.T#m{id}(I)I={}\n", id + shift);
    }
    for (id, key) in
        [(16, "a.C#<class>"), (17, "a.D#<class>"), (18, "a.T#<field>one"), (19, "a.T#<field>two")]
    {
        ids += &format!("{key}={}\n", id + shift);
    }
    fs::write(dir.path().join("ids.properties"), ids).expect("a sound trace");
    let (mut bytes, mut exits) = (Vec::new(), 0);
    let (mut marks, mut encoder) = (HEADER.to_vec(), MarkEncoder::default());
    let leave = |bytes: &mut Vec<u8>, exits: &mut u64| {
        if let Some(count) = NonZeroU64::new(std::mem::take(exits)) {
            bytes.extend_from_slice(Encoded::exits(count).as_bytes());
        }
    };
    for event in events {
        let position = Position { offset: Offset::new(bytes.len() as u64), exits };
        let mut values = |value: CallValue| {
            let mut encoded = Vec::new();
            value.encode(&mut encoded);
            encoder.encode(position, &Mark::Values(encoded), &mut marks);
        };
        match event {
            Enter(method) => {
                leave(&mut bytes, &mut exits);
                let method = MethodId::new(method + shift).expect("a sound trace");
                bytes.extend_from_slice(Encoded::enter(method).as_bytes());
            }
            Exit => exits += 1,
            Throw(class) => {
                let thrown = Some((*class).to_owned());
                encoder.encode(
                    position,
                    &Mark::Unwound { exits: NonZeroU64::MIN, thrown },
                    &mut marks,
                );
                exits += 1;
            }
            Event::Value(role, value) => values(CallValue::new(*role, shifted(value, shift))),
            Part(value) => {
                let mut value = value.clone();
                if let Some(field) = value.place.as_mut().and_then(|place| place.field.as_mut()) {
                    *field = MethodId::new(field.get() + shift).expect("a sound trace");
                }
                values(value);
            }
        }
    }
    leave(&mut bytes, &mut exits);
    encoder.finish(&mut marks);
    fs::write(dir.path().join("thread-1.flow"), bytes).expect("a sound trace");
    fs::write(dir.path().join("thread-1.marks"), marks).expect("a sound trace");
    dir
}

fn shifted(value: &Value, shift: u64) -> Value {
    match value {
        Value::Object(Identity { class, hash }) => {
            let class = class.and_then(|class| MethodId::new(class.get() + shift));
            Value::Object(Identity {
                class,
                hash: hash + u32::try_from(shift).expect("a sound trace"),
            })
        }
        other => other.clone(),
    }
}

fn compare(asked: &Differences<'_>, before: &[Event], after: &[Event]) -> RunDifferences {
    let (before, after) = (trace(before, 0), trace(after, 40));
    let open = |dir: &TempDir| Traces::open(dir.path()).expect("a sound trace");
    let (before, after) = (open(&before), open(&after));
    asked.find([&before, &after], &mut ()).expect("a sound trace")
}

/// The values that differ, and whether the calls are the same.
fn differing(before: &[Event], after: &[Event]) -> (DifferingValues, bool) {
    let found = compare(&Differences::default().with_values(), before, after);
    let mut differing = found.differing.into_iter();
    differing.next().map_or((DifferingValues::default(), true), |thread| {
        (thread.values, thread.comparison.is_same())
    })
}

/// `m2 result 1/2: 1, 0` for each value: how many differ of how many, and the first one on both sides.
fn shown(found: &DifferingValues) -> Vec<String> {
    let row = |value: &flow_query::ask::DifferingValue| {
        let first = &value.first;
        let [before, after] = &first.texts;
        let method = value.method.get();
        format!("m{method} {} {}/{}: {before}, {after}", first.name, value.count, value.compared)
    };
    found.values.iter().map(row).collect()
}

/// `m0 > (m1(12) = first, m1(13) = second)`.
fn two_calls(first: i32, second: i32) -> Vec<Event> {
    let call = |given, returned| [Enter(1), argument(given), result(returned), Exit];
    [&[Enter(0)], &call(12, first)[..], &call(13, second), &[Exit]].concat()
}

#[test]
fn the_first_value_that_differs_has_its_call_callers_and_arguments() {
    let (found, is_same) = differing(&two_calls(1, 1), &two_calls(1, 0));
    assert!(is_same && found.is_before_calls);
    assert_eq!((found.calls, found.compared, found.count()), (3, 4, 1));
    let value = found.first().expect("a sound trace");
    let stack: Vec<_> = value.first.stack.iter().map(|method| method.get()).collect();
    assert_eq!(stack, [value.first.stack[0].get(), value.method.get()]);
    assert_eq!((value.name.as_str(), value.count, value.compared), ("result", 1, 2));
    assert_eq!(value.first.texts, ["1", "0"]);
    assert_eq!(value.first.numbers, [2, 2]);
    assert_eq!(value.first.arguments, "(arg0 = 13)");
    let (found, _) = differing(&two_calls(1, 1), &two_calls(0, 0));
    assert_eq!((found.count(), found.values.len()), (2, 1));
    assert_eq!(found.values[0].first.numbers, [1, 1]);
    let (found, is_same) = differing(&two_calls(1, 1), &two_calls(1, 1));
    assert!(is_same && found.values.is_empty());
}

#[test]
fn which_object_it_is_does_not_count_but_its_class_does() {
    let object = |class| {
        let object = Identity { class: MethodId::new(class), hash: 7 };
        [Enter(0), Event::Value(Role::Result, Value::Object(object)), Exit]
    };
    let (found, _) = differing(&object(16), &object(16));
    assert!(found.values.is_empty(), "{found:?}");
    let (found, _) = differing(&object(16), &object(17));
    assert_eq!(shown(&found), ["m0 result 1/1: C@7, D@2f"]);
}

/// `m0 > (m1 > (callee(inner), m3(inner)) = returned, m4(last))`.
fn parting(callee: u64, inner: i32, returned: i32, last: i32) -> Vec<Event> {
    let inner = [Enter(callee), argument(inner), Exit, Enter(3), argument(inner), Exit];
    [
        &[Enter(0), Enter(1)],
        &inner[..],
        &[result(returned), Exit, Enter(4), argument(last), Exit, Exit],
    ]
    .concat()
}

#[test]
fn calls_that_one_side_made_are_skipped() {
    let (found, is_same) = differing(&parting(2, 1, 1, 1), &parting(5, 2, 2, 2));
    assert!(!is_same && !found.is_before_calls);
    let shown = shown(&found);
    assert_eq!(shown.len(), 3, "{shown:?}");
    for (row, end) in shown.iter().zip(["arg0 1/1: 1, 2", "result 1/1: 1, 2", "arg0 1/1: 1, 2"]) {
        assert!(row.ends_with(end), "{shown:?}");
    }
    assert_eq!(found.calls, 4, "all but m2 and m5");
    // What differs before may be why.
    let given = |number| {
        let callee = if number == 1 { 2 } else { 3 };
        [Enter(0), argument(number), Enter(callee), Exit, Exit]
    };
    let (found, is_same) = differing(&given(1), &given(2));
    assert!(!is_same && found.is_before_calls, "{found:?}");
    assert_eq!(found.count(), 1);
}

#[test]
fn where_calls_part_without_a_guide_the_rest_of_their_caller_is_skipped_but_not_its_result() {
    let asked = Differences::default().with_values().at_most(0);
    let found = compare(&asked, &parting(2, 1, 1, 1), &parting(5, 2, 2, 2));
    let values = &found.differing[0].values;
    let shown = shown(values);
    assert_eq!(shown.len(), 2, "{shown:?}");
    assert!(shown[0].ends_with("result 1/1: 1, 2"), "{shown:?}");
    assert!(shown[1].ends_with("arg0 1/1: 1, 2"), "{shown:?}");
    assert_eq!(values.calls, 3, "m3 does not count");
}

#[test]
fn the_class_and_the_message_of_an_exception_are_values() {
    let thrown =
        |class, message| [Enter(0), Enter(1), text(Role::Message, message), Throw(class), Exit];
    let (found, is_same) = differing(&thrown("a.Bad", "x"), &thrown("a.Worse", "y"));
    assert!(is_same, "both were left by an exception");
    let shown = shown(&found);
    assert_eq!(shown.len(), 2, "{shown:?}");
    assert!(shown[0].ends_with("message 1/1: \"x\", \"y\""), "{shown:?}");
    assert!(shown[1].ends_with("exception 1/1: a.Bad, a.Worse"), "{shown:?}");
    // If one returns, it is the calls that differ.
    let returned = [Enter(0), Enter(1), result(5), Exit, Exit];
    let (found, is_same) = differing(&thrown("a.Bad", "x"), &returned);
    assert!(!is_same && found.values.is_empty(), "{found:?}");
}

#[test]
fn accesses_are_compared_in_order_until_they_part() {
    let accesses = |all: &[Event]| [&[Enter(0)], all, &[Exit, Enter(0), Exit]].concat();
    let (read, write) = (Role::Read, Role::Write);
    let before = accesses(&[access(read, 18, 1), access(write, 19, 5), access(write, 18, 2)]);
    let after = accesses(&[access(read, 18, 3), access(write, 19, 5), access(write, 18, 2)]);
    let (found, _) = differing(&before, &after);
    assert_eq!(shown(&found), ["m0 field(one) 1/2: 1, 3"]);
    let after = accesses(&[access(read, 18, 1), access(write, 18, 5), access(write, 19, 9)]);
    let (found, _) = differing(&before, &after);
    assert_eq!(shown(&found), ["m0 access 1/1: write T.two = 5, write T.one = 5"]);
    let after = accesses(&[access(read, 18, 1)]);
    let (found, _) = differing(&before, &after);
    assert_eq!(shown(&found), ["m0 access 1/1: write T.two = 5, none"]);
}

#[test]
fn what_was_not_recorded_of_one_side_is_no_difference() {
    let with = [Enter(0), argument(1), access(Role::Read, 18, 1), result(2), Exit];
    let (found, is_same) = differing(&with, &[Enter(0), Exit]);
    assert!(is_same, "{found:?}");
    // A field that both traces know is another matter: both may record it.
    assert_eq!(shown(&found), ["m0 access 1/1: read T.one = 1, none"]);
    let found = compare(&Differences::default(), &two_calls(1, 1), &two_calls(2, 2));
    assert!(found.differing.is_empty() && found.values.is_none(), "only on request");
}

#[test]
fn ignored_calls_and_those_of_other_methods_are_not_compared() {
    let asked = || Differences::default().with_values();
    let (before, after) = (two_calls(1, 1), two_calls(1, 0));
    let ignoring = asked().ignoring(&["a.T#m1".to_owned()]);
    let found = compare(&ignoring, &before, &after);
    assert!(found.differing.is_empty(), "{found:?}");
    let only_m0 = Filter::new(&["a.T#m0".to_owned()], &[], false);
    let found = compare(&asked().of_methods(only_m0), &before, &after);
    assert!(found.differing.is_empty(), "{found:?}");
}

fn select(events: &[Event], call: &str) -> Result<(Traces, TempDir), Error> {
    let dir = trace(events, 0);
    let mut traces = Traces::open(dir.path()).expect("a sound trace");
    let place: CallPlace = call.parse()?;
    traces.select_call(place, &mut ())?;
    Ok((traces, dir))
}

#[test]
fn two_calls_of_a_trace_are_compared() {
    let events = two_calls(1, 0);
    let (before, _dir) = select(&events, "1:1").expect("a sound trace");
    let (after, _other) = select(&events, "2 in 1 main").expect("a sound trace");
    let asked = Differences::default().with_values().pairing_all().of_one_run();
    let found = asked
        .clone()
        .numbered_from([1, 2])
        .find([&before, &after], &mut ())
        .expect("a sound trace");
    assert_eq!((found.calls, found.compared), ([1, 1], 1));
    let values = &found.differing[0].values;
    let rows = shown(values);
    assert_eq!(rows.len(), 2, "{rows:?}");
    assert!(rows[0].ends_with("arg0 1/1: 12, 13") && rows[1].ends_with("result 1/1: 1, 0"));
    assert_eq!(values.first().expect("a sound trace").first.numbers, [1, 2]);
    // The caller is a call, too.
    let (before, _dir) = select(&events, "1:0").expect("a sound trace");
    let found = asked.find([&before, &after], &mut ()).expect("a sound trace");
    assert_eq!(found.calls, [3, 1]);
}

#[test]
fn a_call_that_does_not_exist_is_an_error() {
    let events = two_calls(1, 1);
    let error = |call: &str| select(&events, call).unwrap_err().to_string();
    assert_eq!(error("1:3"), "thread 1 has no call 3: its calls have the numbers 0 to 2");
    assert!(
        error("2:0").starts_with("no thread '2' with events; there are: 1"),
        "{}",
        error("2:0")
    );
    for bad in ["", "1", "x:1", "1:x", "1:2:3", "call 7"] {
        assert!(error(bad).starts_with("expected a call as THREAD:NUMBER"), "{bad}");
    }
}

#[test]
fn of_a_call_in_a_run_of_exits_nothing_else_is_compared() {
    // m0 > m1 > m2: one run of three exits, each with a result.
    let nested = |results: [i32; 3]| {
        let mut events = vec![Enter(0), Enter(1), Enter(2)];
        results.iter().for_each(|number| events.extend([result(*number), Exit]));
        events
    };
    for (call, differs) in [("1:2", 1), ("1:1", 2), ("1:0", 3)] {
        let (before, _dir) = select(&nested([1, 1, 1]), call).expect("a sound trace");
        let (after, _other) = select(&nested([2, 2, 2]), call).expect("a sound trace");
        let asked = Differences::default().with_values().pairing_all().of_one_run();
        let found = asked.find([&before, &after], &mut ()).expect("a sound trace");
        assert!(found.differing[0].comparison.is_same(), "{call}: {found:?}");
        assert_eq!(found.differing[0].values.count(), differs, "{call}");
    }
}

#[test]
fn a_call_that_is_still_open_ends_with_the_thread() {
    let open = [Enter(0), Enter(1), Exit, Enter(2), argument(1)];
    let (before, _dir) = select(&open, "1:2").expect("a sound trace");
    let (after, _other) = select(&open, "1:0").expect("a sound trace");
    let asked = Differences::default().with_values().pairing_all().of_one_run();
    let found = asked.find([&before, &after], &mut ()).expect("a sound trace");
    assert_eq!(found.calls, [1, 3]);
    let found = asked.find([&after, &after], &mut ()).expect("a sound trace");
    assert!(found.differing.is_empty() && found.values == Some(1), "{found:?}");
}

/// Calls with an argument and a result, any of which may be left by an exception.
fn any_events() -> impl Strategy<Value = Vec<Event>> {
    let call = (0_u64..4, -2_i32..3, 0_u64..4, -2_i32..3, any::<bool>());
    prop::collection::vec(call, 1..40).prop_map(|calls| {
        let (mut events, mut open) = (Vec::new(), 0);
        for (method, given, exits, returned, throws) in calls {
            events.extend([Enter(method), argument(given)]);
            open += 1;
            for _ in 0..exits.min(open) {
                match throws {
                    true => events.extend([text(Role::Message, "m"), Throw("a.Bad")]),
                    false => events.extend([result(returned), Exit]),
                }
            }
            open -= exits.min(open);
        }
        events
    })
}

proptest! {
    #[test]
    fn a_changed_value_is_the_only_one_that_is_found(events in any_events(), at in any::<prop::sample::Index>()) {
        let found = compare(&Differences::default().with_values(), &events, &events);
        let is_value = |event: &&Event| matches!(event, Event::Value(..));
        let values = events.iter().filter(is_value).count() as u64;
        let thrown = events.iter().filter(|event| matches!(event, Throw(_))).count() as u64;
        prop_assert!(found.differing.is_empty());
        prop_assert_eq!(found.values, Some(values + thrown));
        let mut changed = events.clone();
        let places: Vec<_> = (0..events.len()).filter(|at| is_value(&&events[*at])).collect();
        let place = places[at.index(places.len())];
        let Event::Value(role, _) = events[place] else { unreachable!() };
        changed[place] = int(role, 1_000);
        // The call is the innermost one that is open there.
        let (mut open, mut calls) = (Vec::new(), 0);
        for event in &events[..place] {
            match event {
                Enter(_) => {
                    open.push(calls);
                    calls += 1;
                }
                Exit | Throw(_) => drop(open.pop()),
                _ => {}
            }
        }
        let (values, is_same) = differing(&events, &changed);
        prop_assert!(is_same && values.is_before_calls && values.count() == 1);
        let first = &values.first().expect("a sound trace").first;
        let number = *open.last().expect("a sound trace");
        prop_assert_eq!(first.numbers, [number, number]);
        prop_assert_eq!(first.stack.len(), open.len());
        prop_assert_eq!(&first.texts[1], "1000");
    }

    /// Each call is compared, or only one side made it.
    #[test]
    fn calls_of_any_two_threads_are_read_in_step_or_skipped(before in any_events(), after in any_events()) {
        let found = compare(&Differences::default().with_values(), &before, &after);
        let Some(thread) = found.differing.first() else { return Ok(()) };
        for (events, is_added) in [(&before, false), (&after, true)] {
            let calls = events.iter().filter(|event| matches!(event, Enter(_))).count() as u64;
            let only = thread.comparison.differences().iter().map(|difference| {
                let shifts = difference.shifts.iter().filter(|shift| shift.is_added == is_added);
                let calls = shifts.map(|shift| found.shapes.calls(shift.shape) * shift.count);
                difference.times * calls.sum::<u64>()
            });
            prop_assert_eq!(thread.values.calls + only.sum::<u64>(), calls);
        }
    }
}
