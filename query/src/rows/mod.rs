//! Rows of answers: typed structs with their columns, which any printer can show without knowing the question.
//!
//! [`rows!`](crate::rows!) declares them. The names, the types and the docs of the fields are all that a row has: from these
//! follow its keys in JSON (it is [`Serialize`]), its columns in CSV, and its lines on the page that describes
//! the columns.

mod calls;
mod cell;
mod changes;
mod checks;
mod column;
mod field;
mod infos;
mod method;
mod methods;
mod paths;
mod reports;
mod times;
mod traces;
mod weights;

pub use cell::Cell;
pub use changes::ExactRow;
pub use column::{Column, ColumnKind};
pub use field::{Chain, OnlyJson};
pub use infos::{InfoRow, MarkCounts, RunRow, ThreadRow};
pub use method::NameColumns;

#[doc(hidden)]
pub use self::{
    calls::{
        AroundRow, ContextRow, CoroutineCallRow, FindRow, GrepRow, OperationCallRow, OperationRow,
        OverviewRow, ShapeRow, SlowRow,
    },
    changes::{ChangeRow, FlakyRow, LockRow, TestChange},
    checks::{CheckRow, Finding, FindingRow, Severity},
    field::{Field, Members, Percent, Raw},
    method::{GroupColumns, MethodColumns, PlaceColumns, RowNames, ThreadNameColumns},
    methods::{
        CoroutineRow, ExceptionColumns, LineRow, MethodRow, NeverCalledRow, PercentileRow, WaitRow,
    },
    paths::{FrameRow, GraphRow, PathColumns, StepRow},
    reports::{ActiveMethodRow, ActiveThreadRow, CallRow, NoteRow, RefreshRow, SumRow},
    times::TimeColumns,
    traces::{AffectedRow, IndexRow, MarkRow, ReachedRow, TestColumns},
    weights::WeightColumns,
};
use serde::Serialize;

/// One line of an answer.
pub trait Row: Serialize {
    /// The columns, in the order of CSV.
    const COLUMNS: &'static [Column];

    /// Appends the values: one for each [key](Column::keys) that CSV has.
    fn cells<'a>(&'a self, cells: &mut Vec<Cell<'a>>);
}

/// Declares structs as [rows](Row). Each field is a column, or several with `#[serde(flatten)]`; `as` gives it another key.
/// The docs of a field describe its column to users. Without docs, the description of the next column is about this one
/// too; of several columns, each then has its own.
///
/// ```
/// use flow_query::rows::{Column, Row};
///
/// flow_query::rows! {
///     /// A method.
///     pub struct MethodRow<'a> {
///         name: &'a str,
///         /// how it is called in the source
///         readable: Option<String>,
///         /// the number of its calls that made no other
///         leaves as "self": u64,
///     }
/// }
/// let keys: Vec<_> = MethodRow::COLUMNS.iter().flat_map(Column::keys).collect();
/// assert_eq!(keys, ["name", "readable", "self"]);
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! rows {
    ($(
        #[doc = $title:literal]
        $vis:vis struct $row:ident $(<$life:lifetime>)? {
            $(
                $(#[doc = $about:literal])*
                $(#[serde($serde:ident)])?
                $field:ident $(as $key:literal)?: $type:ty,
            )*
        }
    )*) => {$(
        #[doc = $title]
        #[derive(Clone, Debug, ::serde::Serialize)]
        $vis struct $row $(<$life>)? {
            $(
                #[doc = concat!("Column `", $crate::rows!(@key $field $($key)?), "`:", $($about,)*)]
                $(#[serde($serde)])?
                $(#[serde(rename = $key)])?
                pub $field: $type,
            )*
        }

        impl $(<$life>)? $crate::rows::Row for $row $(<$life>)? {
            const COLUMNS: &'static [$crate::rows::Column] = &[$(
                $crate::rows::Column {
                    key: $crate::rows!(@key $field $($key)?),
                    about: concat!($($about),*),
                    kind: <$type as $crate::rows::Field>::KIND,
                },
            )*];

            fn cells<'cell>(&'cell self, cells: &mut Vec<$crate::rows::Cell<'cell>>) {
                $($crate::rows::Field::cells(&self.$field, cells);)*
            }
        }

        impl $(<$life>)? $crate::rows::Field for $row $(<$life>)? {
            const KIND: $crate::rows::ColumnKind =
                $crate::rows::ColumnKind::Several(<Self as $crate::rows::Row>::COLUMNS);

            fn cells<'cell>(&'cell self, cells: &mut Vec<$crate::rows::Cell<'cell>>) {
                $crate::rows::Row::cells(self, cells);
            }
        }
    )*};
    (@key $field:ident $key:literal) => { $key };
    (@key $field:ident) => { stringify!($field) };
}
