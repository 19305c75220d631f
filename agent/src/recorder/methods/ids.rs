//! Assigns ids, and writes names before any other code sees the ids.

use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::hash::{BuildHasher as _, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flow_codec::MethodId;
use flow_codec::format::flow::Record;
use flow_codec::format::ids::{CLASS, FIELD, decode_line, encode_line, key};
use flow_codec::format::methods::{MethodInfo, MethodLine};
use flow_codec::read::{ReadRecords, Trace};

use super::known::{Fingerprint, KnownMethods};
use crate::options::IdSource;
use crate::sink::{LineFile, SinkError};

/// The ids that a recording starts with, in the order of their numbers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StartIds {
    ids: Vec<(String, MethodId)>,
}

/// An earlier mapping or trace cannot be used.
#[derive(Debug)]
pub struct StartIdsError {
    option: &'static str,
    path: PathBuf,
    why: String,
}

impl fmt::Display for StartIdsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}: {}", self.option, self.path.display(), self.why)
    }
}

impl StartIds {
    /// Reads the files that the options name. Call it before the trace directory is opened: that may move an
    /// earlier trace away.
    ///
    /// # Errors
    /// The file or trace cannot be read, or is not what the format says.
    pub fn read(source: &IdSource) -> Result<Self, StartIdsError> {
        let in_option = |option, path: &Path| {
            let path = path.to_path_buf();
            move |why: String| StartIdsError { option, path, why }
        };
        match source {
            IdSource::Fresh => Ok(Self::default()),
            IdSource::File(path) => Self::from_file(path).map_err(in_option("ids", path)),
            IdSource::Optimize(dir) => Self::from_counts(dir).map_err(in_option("optimize", dir)),
        }
    }

    fn from_file(path: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
        let mut by_id = HashMap::new();
        let mut ids_of = HashMap::new();
        for (number, line) in (1..).zip(text.lines()) {
            let entry = decode_line(line).map_err(|_| {
                format!("line {number}: expected pkg.Class#method(descriptor)=id, found {line:?}")
            })?;
            let Some((key, id)) = entry else { continue };
            let key = key.into_owned();
            if id == MethodId::MAX {
                return Err(format!("line {number}: id {id} leaves no ids for new methods"));
            }
            if let Some(other) = ids_of.insert(key.clone(), id) {
                return Err(format!("line {number}: {key} has id {other} already"));
            }
            if let Some(other) = by_id.insert(id, key) {
                return Err(format!("line {number}: id {id} belongs to {other} already"));
            }
        }
        let mut ids: Vec<_> = by_id.into_iter().map(|(id, key)| (key, id)).collect();
        ids.sort_by_key(|(_, id)| *id);
        Ok(Self { ids })
    }

    /// Numbers the methods of earlier traces by how often they were entered, most frequent first: the
    /// shortest ids go where they save most.
    fn from_counts(dir: &Path) -> Result<Self, String> {
        let traces = Trace::open_all(dir).map_err(|error| {
            // The caller names the directory.
            let (text, place) = (error.to_string(), format!("{}: ", dir.display()));
            text.strip_prefix(&place).unwrap_or(&text).to_owned()
        })?;
        let mut calls: HashMap<String, u64> = HashMap::new();
        let mut order = Vec::new();
        for trace in &traces {
            let counts = count_enters(trace);
            for (id, method) in trace.methods().iter() {
                let info = method.info();
                let key = key(&info.class, &info.name, &info.descriptor);
                let count = counts.get(&id).copied().unwrap_or_default();
                *calls.entry(key.clone()).or_insert_with(|| {
                    order.push(key);
                    0
                }) += count;
            }
        }
        // Stable: methods called equally often keep their order.
        order.sort_by_key(|key| std::cmp::Reverse(calls.get(key).copied()));
        let ids = order.into_iter().zip((0..).map_while(MethodId::new)).collect();
        Ok(Self { ids })
    }
}

