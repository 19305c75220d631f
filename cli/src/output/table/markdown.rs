//! Tables in Markdown, as GitHub and GitLab show them.

use super::text::{Table, shown};

impl Table<'_> {
    /// The lines of the table: titles, rule and rows. Numbers are aligned at the right.
    pub(crate) fn markdown(&self) -> String {
        let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let columns = || self.columns.iter();
        let mut text = row(columns().map(|column| markdown(column.title)).collect());
        let rule = |is_right: bool| if is_right { "---:" } else { "---" }.to_owned();
        text += &row(columns().map(|column| rule(column.is_right())).collect());
        let rows = columns().map(|column| column.cells.len()).max().unwrap_or(0);
        for number in 0..rows {
            let cell = |cells: &[_]| {
                cells.get(number).map_or(String::new(), |cell| markdown(&shown(cell)))
            };
            text += &row(columns().map(|column| cell(&column.cells)).collect());
        }
        text
    }
}

/// A text of which no character means anything in Markdown, nor names a person or an issue.
pub(crate) fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '@' => out.push_str("&#64;"),
            '#' => out.push_str("&#35;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '!' | '$' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use flow_query::rows::Cell;

    use super::*;

    #[test]
    fn names_mean_nothing_in_a_table() {
        let mut table = Table::default();
        table.column("calls", [Cell::Count(1_234), Cell::number("")]);
        table.column("test", [Cell::text("a.T.t(int[])[2] | <b>@x</b>"), Cell::text("`a`\n#1")]);
        let expected = "\
| calls | test |
| ---: | --- |
| 1,234 | a.T.t(int\\[\\])\\[2\\] \\| &lt;b&gt;&#64;x&lt;/b&gt; |
|  | \\`a\\`\\\\u{a}&#35;1 |
";
        assert_eq!(table.markdown(), expected);
    }
}
