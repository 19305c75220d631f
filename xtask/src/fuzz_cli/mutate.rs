//! Changes files of traces in ways that keep most of them readable: a change that is refused at once tests nothing.

use super::blocks::{Blocks, Object, are_blocks, put, take};
use super::random::Random;

/// Texts that must not reach a terminal, a page or a file as they are.
const HOSTILE: [&str; 10] = [
    "\u{1b}]0;title\u{7}\u{1b}[31m",
    "\u{9b}31m\u{85}",
    "\u{202e}txt.exe\u{2066}",
    "</script><script>alert(1)</script>",
    "a\r\nb\tc\0d",
    "\"\\\u{7f}\u{feff}",
    "../../../../etc/passwd",
    "=1+1|cmd",
    "",
    "%s%n{}{0}$(id)`id`",
];

/// Changes a file. `others` are files of the same name in other traces, or of other names in this one.
pub(super) fn mutate(name: &str, bytes: &[u8], others: &[&[u8]], random: &mut Random) -> Vec<u8> {
    if random.once_in(12) {
        return cut_or_mixed(bytes, others, random);
    }
    if are_blocks(bytes) && !random.once_in(10) {
        let mut blocks = Blocks::of(bytes);
        for _ in 0..=random.below(3) {
            change_blocks(&mut blocks, others, random);
        }
        return blocks.bytes();
    }
    let is_text =
        [".json", ".jsonl", ".properties", ".lines"].iter().any(|end| name.ends_with(end));
    let mut bytes = bytes.to_vec();
    for _ in 0..=random.below(3) {
        bytes = if is_text { text(&bytes, random) } else { binary(bytes, random) };
    }
    if random.once_in(3) { bytes } else { with_check(bytes) }
}

/// Cuts a file, or takes a part of another one.
fn cut_or_mixed(bytes: &[u8], others: &[&[u8]], random: &mut Random) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    match random.below(5) {
        0 => bytes.truncate(random.below(bytes.len() + 1)),
        1 => bytes.clear(),
        2 if !others.is_empty() => return random.one_of(others).to_vec(),
        3 if !others.is_empty() => {
            let other = *random.one_of(others);
            bytes.truncate(random.below(bytes.len() + 1));
            bytes.extend_from_slice(&other[random.below(other.len() + 1)..]);
        }
        _ => {
            let range = random.range(bytes.len(), 4096);
            let again = bytes[range.clone()].to_vec();
            bytes.splice(range.end..range.end, again);
        }
    }
    bytes
}

fn change_blocks(blocks: &mut Blocks, others: &[&[u8]], random: &mut Random) {
    let count = blocks.blocks.len();
    if count == 0 {
        return;
    }
    let (at, other) = (random.below(count), random.below(count));
    match random.below(16) {
        0 => blocks.blocks.swap(at, other),
        1 => drop(blocks.blocks.remove(at)),
        2 => {
            let again = blocks.blocks[at].clone();
            blocks.blocks.insert(other, again);
        }
        3 => blocks.blocks[at].thread = random.extreme(blocks.blocks[at].thread),
        4 => blocks.blocks[at].thread = blocks.blocks[other].thread,
        5 => {
            let from = others.iter().filter(|other| are_blocks(other)).collect::<Vec<_>>();
            if let Some(from) = (!from.is_empty()).then(|| *random.one_of(&from)) {
                let mut from = Blocks::of(from).blocks;
                if !from.is_empty() {
                    let block = from.swap_remove(random.below(from.len()));
                    blocks.blocks.insert(at, block);
                }
            }
        }
        _ => {
            let objects = &mut blocks.blocks[at].objects;
            if !objects.is_empty() {
                let object = random.below(objects.len());
                change_object(&mut objects[object], random);
            }
        }
    }
}

fn change_object(object: &mut Object, random: &mut Random) {
    match random.below(12) {
        0 => object.kind = u8::try_from(random.below(20)).unwrap_or(0),
        1 | 2 => object.offset = random.extreme(object.offset),
        3 => object.unpacked = random.extreme(object.unpacked),
        4 => object.coding = u8::try_from(random.below(5)).unwrap_or(0),
        // What is packed can be changed only where a new block is written.
        _ if object.coding > 0 => {
            object.stored = binary(std::mem::take(&mut object.stored), random);
        }
        _ => {
            let is_text = [1, 2, 3, 6].contains(&object.kind);
            let stored = std::mem::take(&mut object.stored);
            object.stored = if is_text { text(&stored, random) } else { binary(stored, random) };
        }
    }
}

