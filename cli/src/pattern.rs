//! Which methods are meant by the patterns of a command line.

use flow_codec::MethodId;
use flow_codec::read::Methods;

use crate::failure::Failure;
use crate::source::Source;

/// Patterns over `pkg.Class` or `pkg.Class#method`, of which one must match: `*` within a package, `**`
/// across, `?` one character.
#[derive(Debug)]
pub(crate) struct Patterns<'a>(&'a [String]);

impl<'a> Patterns<'a> {
    /// The patterns; each must match some method of the source.
    pub(crate) fn new(patterns: &'a [String], source: &Source) -> Result<Self, Failure> {
        for pattern in patterns {
            let one = Self(std::slice::from_ref(pattern));
            let in_trace =
                |methods: &Methods| methods.iter().any(|(id, _)| one.matches(methods, id));
            if !source.traces.iter().any(|trace| in_trace(&trace.methods)) {
                return Err(Failure::Failed(format!(
                    "no method like '{pattern}' in the trace; a pattern is pkg.Class or \
                     pkg.Class#method, with * for anything within a package and ** across"
                )));
            }
        }
        Ok(Self(patterns))
    }

    /// Whether there is no pattern.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a method is meant. Ids without a name never are.
    pub(crate) fn matches(&self, methods: &Methods, id: MethodId) -> bool {
        methods.get(id).is_some_and(|method| {
            let (class, name) = (&method.info.class, &method.info.name);
            self.0.iter().any(|pattern| is_method_like(pattern, class, name))
        })
    }
}

/// Whether a pattern matches a method of a class.
fn is_method_like(pattern: &str, class: &str, method: &str) -> bool {
    let (classes, methods) = match pattern.split_once('#') {
        Some((classes, methods)) => (classes, Some(methods)),
        None => (pattern, None),
    };
    is_like(classes, class) && methods.is_none_or(|methods| is_like(methods, method))
}

/// Matches by the set of places in the pattern that the text has come to: `*` and `**` stay where they
/// are.
fn is_like(pattern: &str, text: &str) -> bool {
    // A double star is one wildcard, and so are more of them.
    let mut tokens: Vec<(char, bool)> = Vec::new();
    for c in pattern.chars() {
        match tokens.last_mut() {
            Some(('*', across)) if c == '*' => *across = true,
            _ => tokens.push((c, false)),
        }
    }
    let skip = |places: &mut Vec<bool>| {
        for (at, (c, _)) in tokens.iter().enumerate() {
            let is_here = places.get(at) == Some(&true);
            if let Some(next) = places.get_mut(at + 1) {
                *next |= is_here && *c == '*';
            }
        }
    };
    let mut places = vec![false; tokens.len() + 1];
    places[0] = true;
    skip(&mut places);
    for c in text.chars() {
        let mut next = vec![false; tokens.len() + 1];
        for (at, token) in tokens.iter().enumerate().filter(|(at, _)| places[*at]) {
            match token {
                ('*', across) => next[at] |= *across || c != '.',
                ('?', _) => next[at + 1] |= c != '.',
                (literal, _) => next[at + 1] |= *literal == c,
            }
        }
        skip(&mut next);
        places = next;
    }
    places[tokens.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stay_within_a_package_and_double_stars_do_not() {
        for (pattern, yes) in [
            ("com.app.Main", true),
            ("com.app.Main#work", true),
            ("com.*.Main#w*k", true),
            ("**#work", true),
            ("com.***", true),
            ("com.app.M?in#????", true),
            ("com.app", false),
            ("com.*", false),
            ("*#work", false),
            ("com.app.Main#wor", false),
            ("", false),
        ] {
            assert_eq!(is_method_like(pattern, "com.app.Main", "work"), yes, "{pattern}");
        }
    }
}
