//! The types of columns.

use std::rc::Rc;
use std::sync::Arc;

use flow_codec::format::shape_name::ShapeName;
use flow_codec::{MethodId, ThreadId};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::{Cell, ColumnKind};

/// What a column of a row can be.
pub trait Field {
    /// What such a column has.
    const KIND: ColumnKind;

    /// Appends the value, or several.
    fn cells<'a>(&'a self, cells: &mut Vec<Cell<'a>>);
}

/// Implements [`Field`] for types with one value.
macro_rules! fields {
    ($($type:ty, $kind:ident: |$value:ident| $cell:expr;)*) => {$(
        impl Field for $type {
            const KIND: ColumnKind = ColumnKind::$kind;

            fn cells<'a>(&'a self, cells: &mut Vec<Cell<'a>>) {
                let $value = self;
                cells.push($cell);
            }
        }
    )*};
}

fields! {
    str, Text: |text| Cell::text(text);
    String, Text: |text| Cell::text(text);
    Rc<str>, Text: |text| Cell::text(&**text);
    Arc<str>, Text: |text| Cell::text(&**text);
    ShapeName, Text: |name| Cell::text(name.to_string());
    u64, Number: |number| Cell::Count(*number);
    u32, Number: |number| Cell::Count((*number).into());
    usize, Number: |number| Cell::Count(*number as u64);
    i64, Number: |number| Cell::Signed(*number);
    i32, Number: |number| Cell::Signed((*number).into());
    Percent, Number: |percent| Cell::number(percent.text());
    MethodId, Number: |id| Cell::Id(id.get());
    ThreadId, Number: |id| Cell::Id(id.get());
    bool, Flag: |flag| Cell::Flag(*flag);
    Chain, Stack: |chain| Cell::Stack(&chain.0);
}

impl<T: Field + ?Sized> Field for &T {
    const KIND: ColumnKind = T::KIND;

    fn cells<'a>(&'a self, cells: &mut Vec<Cell<'a>>) {
        T::cells(self, cells);
    }
}

impl<T: Field> Field for Option<T> {
    const KIND: ColumnKind = T::KIND;

    fn cells<'a>(&'a self, cells: &mut Vec<Cell<'a>>) {
        match self {
            Some(value) => value.cells(cells),
            // Columns that not all answers have: their heading lacks them, too.
            None if matches!(T::KIND, ColumnKind::Several(_)) => {}
            None => cells.push(Cell::Nothing),
        }
    }
}

/// Names of methods on a stack, the outermost first.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Chain(pub Vec<String>);

/// A list, of which CSV has the length.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Members<T>(pub Vec<T>);

impl<T> Field for Members<T> {
    const KIND: ColumnKind = ColumnKind::List;

    fn cells<'a>(&'a self, cells: &mut Vec<Cell<'a>>) {
        cells.push(Cell::Count(self.0.len() as u64));
    }
}

/// Something that only JSON has.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize)]
pub struct OnlyJson<T>(pub T);

impl<T> Field for OnlyJson<T> {
    const KIND: ColumnKind = ColumnKind::OnlyJson;

    fn cells<'a>(&'a self, _: &mut Vec<Cell<'a>>) {}
}

/// A share in percent, with three decimals.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Percent(pub f64);

impl Percent {
    fn text(self) -> String {
        format!("{:.3}", self.0)
    }
}

impl Serialize for Percent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let number = RawValue::from_string(self.text()).map_err(serde::ser::Error::custom)?;
        number.serialize(serializer)
    }
}

/// A value of JSON, which is this text in CSV.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Raw<T> {
    /// The value.
    pub json: T,
    /// The text.
    pub text: String,
}

impl<T: Serialize> Serialize for Raw<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json.serialize(serializer)
    }
}

impl<T> Field for Raw<T> {
    const KIND: ColumnKind = ColumnKind::Text;

    fn cells<'a>(&'a self, cells: &mut Vec<Cell<'a>>) {
        cells.push(Cell::text(&*self.text));
    }
}
