//! Tables of behaviours, which grow with what a program does, not with how often.

use std::path::{Path, PathBuf};

use flow_codec::read::{Methods, Trace};
use flow_codec::{MethodId, MethodNames, NameForm, stable_name};
use flow_query::shapes::ShapeFact;

use super::origin::Origin;
use super::table::{Column, Table, Value, new_directory};
use crate::failure::Failure;
use crate::output::{Unit, Weight};

/// Writes the tables.
pub(crate) struct ShapesTables<'a> {
    dir: PathBuf,
    trace: &'a Trace,
    names: MethodNames<'a>,
    origin: Origin,
    shapes: Table,
    edges: Table,
    occurrences: Table,
    failed: Option<Failure>,
}

/// The sums of methods.
pub(crate) struct MethodSums {
    /// Of what `total` and `self` are.
    pub(crate) unit: Unit,
    pub(crate) rows: Vec<(MethodId, Weight)>,
}

impl<'a> ShapesTables<'a> {
    /// Creates the directory, which must be new or empty.
    pub(crate) fn create(dir: &Path, trace: &'a Trace, origin: Origin) -> Result<Self, Failure> {
        new_directory(dir)?;
        let table = |name, columns| Table::one_file(dir, name, origin.after(columns));
        let mut shapes = vec![Column::text("shape", false)];
        shapes.extend(method_columns());
        shapes.extend([Column::text("outcome", false), Column::number("calls")]);
        let edges = vec![
            Column::text("shape", false),
            Column::text("callee", false),
            Column::few("place", false),
            Column::few("count", false),
        ];
        let occurrences = vec![
            Column::text("shape", false),
            Column::few("thread", false),
            Column::text("thread_name", true),
            Column::text("test", true),
            Column::text("test_outcome", true),
            Column::few("count", false),
        ];
        Ok(Self {
            dir: dir.to_path_buf(),
            trace,
            names: MethodNames::new(trace.methods()),
            shapes: table("shapes", shapes),
            edges: table("edges", edges),
            occurrences: table("occurrences", occurrences),
            origin,
            failed: None,
        })
    }

    /// Adds a row.
    pub(crate) fn add(&mut self, fact: ShapeFact<'_>) {
        if self.failed.is_none() {
            self.failed = self.row(fact).err();
        }
    }

    fn row(&mut self, fact: ShapeFact<'_>) -> Result<(), Failure> {
        match fact {
            ShapeFact::Shape { shape, method, outcome, calls } => {
                let [class, name, descriptor, readable] = self.method(method);
                self.shapes.push([
                    shape.digits().as_str().into(),
                    class.as_str().into(),
                    name.as_str().into(),
                    descriptor.as_str().into(),
                    readable.as_str().into(),
                    outcome.word().into(),
                    calls.into(),
                ])
            }
            ShapeFact::Edge { shape, callee, place, count } => self.edges.push([
                shape.digits().as_str().into(),
                callee.digits().as_str().into(),
                place.into(),
                count.into(),
            ]),
            ShapeFact::Occurrence { shape, thread, test, count } => self.occurrences.push([
                shape.digits().as_str().into(),
                thread.get().into(),
                self.trace.threads().get(thread).map(|thread| thread.name.as_str()).into(),
                test.map(|test| test.name.as_str()).into(),
                test.and_then(|test| test.outcome).map(|outcome| outcome.word()).into(),
                count.into(),
            ]),
        }
    }

    /// The class, name and descriptor of a method as names of behaviours have them, and its readable name.
    fn method(&self, method: MethodId) -> [String; 4] {
        shown_name(self.trace.methods(), method).map_or_else(
            Default::default,
            |[class, name, descriptor]| {
                [class, name, descriptor, self.names.get(method, NameForm::Readable)]
            },
        )
    }

    /// Writes what is still in memory, and the table of methods.
    pub(crate) fn end(mut self, sums: &MethodSums) -> Result<(), Failure> {
        self.failed.take().map_or(Ok(()), Err)?;
        let mut columns = method_columns();
        columns.extend([
            Column::number("calls"),
            Column::text("unit", false),
            Column::number("total"),
            Column::number("self"),
            Column::number("total_error"),
            Column::number("self_error"),
        ]);
        let mut methods = Table::one_file(&self.dir, "methods", self.origin.after(columns));
        for (method, weight) in &sums.rows {
            let [class, name, descriptor, readable] = self.method(*method);
            methods.push([
                class.as_str().into(),
                name.as_str().into(),
                descriptor.as_str().into(),
                readable.as_str().into(),
                Value::Number(weight.count()),
                sums.unit.word().into(),
                weight.total.into(),
                weight.self_weight.into(),
                weight.precision.total_error.into(),
                weight.precision.self_error.into(),
            ])?;
        }
        for table in [self.shapes, self.edges, self.occurrences, methods] {
            table.finish()?;
        }
        Ok(())
    }
}

fn method_columns() -> Vec<Column> {
    ["class", "name", "descriptor", "readable"].map(|name| Column::text(name, false)).into()
}

/// A method without the numbers that compilers and frameworks hand out, or as it is if it is part of no behaviour.
fn shown_name(methods: &Methods, method: MethodId) -> Option<[String; 3]> {
    let info = methods.get(method)?.info();
    let as_it_is = || [info.class.clone(), info.name.clone(), info.descriptor.clone()];
    let stable = stable_name(&info.class, &info.name, &info.descriptor);
    Some(stable.unwrap_or_else(as_it_is))
}