fn count_enters(trace: &Trace) -> HashMap<MethodId, u64> {
    let mut counts = HashMap::new();
    for file in trace.files() {
        let outcome = file.events().and_then(|mut events| {
            while let Some((_, record)) = events.next_record()? {
                if let Record::Enter(id) = record {
                    *counts.entry(id).or_default() += 1;
                }
            }
            Ok(())
        });
        if let Err(error) = outcome {
            log::warn!("optimize: counted up to a damaged place: {error}");
        }
    }
    counts
}

/// The id and the version that a method gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Assigned {
    /// The id of the method.
    pub id: MethodId,
    /// The version of the method. `None` if there are too many, so that only its calls may be recorded.
    pub version: Option<u16>,
}

/// The most versions of a method of which more than calls is recorded.
const MAX_VERSIONS: u16 = 256;

/// The id of every method, by name. The same class and method in two loaders share one.
#[derive(Debug)]
pub struct IdTable {
    known: KnownMethods,
    next: Option<MethodId>,
    described: Arc<AtomicU64>,
    /// Hashes of the versions of each method, in the order of their numbers; only of methods of which more than calls is
    /// recorded.
    versions: HashMap<MethodId, Vec<u64>>,
    hashes: RandomState,
    ids: LineFile,
    methods: LineFile,
    /// Why names are missing. From then on no id is assigned, because it might have no name.
    failure: Option<SinkError>,
}

impl IdTable {
    /// Creates a table that starts with `start` and writes to these files.
    ///
    /// # Errors
    /// The ids it starts with cannot be written.
    pub fn new(start: StartIds, ids: LineFile, methods: LineFile) -> Result<Self, SinkError> {
        let mut lines = String::new();
        let mut next = MethodId::new(0);
        let mut known = KnownMethods::new();
        for (key, id) in start.ids {
            encode_line(&key, id, &mut lines);
            next = MethodId::new(id.get() + 1);
            known.insert(known.fingerprint(&key), id, true).map_err(SinkError::no_memory)?;
        }
        ids.append(lines.as_bytes())?;
        Ok(Self {
            known,
            next,
            described: Arc::default(),
            versions: HashMap::new(),
            hashes: RandomState::new(),
            ids,
            methods,
            failure: None,
        })
    }

    /// Returns the id of a method. Writes its name first if it is new.
    pub(in crate::recorder) fn assign(&mut self, info: MethodInfo) -> Result<MethodId, SinkError> {
        let mut lines = NewLines::default();
        let id = self.enter(info, &mut lines).map(|assigned| assigned.id);
        self.write(&lines, id)
    }

    /// Returns the ids and versions of the methods of a class, which are written together.
    pub(in crate::recorder) fn assign_all(
        &mut self,
        methods: Vec<MethodInfo>,
    ) -> Result<Vec<Assigned>, SinkError> {
        let mut lines = NewLines::default();
        let ids = methods.into_iter().map(|info| self.enter(info, &mut lines)).collect();
        self.write(&lines, ids)
    }

    /// Returns the id that a method has, or will have if it is ever recorded. Its name is written only then.
    pub(in crate::recorder) fn reserve(&mut self, key: &str) -> Result<MethodId, SinkError> {
        self.id_of(self.known.fingerprint(key))
    }

    /// Returns which version of a method this is, and whether that is new. `None` if there are too many.
    fn version_of(
        &mut self,
        id: MethodId,
        method: &MethodInfo,
    ) -> Result<Option<(u16, bool)>, SinkError> {
        if !method.has_details() {
            return Ok(Some((0, false)));
        }
        let MethodInfo { source, lines, parameters, code, roles, inlined, .. } = method;
        let hash = self.hashes.hash_one((source, lines, parameters, code, roles, inlined));
        let no_memory = |_| SinkError::whole_trace("no memory for versions of methods");
        self.versions.try_reserve(1).map_err(no_memory)?;
        let versions = self.versions.entry(id).or_default();
        let known = versions.iter().position(|known| *known == hash);
        let number = known.unwrap_or(versions.len());
        let Ok(number) = u16::try_from(number).map_err(|_| ()) else { return Ok(None) };
        if number >= MAX_VERSIONS {
            return Ok(None);
        }
        if known.is_none() {
            versions.try_reserve(1).map_err(no_memory)?;
            versions.push(hash);
        }
        Ok(Some((number, known.is_none())))
    }

