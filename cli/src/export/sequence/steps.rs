//! Calls one after the other, those that repeat as loops.

use std::rc::Rc;

use flow_codec::MethodId;

/// Calls deeper than this are left out. Steps are nested as deep, and functions call themselves for what is nested.
pub(super) const MAX_DEPTH: usize = 64;
/// How many steps are in memory. Further calls are left out, unless they repeat others.
pub(super) const MAX_STEPS: usize = 100_000;
/// A loop has at most this many steps.
const MAX_LOOP: usize = 8;

/// A step of a sequence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Step {
    Call(Call),
    /// Steps that happen several times.
    Loop(u64, Vec<Step>),
    /// What is handed to another thread, by its number.
    Given(u64),
    /// What was handed to a thread.
    Part(Part),
    /// Steps of one of two sides that are compared, with words for that.
    Only(Rc<str>, Vec<Step>),
    /// A remark on the caller, or on a thread.
    Note(Rc<str>),
}

/// A call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Call {
    pub(super) method: MethodId,
    /// The class of the exception that ended it.
    pub(super) thrown: Option<Rc<str>>,
    pub(super) inside: Vec<Step>,
}

/// What a thread does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Part {
    /// The name of the thread.
    pub(super) thread: Rc<str>,
    pub(super) steps: Vec<Step>,
}

/// Appends a step. If the last ones repeat those before them, both become a loop. Returns how many steps that made superfluous.
pub(super) fn push(steps: &mut Vec<Step>, step: Step) -> usize {
    if let (Some(Step::Loop(times, before)), Step::Loop(more, body)) = (steps.last_mut(), &step)
        && before == body
    {
        *times = times.saturating_add(*more);
        return step.count();
    }
    steps.push(step);
    let repeats = (1..=MAX_LOOP).find_map(|count| {
        let start = steps.len().checked_sub(count + 1)?;
        let (before, last) = steps.split_at(start + 1);
        match before.last() {
            Some(Step::Loop(_, body)) if body == last => Some((start, count, true)),
            _ => {
                let start = start.checked_sub(count - 1)?;
                let (one, other) = steps.get(start..)?.split_at(count);
                (one == other).then_some((start, count, false))
            }
        }
    });
    let Some((start, count, continues)) = repeats else { return 0 };
    let repeated = steps.split_off(steps.len() - count);
    let superfluous = repeated.iter().map(Step::count).sum();
    match steps.get_mut(start) {
        Some(Step::Loop(times, _)) if continues => *times += 1,
        _ => {
            steps.truncate(start);
            steps.push(Step::Loop(2, repeated));
        }
    }
    superfluous
}

impl Step {
    /// The steps inside.
    pub(super) fn inside(&self) -> &[Self] {
        match self {
            Self::Call(call) => &call.inside,
            Self::Loop(_, steps) | Self::Only(_, steps) | Self::Part(Part { steps, .. }) => steps,
            Self::Given(_) | Self::Note(_) => &[],
        }
    }

    /// How many steps there are, itself included.
    pub(super) fn count(&self) -> usize {
        1 + self.inside().iter().map(Self::count).sum::<usize>()
    }

    /// How many messages a diagram has of it.
    pub(super) fn messages(&self) -> usize {
        let inside: usize = self.inside().iter().map(Self::messages).sum();
        match self {
            Self::Call(call) => inside + 1 + usize::from(call.thrown.is_some()),
            _ => inside,
        }
    }
}

/// The outermost calls, as many as this around each other. More of them may be equal than before.
pub(super) fn outermost(steps: &[Step], depth: usize) -> Vec<Step> {
    let mut outer = Vec::new();
    for step in steps {
        let step = match step {
            Step::Call(_) if depth == 0 => continue,
            Step::Call(call) => {
                Step::Call(Call { inside: outermost(&call.inside, depth - 1), ..call.clone() })
            }
            Step::Loop(times, steps) => match &outermost(steps, depth)[..] {
                [] => continue,
                [Step::Loop(inner, steps)] => {
                    Step::Loop(inner.saturating_mul(*times), steps.clone())
                }
                steps => Step::Loop(*times, steps.to_vec()),
            },
            Step::Part(part) => match outermost(&part.steps, depth) {
                steps if steps.is_empty() => continue,
                steps => Step::Part(Part { steps, ..part.clone() }),
            },
            Step::Given(_) | Step::Only(..) | Step::Note(_) => continue,
        };
        push(&mut outer, step);
    }
    outer
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps as text: a letter is a call, which makes those in brackets.
    fn parsed(text: &str) -> Vec<Step> {
        let mut open = vec![Vec::new()];
        for (at, letter) in text.char_indices() {
            match letter {
                '(' => open.push(Vec::new()),
                ')' => {
                    let inside = open.pop().unwrap();
                    let steps = open.last_mut().unwrap();
                    let Some(Step::Call(call)) = steps.pop() else { panic!("{text}") };
                    push(steps, Step::Call(Call { inside, ..call }));
                }
                letter => {
                    let method = MethodId::new(u64::from(letter)).unwrap();
                    let call = Step::Call(Call { method, thrown: None, inside: Vec::new() });
                    let has_inside = text[at + letter.len_utf8()..].starts_with('(');
                    let steps = open.last_mut().unwrap();
                    if has_inside {
                        steps.push(call);
                    } else {
                        push(steps, call);
                    }
                }
            }
        }
        open.pop().unwrap()
    }

    fn shown(steps: &[Step]) -> String {
        let show = |step: &Step| match step {
            Step::Call(call) => {
                let letter = char::from_u32(u32::try_from(call.method.get()).unwrap()).unwrap();
                let inside = shown(&call.inside);
                if inside.is_empty() { letter.to_string() } else { format!("{letter}({inside})") }
            }
            Step::Loop(times, steps) => format!("{times}[{}]", shown(steps)),
            other => panic!("{other:?}"),
        };
        steps.iter().map(show).collect()
    }

    #[test]
    fn steps_that_repeat_are_loops() {
        for (text, expected) in [
            ("", ""),
            ("ab", "ab"),
            ("aaa", "3[a]"),
            ("xababab", "x3[ab]"),
            ("aabaabaab", "3[2[a]b]"),
            ("a(bb)a(bb)c", "2[a(2[b])]c"),
            ("a(b)a", "a(b)a"),
            ("abcdefghiabcdefghi", "abcdefghiabcdefghi"),
        ] {
            let steps = parsed(text);
            assert_eq!(shown(&steps), expected, "{text}");
        }
    }

    #[test]
    fn without_deep_calls_more_are_equal() {
        let steps = parsed("a(b)a(c)a(d(e))");
        assert_eq!(shown(&outermost(&steps, 3)), "a(b)a(c)a(d(e))");
        assert_eq!(shown(&outermost(&steps, 2)), "a(b)a(c)a(d)");
        assert_eq!(shown(&outermost(&steps, 1)), "3[a]");
        let steps = parsed("a(b)a(c)xa(b)a(c)x");
        assert_eq!(shown(&steps), "2[a(b)a(c)x]");
        assert_eq!(shown(&outermost(&steps, 1)), "2[2[a]x]");
        assert_eq!(shown(&outermost(&parsed("a(b)a(c)a(b)a(c)"), 1)), "4[a]");
        assert_eq!(shown(&outermost(&parsed("a(b)a(b)a(c)a(c)a(c)"), 1)), "5[a]");
    }
}
