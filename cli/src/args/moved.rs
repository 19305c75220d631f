//! Verbs and flags that flow once had: what to type instead.

use crate::output::shell_quoted;

/// Flags of verbs that are gone, and have no value.
const WITHOUT_VALUE: [&str; 16] = [
    "--calls",
    "--lcov",
    "--marks",
    "--outliers",
    "--own",
    "--per-thread",
    "--raw-names",
    "--remove",
    "--time",
    "--tree",
    "--verbose",
    "--wall",
    "--help",
    "-h",
    "--json",
    "--jsonl",
];

/// The words that follow an old verb, which become those of a new one.
struct Words(Vec<String>);

impl Words {
    /// The words that are no flags and no values of flags.
    fn positionals(&self) -> Vec<String> {
        let mut positionals = Vec::new();
        let mut words = self.0.iter();
        while let Some(word) = words.next() {
            let is_flag = word.starts_with('-') && word.len() > 1;
            if !is_flag {
                positionals.push(word.clone());
            } else if !word.contains('=') && !WITHOUT_VALUE.contains(&word.as_str()) {
                words.next();
            }
        }
        positionals
    }

    fn has(&self, flag: &str) -> bool {
        self.0.iter().any(|word| is_flag(word, flag))
    }

    /// Replaces a flag without a value.
    fn replace(&mut self, flag: &str, by: &[&str]) -> bool {
        let Some(at) = self.0.iter().position(|word| word == flag) else { return false };
        self.0.splice(at..=at, by.iter().map(|word| (*word).to_owned()));
        true
    }

    /// Removes a flag and its value, and returns the value.
    fn take(&mut self, flag: &str) -> Option<String> {
        let at = self.0.iter().position(|word| is_flag(word, flag))?;
        let word = self.0.remove(at);
        match word.split_once('=') {
            Some((_, value)) => Some(value.to_owned()),
            None if at < self.0.len() => Some(self.0.remove(at)),
            None => Some(String::new()),
        }
    }

    fn remove(&mut self, words: &[String]) {
        for word in words {
            if let Some(at) = self.0.iter().position(|known| known == word) {
                self.0.remove(at);
            }
        }
    }

    /// A command that begins with some words and continues with these.
    fn after(self, start: &str) -> String {
        let rest = self.0.iter().map(|word| quoted(word));
        let words: Vec<_> = std::iter::once(start.to_owned()).chain(rest).collect();
        words.join(" ")
    }
}

/// A word as a shell takes it. Flags, and options such as `key=value`, stay as they are.
fn quoted(word: &str) -> String {
    let mut parts = word.trim_start_matches('-').split('=').filter(|part| !part.is_empty());
    if parts.all(|part| shell_quoted(part) == part) { word.to_owned() } else { shell_quoted(word) }
}

fn is_flag(word: &str, flag: &str) -> bool {
    word == flag || word.strip_prefix(flag).is_some_and(|rest| rest.starts_with('='))
}

/// What replaces a verb that is gone, with the words after it; `None` if there was no such verb.
pub(super) fn verb(old: &str, rest: &[String]) -> Option<String> {
    let mut words = Words(rest.to_vec());
    words.replace("--wall", &["--by", "wall"]);
    Some(match old {
        "graph" => words.after("report --tree"),
        "lines" => match words.replace("--lcov", &[]) {
            true => words.after("export --to lcov"),
            false => words.after("report --lines"),
        },
        "profile" => profile(words),
        "find" => words.after("calls"),
        "grep" if words.has("--where") => words.after("calls"),
        "grep" => words.after("calls --values"),
        "shapes" => shapes(words),
        "convert" => convert(words),
        "index" => match words.replace("--remove", &[]) {
            true => words.after("check --remove-index"),
            false => words.after("check --index"),
        },
        "dump" => match words.replace("--marks", &[]) {
            true => words.after("check --marks"),
            false => words.after("check --records"),
        },
        "man" => words.after("help man"),
        "completions" => words.after("help completions"),
        _ => return None,
    })
}

fn profile(mut words: Words) -> String {
    let is_log = words.positionals().iter().any(|path| path.ends_with(".hpl"));
    match words.take("--threads").as_deref() {
        Some("id") => words.0.push("--per-thread".to_owned()),
        Some("name") => words.0.push("--per-thread-name".to_owned()),
        _ => {}
    }
    if let Some(by) = words.take("--by") {
        let by = match by.as_str() {
            "count" => "calls",
            "time" if is_log => "wall",
            "time" => "cpu",
            by => by,
        };
        words.0.extend(["--by".to_owned(), by.to_owned()]);
    }
    let is_diff = words.positionals().len() > 1;
    match (is_diff, words.has("--calls")) {
        (true, true) => {
            words.replace("--calls", &[]);
            words.after("diff --methods")
        }
        (true, false) => words.after("diff --samples"),
        (false, false) if !is_log => words.after("report --samples"),
        (false, _) => words.after("report"),
    }
}

fn shapes(mut words: Words) -> String {
    if let Some(file) = words.take("--baseline") {
        words.0.extend(["-o".to_owned(), file]);
        return words.after("export --to baseline");
    }
    words.replace("--outliers", &["--odd"]);
    words.replace("--time", &["--durations"]);
    words.after("calls --by shape")
}