    fn id_of(&mut self, method: Fingerprint) -> Result<MethodId, SinkError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        if let Some(id) = self.known.id(method) {
            return Ok(id);
        }
        let id = self.next.ok_or_else(|| SinkError::whole_trace("no method ids are left"))?;
        self.known.insert(method, id, false).map_err(SinkError::no_memory)?;
        self.next = MethodId::new(id.get() + 1);
        Ok(id)
    }

    /// Assigns no ids from now on: what is named is in both files.
    pub(in crate::recorder) fn finish(&mut self) {
        self.failure.get_or_insert_with(SinkError::ended);
    }

    /// Closes the files: nothing is part of the recording any more.
    pub(in crate::recorder) fn close(&self) {
        self.ids.close();
        self.methods.close();
    }

    fn enter(
        &mut self,
        mut method: MethodInfo,
        lines: &mut NewLines,
    ) -> Result<Assigned, SinkError> {
        let key = key(&method.class, &method.name, &method.descriptor);
        let fingerprint = self.known.fingerprint(&key);
        let id = self.id_of(fingerprint)?;
        let news =
            self.known.note_loader(fingerprint, &method.loader).map_err(SinkError::no_memory)?;
        if news.id {
            encode_line(&key, id, &mut lines.ids);
        }
        let is_method = method.name != CLASS && !method.name.starts_with(FIELD);
        lines.described += u64::from(news.method && is_method);
        let version = self.version_of(id, &method)?;
        match version {
            Some((version, is_new)) => {
                method.version = version;
                method.code = method.code.filter(|_| is_new);
            }
            None => {
                (method.lines, method.parameters, method.roles, method.code) = Default::default();
            }
        }
        if news.loader || version.is_some_and(|(_, is_new)| is_new) {
            lines.add_method(&MethodLine { id, method })?;
        }
        Ok(Assigned { id, version: version.map(|(version, _)| version) })
    }

    /// Writes the names of ids before the ids are `given` to any caller.
    fn write<T>(&mut self, lines: &NewLines, given: Result<T, SinkError>) -> Result<T, SinkError> {
        // `methods.jsonl` goes first: a reader that finds the id finds this line too.
        let written = match lines.methods.is_empty() {
            true => Ok(()),
            false => self.methods.append(&lines.methods),
        };
        let written = written.and_then(|()| match lines.ids.is_empty() {
            true => Ok(()),
            false => self.ids.append(lines.ids.as_bytes()),
        });
        if written.is_ok() {
            // Only now: a recording that ends in between must not count names that it does not have.
            self.described.fetch_add(lines.described, Ordering::Relaxed);
        }
        let given = written.and(given);
        if let Err(error) = &given {
            self.failure.get_or_insert_with(|| error.clone());
        }
        given
    }

    /// How many ids have a line in `methods.jsonl`; read without the table's lock.
    pub(in crate::recorder) fn described(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.described)
    }
}

/// Lines that are still to be written.
#[derive(Default)]
struct NewLines {
    ids: String,
    methods: Vec<u8>,
    /// How many methods have their first line among these.
    described: u64,
}