/// Changes bytes.
fn binary(mut bytes: Vec<u8>, random: &mut Random) -> Vec<u8> {
    if bytes.is_empty() {
        return vec![random.number().to_le_bytes()[0]];
    }
    let at = random.below(bytes.len());
    match random.below(9) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at] = random.number().to_le_bytes()[0],
        // A word, in either order of its bytes.
        2 | 3 => {
            let at = at & !7;
            if let Some(word) = bytes.get_mut(at..at + 8) {
                let known = u64::from_le_bytes(word.try_into().unwrap_or_default());
                let number = random.extreme(known);
                let big = random.once_in(4);
                word.copy_from_slice(&if big {
                    number.to_be_bytes()
                } else {
                    number.to_le_bytes()
                });
            }
        }
        // A number of variable length.
        4 | 5 => {
            let mut rest = &bytes[at..];
            let known = take(&mut rest).unwrap_or(0);
            let len = bytes.len() - at - rest.len();
            let mut number = Vec::new();
            put(&mut number, random.extreme(known));
            bytes.splice(at..at + len, number);
        }
        6 => drop(bytes.drain(random.range(bytes.len(), 40))),
        7 => {
            let again = bytes[random.range(bytes.len(), 200)].to_vec();
            bytes.splice(at..at, again);
        }
        _ => {
            let more = vec![random.number().to_le_bytes()[0]; random.below(40)];
            bytes.splice(at..at, more);
        }
    }
    bytes
}

/// Changes lines of text, numbers and strings in it.
fn text(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    if lines.is_empty() {
        return random.one_of(&HOSTILE).as_bytes().to_vec();
    }
    let (at, other) = (random.below(lines.len()), random.below(lines.len()));
    match random.below(8) {
        0 => drop(lines.remove(at)),
        1 => lines.swap(at, other),
        2 => {
            let again = lines[other].clone();
            lines.insert(at, again);
        }
        3 | 4 => lines[at] = with_other_number(&lines[at], random),
        5 | 6 => lines[at] = with_other_text(&lines[at], random),
        _ => return binary(bytes.to_vec(), random),
    }
    lines.concat().into_bytes()
}

/// Replaces one of the numbers of a line.
fn with_other_number(line: &str, random: &mut Random) -> String {
    let digits = |c: char| c.is_ascii_digit();
    let starts: Vec<usize> = line
        .char_indices()
        .filter(|(at, c)| digits(*c) && !line[..*at].ends_with(digits))
        .map(|(at, _)| at)
        .collect();
    if starts.is_empty() {
        return line.to_owned();
    }
    let start = *random.one_of(&starts);
    let rest = line[start..].trim_start_matches(digits);
    let known = line[start..line.len() - rest.len()].parse().unwrap_or(0);
    let number = match random.below(6) {
        0 => "-1".to_owned(),
        1 => "1e308".to_owned(),
        2 => "99999999999999999999999".to_owned(),
        _ => random.extreme(known).to_string(),
    };
    format!("{}{number}{rest}", &line[..start])
}

/// Replaces a text in quotes, or puts one anywhere. In quotes it is escaped as in JSON.
fn with_other_text(line: &str, random: &mut Random) -> String {
    let hostile = match random.below(12) {
        0 => "x".repeat(70_000),
        _ => (*random.one_of(&HOSTILE)).to_owned(),
    };
    let quotes: Vec<usize> = line.match_indices('"').map(|(at, _)| at).collect();
    if quotes.len() < 2 {
        let hostile = hostile.replace(['\n', '\r'], " ");
        let places: Vec<usize> = line.char_indices().map(|(at, _)| at).collect();
        let at = if places.is_empty() { 0 } else { *random.one_of(&places) };
        return format!("{}{hostile}{}", &line[..at], &line[at..]);
    }
    let open = 2 * random.below(quotes.len() / 2);
    let quoted = serde_json::Value::String(hostile).to_string();
    format!("{}{quoted}{}", &line[..quotes[open]], &line[quotes[open + 1] + 1..])
}

/// Corrects the checksum of what readers store beside a trace.
fn with_check(mut bytes: Vec<u8>) -> Vec<u8> {
    let at = match bytes.get(..8) {
        Some(b"flow-idx") => 72,
        Some(b"flow-dag") => 80,
        _ => return bytes,
    };
    if bytes.len() >= at + 8 {
        let check = crc32fast::hash(&[&bytes[..at], &bytes[at + 8..]].concat());
        bytes[at..at + 8].copy_from_slice(&u64::from(check).to_le_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::super::blocks::example;
    use super::*;

    #[test]
    fn a_seed_changes_a_file_in_one_way() {
        let file = example();
        let text = b"{\"event\":\"start\",\"id\":7,\"name\":\"main\"}\n".to_vec();
        for (name, bytes) in [("t.flowtrace", &file), ("threads.jsonl", &text), ("x.flow", &file)] {
            let mut changed = 0;
            for seed in 0..2000 {
                let others = [&file[..], &text];
                let once = mutate(name, bytes, &others, &mut Random::new(seed));
                let again = mutate(name, bytes, &others, &mut Random::new(seed));
                assert_eq!(once, again, "{name} {seed}");
                changed += usize::from(once != *bytes);
            }
            assert!(changed > 1000, "{name}: {changed}");
        }
    }

    #[test]
    fn checks_are_corrected() {
        let mut index = b"flow-idx".to_vec();
        index.resize(112, 7);
        let corrected = with_check(index);
        let sum = crc32fast::hash(&[&corrected[..72], &corrected[80..]].concat());
        assert_eq!(corrected[72..80], u64::from(sum).to_le_bytes());
    }
}
