//! The examples in the descriptions of formats.

/// The bytes in the first column of the table under the heading *Example*, for the text of a source file.
pub(super) fn bytes_of_example(source: &str) -> Vec<u8> {
    bytes_in(table(source))
}

/// Returns the example under the next heading that begins with *Example*.
pub(super) fn bytes_of_second_example(source: &str) -> Vec<u8> {
    bytes_in(source.split("# Example").nth(2).unwrap().split("use super").next().unwrap())
}

fn bytes_in(table: &str) -> Vec<u8> {
    let cells = table.lines().filter_map(|line| line.strip_prefix("//! | `")?.split('`').next());
    let digits = cells.flat_map(|cell| cell.split(' '));
    digits.map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
}

/// The example, up to the code.
pub(super) fn table(source: &str) -> &str {
    source.split("# Example").nth(1).unwrap().split("use super").next().unwrap()
}