fn convert(mut words: Words) -> String {
    let places = words.positionals();
    words.remove(&places);
    let mut places = places.into_iter();
    let from = places.next().unwrap_or_else(|| "IN".to_owned());
    let to = places.next().unwrap_or_else(|| "OUT.flowtrace".to_owned());
    let form = if to.ends_with(".flowtrace") { "flowtrace" } else { "flow" };
    words.0.splice(0..0, [from, "--to".to_owned(), form.to_owned(), "-o".to_owned(), to]);
    words.after("export")
}

/// What replaces a flag that a verb no longer has, with the words after the verb; `None` if it had no such flag.
pub(super) fn flag(verb: &str, flag: &str, rest: &[String]) -> Option<String> {
    let mut words = Words(rest.to_vec());
    match (verb, flag) {
        ("report", "--slowest") => return Some(words.after("calls")),
        ("report", "--lcov") => {
            words.replace("--lines", &[]);
            words.replace("--lcov", &[]);
            return Some(words.after("export --to lcov"));
        }
        ("report" | "export", "--wall") => drop(words.replace(flag, &["--by", "wall"])),
        ("top" | "listen", "--json") => drop(words.replace(flag, &["--format", "json"])),
        ("listen", "--jsonl") => {
            words.replace(flag, &["--report", "calls", "--format", "json"]);
        }
        ("record" | "attach", "--earlier") => {
            let is_flag = |flags: &[&str]| flags.iter().any(|flag| words.has(flag));
            let has_place = is_flag(&["-o", "--out"]);
            let at = words.0.iter().position(|word| self::is_flag(word, flag))?;
            let earlier = words.take(flag)?;
            // The last run counts, too.
            let runs = earlier
                .parse()
                .map_or(earlier.clone(), |earlier: u32| earlier.saturating_add(1).to_string());
            let new = match has_place {
                true => ["-O".to_owned(), format!("earlier={earlier}")],
                false => ["--keep-runs".to_owned(), runs],
            };
            words.0.splice(at..at, new);
        }
        ("record" | "attach", _) => match agent_option(flag)? {
            (key, Some(value)) => drop(words.replace(flag, &["-O", &format!("{key}={value}")])),
            (key, None) => {
                let at = words.0.iter().position(|word| is_flag(word, flag))?;
                let option = format!("{key}={}", words.take(flag)?);
                words.0.splice(at..at, ["-O".to_owned(), option]);
            }
        },
        _ => return None,
    }
    Some(words.after(verb))
}

/// What replaces a value of a flag.
pub(super) fn value(flag: &str, old: &str) -> Option<&'static str> {
    Some(match (flag, old) {
        ("--by", "time") => "wall",
        ("--by", "count") => "calls",
        ("--outcome", "unwound") => "exception",
        _ => return None,
    })
}

/// The option of the agent that a flag once set, and to what, if that is always the same.
fn agent_option(flag: &str) -> Option<(&str, Option<&'static str>)> {
    Some(match flag {
        "--no-constructors" => ("constructors", Some("false")),
        "--no-synthetic" => ("synthetic", Some("false")),
        "--natives" => ("natives", Some("true")),
        "--event-format" => ("format", None),
        "--rotate" | "--skip" | "--max-value" | "--sample-clock" | "--max-frames" | "--order"
        | "--min-free" | "--start" | "--ids" | "--optimize" | "--journal" | "--chunk" | "--log" => {
            (flag.trim_start_matches('-'), None)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn a_verb_that_is_gone_has_a_new_form_with_all_its_words() {
        for (old, new) in [
            ("graph t", "report --tree t"),
            ("graph --wall --method A#m t", "report --tree --by wall --method 'A#m' t"),
            ("lines --lcov", "export --to lcov"),
            ("profile app.hpl", "report app.hpl"),
            ("profile --threads id t", "report --samples t --per-thread"),
            ("profile --by count --calls", "report --calls --by calls"),
            ("profile a.hpl --sort self b.hpl", "diff --samples a.hpl --sort self b.hpl"),
            ("profile --calls a b", "diff --methods a b"),
            ("find 3f9c2a t", "calls 3f9c2a t"),
            ("grep A#m --where result<0", "calls 'A#m' --where 'result<0'"),
            ("grep A#m", "calls --values 'A#m'"),
            ("shapes A#m --outliers --time", "calls --by shape 'A#m' --odd --durations"),
            ("shapes --baseline b.txt t", "export --to baseline t -o b.txt"),
            ("convert t t.flowtrace", "export t --to flowtrace -o t.flowtrace"),
            (
                "convert --compress off t.flowtrace d",
                "export t.flowtrace --to flow -o d --compress off",
            ),
            ("index t", "check --index t"),
            ("index --remove t", "check --remove-index t"),
            ("dump --max 3 t", "check --records --max 3 t"),
            ("dump --marks t", "check --marks t"),
            ("man replay", "help man replay"),
            ("completions bash", "help completions bash"),
        ] {
            let words = words(old);
            assert_eq!(verb(&words[0], &words[1..]).as_deref(), Some(new), "{old}");
        }
        assert_eq!(verb("repotr", &[]), None);
    }
}