impl NewLines {
    fn add_method(&mut self, line: &MethodLine) -> Result<(), SinkError> {
        serde_json::to_writer(&mut self.methods, line)
            .map_err(|error| SinkError::whole_trace(format!("methods.jsonl: {error}")))?;
        self.methods.push(b'\n');
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use flow_codec::format::instructions::Code;

    use super::*;
    use crate::sink::Budget;

    fn info(class: &str, loader: &str) -> MethodInfo {
        MethodInfo {
            class: class.to_owned(),
            name: "m".to_owned(),
            descriptor: "()V".to_owned(),
            loader: loader.to_owned(),
            ..MethodInfo::default()
        }
    }

    fn table(dir: &Path, start: StartIds) -> IdTable {
        let file = |name: &str| LineFile::create(&dir.join(name)).unwrap();
        IdTable::new(start, file("ids.properties"), file("methods.jsonl")).unwrap()
    }

    #[test]
    fn loaders_share_an_id_and_have_a_line_each() {
        let dir = tempfile::tempdir().unwrap();
        let mut table = table(dir.path(), StartIds::default());
        let ids: Vec<u64> = ["app", "x.L@1", "app"]
            .map(|loader| table.assign(info("a.A", loader)).unwrap().get())
            .to_vec();
        assert_eq!(ids, [0, 0, 0]);
        assert_eq!(fs::read_to_string(dir.path().join("ids.properties")).unwrap(), "a.A#m()V=0\n");
        let methods = fs::read_to_string(dir.path().join("methods.jsonl")).unwrap();
        assert_eq!(methods.lines().count(), 2);
        assert_eq!(table.described().load(Ordering::Relaxed), 1);
    }

    #[test]
    fn each_version_of_a_method_has_a_line_and_its_code_is_written_once() {
        let dir = tempfile::tempdir().unwrap();
        let mut table = table(dir.path(), StartIds::default());
        let of = |loader: &str, lines: &[u16], runs: &[u16]| {
            let code = Code { runs: runs.to_vec(), ..Code::default() };
            let code = (!runs.is_empty()).then(|| Box::new(code));
            MethodInfo { lines: lines.to_vec(), code, ..info("a.A", loader) }
        };
        let mut versions = Vec::new();
        for method in [
            of("app", &[], &[]),
            of("app", &[], &[0]),
            of("x.L@1", &[], &[0]),
            of("x.L@2", &[], &[7]),
            of("x.L@2", &[], &[0]),
            of("app", &[2, 3], &[]),
            of("app", &[2, 3], &[]),
        ] {
            versions.extend(table.assign_all(vec![method]).unwrap());
        }
        assert!(versions.iter().all(|assigned| assigned.id.get() == 0));
        let numbers: Vec<_> = versions.iter().map(|assigned| assigned.version.unwrap()).collect();
        assert_eq!(numbers, [0, 0, 0, 1, 0, 2, 2]);
        let text = fs::read_to_string(dir.path().join("methods.jsonl")).unwrap();
        let lines = text.lines().map(|line| MethodLine::decode(line).unwrap().method);
        let lines: Vec<_> = lines.map(|it| (it.loader, it.version, it.code.is_some())).collect();
        let line = |loader: &str, version, has_code| (loader.to_owned(), version, has_code);
        assert_eq!(
            lines,
            [
                line("app", 0, false),
                line("app", 0, true),
                line("x.L@1", 0, false),
                line("x.L@2", 1, true),
                line("app", 2, false)
            ]
        );
        for number in 4..MAX_VERSIONS + 4 {
            let known = table.assign_all(vec![of("app", &[number], &[])]).unwrap()[0].version;
            assert_eq!(known, (number <= MAX_VERSIONS).then_some(number - 1), "{number}");
        }
        let text = fs::read_to_string(dir.path().join("methods.jsonl")).unwrap();
        assert_eq!(text.lines().count(), lines.len() + usize::from(MAX_VERSIONS) - 3);
    }

    #[test]
    fn a_reserved_id_is_named_when_its_method_is_recorded() {
        let dir = tempfile::tempdir().unwrap();
        let mut table = table(dir.path(), StartIds::default());
        assert_eq!(table.reserve("a.B#m()V").unwrap().get(), 0);
        let ids = table.assign_all(vec![info("a.A", "app"), info("a.B", "app")]).unwrap();
        assert_eq!(ids.iter().map(|one| one.id.get()).collect::<Vec<_>>(), [1, 0]);
        let lines = fs::read_to_string(dir.path().join("ids.properties")).unwrap();
        assert_eq!(lines, "a.A#m()V=1\na.B#m()V=0\n");
        assert_eq!(table.described().load(Ordering::Relaxed), 2);
    }

    #[test]
    fn nobody_gets_an_id_whose_name_could_not_be_written() {
        let dir = tempfile::tempdir().unwrap();
        let mut table = table(dir.path(), StartIds::default());
        table.assign(info("a.A", "app")).unwrap();
        let read_only = fs::File::open(dir.path().join("ids.properties")).unwrap();
        table.ids = LineFile::new(read_only, "ids.properties", Budget::new(None));
        let error = table.assign(info("a.B", "app")).unwrap_err().to_string();
        assert!(error.contains("ids.properties"), "{error}");
        assert_eq!(table.assign(info("a.B", "app")).unwrap_err().to_string(), error);
        assert_eq!(table.reserve("a.C#m()V").unwrap_err().to_string(), error);
    }

    #[test]
    fn after_the_end_nothing_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let mut table = table(dir.path(), StartIds::default());
        table.assign(info("a.A", "app")).unwrap();
        table.finish();
        let error = table.assign_all(vec![info("a.B", "app")]).unwrap_err();
        assert_eq!(error.scope(), crate::sink::Scope::Ended);
        let lines = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap().lines().count();
        assert_eq!((lines("methods.jsonl"), lines("ids.properties")), (1, 1));
    }

