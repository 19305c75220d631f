//! Reads the map from lines of a class file to lines of source code: the attribute `SourceDebugExtension` ([JSR 45]).
//!
//! Kotlin's compiler copies the code of inline functions, gives it line numbers after the end of the file, and describes them
//! in the stratum `Kotlin`. Strata of other compilers, such as that of JSP, are not read: lines stay those of the generated
//! Java file.
//!
//! [JSR 45]: https://jcp.org/en/jsr/detail?id=45

use std::collections::{BTreeSet, HashMap};

use flow_codec::format::methods::{Inlined, MethodInfo};

use crate::text::decode;

const STRATUM: &str = "Kotlin";

/// The longest path of a source file; longer ones are ignored.
const MAX_PATH: usize = 512;

/// The source lines of the line numbers of a class.
#[derive(Debug, Default)]
pub struct SourceMap {
    /// Paths of source files: the folder of the package, and the name.
    files: Vec<String>,
    /// Ranges, sorted by their first number.
    ranges: Vec<Range>,
}

/// Consecutive numbers in the class file.
#[derive(Clone, Copy, Debug)]
struct Range {
    first: u32,
    count: u32,
    /// The source line of the first numbers.
    line: u32,
    /// How many numbers each source line has.
    step: u32,
    file: usize,
}

impl SourceMap {
    /// Reads the content of the attribute. Returns `None` if it has no lines of Kotlin.
    #[must_use]
    pub fn parse(extension: &[u8]) -> Option<Self> {
        let text = decode(extension);
        let mut lines = text.split(['\n', '\r']).filter(|line| !line.is_empty());
        if lines.next()? != "SMAP" {
            return None;
        }
        let mut map = Self::default();
        let (mut numbers, mut section, mut is_ours) = (HashMap::new(), "", false);
        let mut current = 0;
        while let Some(line) = lines.next() {
            if let Some(name) = line.strip_prefix("*S") {
                (is_ours, section) = (name.trim() == STRATUM, "");
            } else if line.starts_with('*') {
                section = line;
            } else if is_ours && section == "*F" {
                let (number, file) = map.file(line, &mut lines)?;
                numbers.insert(number, file);
            } else if is_ours && section == "*L" {
                map.ranges.extend(range(line, &mut current, &numbers));
            }
        }
        map.ranges.sort_by_key(|range| range.first);
        (!map.ranges.is_empty()).then_some(map)
    }

    /// Reads an entry for a file: `1 Inl.kt`, or `+ 1 Inl.kt` and on the next line the name of its class.
    fn file<'t>(
        &mut self,
        line: &str,
        rest: &mut impl Iterator<Item = &'t str>,
    ) -> Option<(u32, usize)> {
        let (entry, path) = match line.strip_prefix('+') {
            Some(entry) => (entry.trim_start(), rest.next()?),
            None => (line, ""),
        };
        let (number, name) = entry.split_once(' ')?;
        let folder = path.rfind('/').map_or("", |end| path.get(..=end).unwrap_or_default());
        self.files.push(format!("{folder}{name}"));
        Some((number.parse().ok()?, self.files.len() - 1))
    }

    /// Returns the path of the file and the source line for a number.
    fn source_of(&self, number: u32) -> Option<(&str, u32)> {
        let after = self.ranges.partition_point(|range| range.first <= number);
        let range = self.ranges.get(after.checked_sub(1)?)?;
        let beyond = number - range.first;
        let file = self.files.get(range.file).filter(|file| file.len() <= MAX_PATH)?;
        (beyond < range.count).then(|| (&**file, range.line.saturating_add(beyond / range.step)))
    }

    /// Sets the source lines of a method, whose line numbers are given in the order of its code. Its class and source file are
    /// set already.
    pub fn locate(&self, numbers: &[u32], method: &mut MethodInfo) {
        let class = method.class.replace('.', "/");
        let folder = class.rfind('/').map_or("", |end| class.get(..=end).unwrap_or_default());
        let own = format!("{folder}{}", method.source.as_deref().unwrap_or_default());
        let mut found: Vec<Inlined> = Vec::new();
        for number in numbers.iter().collect::<BTreeSet<_>>() {
            let Some((file, line)) = self.source_of(*number) else { continue };
            let Ok(first) = u16::try_from(*number) else { continue };
            if line == *number && file == own {
                continue;
            }
            match found.last_mut() {
                // The number continues the last range with the next line.
                Some(last) if last.file == file && is_next(last, first, line) => last.count += 1,
                _ => found.push(Inlined { first, count: 1, line, file: file.to_owned() }),
            }
        }
        method.inlined = found.into();
        let own_lines = numbers.iter().find(|number| method.inlined_line(**number).is_none());
        method.line = own_lines.or(numbers.first()).copied().or(method.line);
    }
}

