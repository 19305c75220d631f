//! The columns of rows, and their description for users.

/// What a column has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ColumnKind {
    /// A text.
    Text,
    /// A number, or what identifies something.
    Number,
    /// `true` or `false`.
    Flag,
    /// Names of methods: a list in JSON, and a text in CSV.
    Stack,
    /// A list in JSON, and its length in CSV.
    List,
    /// Something that only JSON has.
    OnlyJson,
    /// Several columns, which have the keys of these.
    Several(&'static [Column]),
}

/// A column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Column {
    /// The key in JSON, and the title in CSV.
    pub key: &'static str,
    /// Describes the column. Empty if the description of the next column is about this one, too.
    pub about: &'static str,
    /// What the column has.
    pub kind: ColumnKind,
}

impl Column {
    /// The keys of the column in CSV: one, none if only JSON has it, or those of several columns.
    #[must_use]
    pub fn keys(&self) -> Vec<&'static str> {
        match self.kind {
            ColumnKind::OnlyJson => Vec::new(),
            ColumnKind::Several(columns) => columns.iter().flat_map(Self::keys).collect(),
            _ => vec![self.key],
        }
    }
}