    #[test]
    fn a_reused_mapping_is_continued_and_saved_whole() {
        let dir = tempfile::tempdir().unwrap();
        let old = dir.path().join("old.properties");
        fs::write(&old, "# kept\na.B#m()V=5\na.A#m()V=2\n").unwrap();
        let mut table = table(dir.path(), StartIds::read(&IdSource::File(old)).unwrap());
        assert_eq!(table.assign(info("a.A", "app")).unwrap().get(), 2);
        assert_eq!(table.assign(info("a.New", "app")).unwrap().get(), 6);
        let ids = fs::read_to_string(dir.path().join("ids.properties")).unwrap();
        assert_eq!(ids, "a.A#m()V=2\na.B#m()V=5\na.New#m()V=6\n");
    }

    #[test]
    fn a_mapping_with_a_bad_line_or_a_double_id_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("bad.properties");
        for (text, expected) in [
            ("a.A#m()V=0\nrubbish\n", "line 2: expected pkg.Class#method(descriptor)=id"),
            ("a.A#m()V=0\na.B#m()V=0\n", "line 2: id 0 belongs to a.A#m()V already"),
            ("a.A#m()V=0\na.A#m()V=1\n", "line 2: a.A#m()V has id 0 already"),
            ("a.A#m()V=9223372036854775807\n", "line 1: id 9223372036854775807 leaves no ids"),
        ] {
            fs::write(&path, text).unwrap();
            let error = StartIds::read(&IdSource::File(path.clone())).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn optimize_numbers_by_call_count() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("ids.properties"), "a.A#m()V=0\na.B#m()V=1\na.C#m()V=2\n")
            .unwrap();
        // 0 once, 2 three times, on two threads.
        fs::write(dir.path().join("thread-1.flow"), [0x80, 0x82, 0x82, 0x02]).unwrap();
        fs::write(dir.path().join("thread-2.flow"), [0x82, 0x00]).unwrap();
        let start = StartIds::read(&IdSource::Optimize(dir.path().to_path_buf())).unwrap();
        let order: Vec<_> = start.ids.iter().map(|(key, id)| (key.as_str(), id.get())).collect();
        assert_eq!(order, [("a.C#m()V", 0), ("a.A#m()V", 1), ("a.B#m()V", 2)]);
    }
}