fn is_next(last: &Inlined, number: u16, line: u32) -> bool {
    last.count < u16::MAX
        && last.first.checked_add(last.count) == Some(number)
        && last.line.checked_add(last.count.into()) == Some(line)
}

/// Reads an entry for lines, such as `4#1,3:20,1`: the first source line, the file, the number of lines, the first number in
/// the class file, and how many numbers each line has.
fn range(text: &str, current: &mut u32, files: &HashMap<u32, usize>) -> Option<Range> {
    let (input, output) = text.split_once(':')?;
    let (input, repeat) = input.split_once(',').unwrap_or((input, "1"));
    let (line, file) = match input.split_once('#') {
        Some((line, file)) => (line, Some(file)),
        None => (input, None),
    };
    if let Some(file) = file {
        *current = file.parse().ok()?;
    }
    let (first, step) = output.split_once(',').unwrap_or((output, "1"));
    let (repeat, step): (u32, u32) = (repeat.parse().ok()?, step.parse().ok()?);
    Some(Range {
        first: first.parse().ok()?,
        count: repeat.checked_mul(step).filter(|count| *count > 0)?,
        line: line.parse().ok()?,
        step,
        file: *files.get(current)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAP: &str = "SMAP\nInl.kt\nKotlin\n*S Kotlin\n*F\n+ 1 Inl.kt\ncom/app/InlKt\n+ 2 _Collections.kt\n\
        kotlin/collections/CollectionsKt___CollectionsKt\n*L\n1#1,18:1\n4#1,3:19\n1563#2:22\n1634#2,3:23\n\
        *S KotlinDebug\n*F\n+ 1 Inl.kt\ncom/app/InlKt\n*L\n9#1:19,3\n12#1:22,4\n*E\n";

    fn located(map: &str, class: &str, source: &str, numbers: &[u32]) -> MethodInfo {
        let mut method = MethodInfo {
            class: class.to_owned(),
            source: Some(source.to_owned()),
            line: numbers.first().copied(),
            ..MethodInfo::default()
        };
        if let Some(map) = SourceMap::parse(map.as_bytes()) {
            map.locate(numbers, &mut method);
        }
        method
    }

    fn from(first: u16, count: u16, line: u32, file: &str) -> Inlined {
        Inlined { first, count, line, file: file.to_owned() }
    }

    #[test]
    fn lines_after_the_end_are_those_of_inline_functions() {
        let numbers = [20, 9, 19, 10, 21, 12, 22, 25, 24];
        let method = located(MAP, "com.app.InlKt", "Inl.kt", &numbers);
        let collections = "kotlin/collections/_Collections.kt";
        let expected = [
            from(19, 3, 4, "com/app/Inl.kt"),
            from(22, 1, 1563, collections),
            from(24, 2, 1635, collections),
        ];
        assert_eq!((&*method.inlined, method.line), (&expected[..], Some(9)));
    }

    #[test]
    fn a_class_that_was_copied_as_a_whole_has_the_file_of_the_original() {
        let numbers = [5, 6];
        let method = located(MAP, "com.other.MainKt$f$1", "Inl.kt", &numbers);
        assert_eq!(*method.inlined, [from(5, 2, 5, "com/app/Inl.kt")]);
        assert_eq!(method.line, Some(5), "there is no other");
    }

    #[test]
    fn lines_of_other_compilers_stay() {
        let jsp = MAP.replace("Kotlin", "JSP").replace("\n*S JSPDebug", "\n*S Other");
        let method = located(&jsp, "com.app.InlKt", "Inl.kt", &[19]);
        assert_eq!((method.inlined.len(), method.line), (0, Some(19)));
    }

    #[test]
    fn any_text_is_read() {
        for end in 0..MAP.len() {
            let text = MAP.get(..end).unwrap();
            for odd in [text.to_owned(), text.replace('\n', "\r\n"), text.replace("1#", "9#")] {
                located(&odd, "com.app.InlKt", "Inl.kt", &[0, 1, 19, 65535]);
            }
        }
        let huge = "SMAP\nx\nKotlin\n*S Kotlin\n*F\n1 A.kt\n*L\n1,0:5\n4294967295,4294967295:4294967295,4294967295\n\
            4294967295#1,4294967295:1\n";
        let method = located(huge, "A", "A.kt", &[1, 65535]);
        let last = u32::MAX;
        assert_eq!(*method.inlined, [from(1, 1, last, "A.kt"), from(65535, 1, last, "A.kt")]);
    }
}
