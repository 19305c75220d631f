//! Where the rows of tables come from, so that the tables of many machines can be read as one.

use flow_codec::read::Trace;
use parquet::data_type::ByteArray;

use super::table::{Column, Values};
use crate::export::labels::service_name;

/// What is the same in all rows of a trace.
#[derive(Clone, Default, Debug)]
pub(crate) struct Origin {
    run: Option<String>,
    host: Option<String>,
    service: Option<String>,
    commit: Option<String>,
    started_unix_ns: Option<u64>,
}

impl Origin {
    /// The origin of a trace; its service and the commit of the program, if they are given.
    pub(crate) fn of(trace: &Trace, service: Option<&str>, commit: Option<&str>) -> Self {
        let manifest = trace.manifest();
        Self {
            run: manifest.and_then(|manifest| manifest.id).map(|id| id.to_string()),
            host: manifest.map(|manifest| manifest.host.clone()).filter(|host| !host.is_empty()),
            service: service.map(str::to_owned).or_else(|| service_name(trace)),
            commit: commit.map(str::to_owned),
            started_unix_ns: manifest.map(|manifest| manifest.start_unix_ns).filter(|ns| *ns != 0),
        }
    }

    /// The columns of a table, and those of the origin.
    pub(super) fn after(&self, columns: Vec<Column>) -> Vec<Column> {
        let texts = [
            ("run", &self.run),
            ("host", &self.host),
            ("service", &self.service),
            ("commit", &self.commit),
        ];
        let text = |(name, text): (_, &Option<String>)| {
            let text = text.as_ref().map(|text| ByteArray::from(text.as_str()));
            Column::new(name, true, Values::SameText(text))
        };
        let started = self.started_unix_ns.map(|ns| i64::try_from(ns).unwrap_or(i64::MAX));
        let started = Column::new("started_unix_ns", true, Values::SameNumber(started));
        columns.into_iter().chain(texts.into_iter().map(text)).chain([started]).collect()
    }
}
