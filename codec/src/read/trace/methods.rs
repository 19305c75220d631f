//! The methods of a trace.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::sync::Arc;

use crate::format::container::StreamKind;
use crate::format::ids;
use crate::format::methods::{MethodInfo, MethodLine};
use crate::format::shape_name::MethodKey;
use crate::name::stable_key;
use crate::store::{Place, for_each_line};
use crate::{Error, MethodId, Name};

/// A method of a trace.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Method {
    pub(crate) info: MethodInfo,
    other_loaders: Vec<String>,
    /// Further versions of the method.
    #[expect(
        clippy::box_collection,
        reason = "one word: of a million methods, nearly none has another version"
    )]
    other_versions: Option<Box<BTreeMap<u16, MethodInfo>>>,
    has_key: bool,
    is_described: bool,
}

impl Method {
    /// Returns what is known about the method; without a line in `methods.jsonl`, only its key.
    #[must_use]
    pub fn info(&self) -> &MethodInfo {
        &self.info
    }

    /// Returns further class loaders that define the same class and method.
    #[doc(hidden)]
    #[must_use]
    pub fn other_loaders(&self) -> &[String] {
        &self.other_loaders
    }

    /// Returns whether the method has a line in `ids.properties`.
    #[doc(hidden)]
    #[must_use]
    pub fn has_key(&self) -> bool {
        self.has_key
    }

    /// Returns whether the method has a line in `methods.jsonl`. Methods of a reused mapping that were not called in this run
    /// have none.
    #[doc(hidden)]
    #[must_use]
    pub fn is_described(&self) -> bool {
        self.is_described
    }

    /// Returns all versions of the method, version 0 first.
    #[doc(hidden)]
    pub fn versions(&self) -> impl Iterator<Item = &MethodInfo> {
        let others = self.other_versions.iter().flat_map(|others| others.values());
        std::iter::once(&self.info).chain(others)
    }

    /// Returns a version of the method; another one if there is none with this number.
    #[doc(hidden)]
    #[must_use]
    pub fn version(&self, number: u16) -> &MethodInfo {
        let others = self.other_versions.as_ref().filter(|_| number != self.info.version);
        others.and_then(|others| others.get(&number)).unwrap_or(&self.info)
    }

    /// Adds the details of another line.
    fn add(&mut self, other: MethodInfo) {
        self.add_loader(&other.loader);
        self.add_version(other);
    }

    /// Adds what other lines of the same method have.
    fn add_all(&mut self, other: Self) {
        self.add(other.info);
        other.other_loaders.iter().for_each(|loader| self.add_loader(loader));
        if let Some(versions) = other.other_versions {
            versions.into_values().for_each(|version| self.add_version(version));
        }
    }

    fn add_loader(&mut self, loader: &str) {
        // A loader has a line for each version.
        let last = self.other_loaders.last().map(String::as_str);
        if self.info.loader != loader && last != Some(loader) {
            self.other_loaders.push(loader.to_owned());
        }
    }

    fn add_version(&mut self, other: MethodInfo) {
        let known = match other.version == self.info.version {
            true => &mut self.info,
            false => match self.other_versions.get_or_insert_default().entry(other.version) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(place) => {
                    place.insert(other);
                    return;
                }
            },
        };
        if !known.has_details() && other.has_details() {
            // These say what its lines are.
            known.source = other.source;
            known.inlined = other.inlined;
        }
        if known.lines.is_empty() {
            known.lines = other.lines;
        }
        if known.parameters.is_empty() {
            known.parameters = other.parameters;
        }
        if known.interface.is_none() {
            known.interface = other.interface;
        }
        if known.roles.is_empty() {
            known.roles = other.roles;
        }
        known.code = known.code.take().or(other.code);
    }
}

impl fmt::Display for Method {
    /// `pkg.Outer$Inner.method(I)V`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Name::from(&self.info).fmt(f)
    }
}

/// The methods of a trace by id.
#[derive(Clone, Debug, Default)]
pub struct Methods {
    /// Sorted. Ids are assigned in the order of the lines that are read, so hardly one is not added at the end.
    by_id: Vec<(MethodId, Method)>,
    classes: Arc<Classes>,
    fields: BTreeMap<MethodId, Field>,
    read: NamesRead,
    has_raw_names: bool,
}

/// A field of a class.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    /// The binary name of the class by which code refers to it.
    pub class: String,
    /// Its name.
    pub name: String,
}

/// How much of the files was read. The lines in it have no errors.
#[derive(Clone, Copy, Debug, Default)]
struct NamesRead {
    described: u64,
    keys: u64,
}

/// The names of [classes](ids#classes) by their ids.
pub(crate) type Classes = BTreeMap<MethodId, Arc<str>>;

impl NamesRead {
    const fn is_nothing(self) -> bool {
        self.described == 0 && self.keys == 0
    }
}

impl Methods {
    /// Lets their [names](crate::MethodNames) be those of the class files, which compilers have made of those in the source.
    #[doc(hidden)]
    pub fn show_raw_names(&mut self) {
        self.has_raw_names = true;
    }

    /// Whether names are shown as they are in class files.
    #[doc(hidden)]
    #[must_use]
    pub fn has_raw_names(&self) -> bool {
        self.has_raw_names
    }

    /// Reads `ids.properties` and `methods.jsonl` of a trace. Files that are absent count as empty, and a
    /// truncated last line is ignored. Errors are added to `damage`.
    pub(crate) fn read(place: &Place, damage: &mut Vec<Error>) -> Self {
        Self::default().read_on(place, damage)
    }

    /// The same of a trace of which these methods were read before: only lines that were added are read.
    pub(crate) fn read_on(mut self, place: &Place, damage: &mut Vec<Error>) -> Self {
        let before = self.read;
        if before.is_nothing() {
            self = Self::default();
        }
        let known_damage = damage.len();
        let is_known = self.read_new(place, damage);
        let is_whole = damage.len() == known_damage;
        if is_known && (is_whole || before.is_nothing()) {
            if !is_whole {
                self.read = NamesRead::default();
            }
            return self;
        }
        // Errors name the lines of the whole file.
        damage.truncate(known_damage);
        Self::read(place, damage)
    }

    /// Reads the lines that were added. Returns `false` if those that were read before are gone.
    fn read_new(&mut self, place: &Place, damage: &mut Vec<Error>) -> bool {
        let (mut lines, mut keys) = (place.text(StreamKind::Methods), place.text(StreamKind::Ids));
        if !lines.skip(self.read.described) || !keys.skip(self.read.keys) {
            return false;
        }
        let known = self.by_id.len();
        let read = for_each_line(lines, damage, |line| {
            let Some(MethodLine { id, method }) = MethodLine::decode(line) else {
                return Err("a JSON object with id, class, name and descriptor");
            };
            match self.by_id.last_mut() {
                Some((last, known)) if *last == id && known.is_described => known.add(method),
                _ => {
                    let method = Method { info: method, is_described: true, ..Method::default() };
                    self.by_id.push((id, method));
                }
            }
            Ok(())
        });
        self.read.described += read.bytes;
        self.sort();
        // Methods without a description, which are added at the end.
        let (mut others, mut next) = (Vec::new(), known);
        let read = for_each_line(keys, damage, |line| {
            let Ok(entry) = ids::decode_line(line) else {
                return Err("pkg.Class#method(descriptor)=id");
            };
            let Some((key, id)) = entry else { return Ok(()) };
            // Mostly the one after that of the last line.
            let is_next = self.by_id.get(next).is_some_and(|(known, _)| *known == id);
            let found = if is_next { Some(next) } else { self.place(id).ok() };
            let Some((place, (_, method))) =
                found.and_then(|place| Some((place, self.by_id.get_mut(place)?)))
            else {
                let (class, name, descriptor) = ids::split_key(&key);
                let info = MethodInfo {
                    class: class.to_owned(),
                    name: name.to_owned(),
                    descriptor: descriptor.to_owned(),
                    ..MethodInfo::default()
                };
                others.push((id, Method { info, has_key: true, ..Method::default() }));
                return Ok(());
            };
            next = place + 1;
            method.has_key = true;
            let info = &method.info;
            match ids::is_key(&key, &info.class, &info.name, &info.descriptor) {
                true => Ok(()),
                false => Err("the method that methods.jsonl has for this id"),
            }
        });
        self.read.keys += read.bytes;
        if !others.is_empty() {
            self.by_id.append(&mut others);
            self.sort();
        }
        let is_class = |(_, method): &mut (MethodId, Method)| method.info.name == ids::CLASS;
        let mut classes = self.by_id.extract_if(.., is_class).peekable();
        if classes.peek().is_some() {
            let known = Arc::make_mut(&mut self.classes);
            known.extend(classes.map(|(id, method)| (id, Arc::from(method.info.class))));
        } else {
            drop(classes);
        }
        let is_field =
            |(_, method): &mut (MethodId, Method)| method.info.name.starts_with(ids::FIELD);
        let fields = self.by_id.extract_if(.., is_field).map(|(id, Method { info, .. })| {
            let name = info.name.strip_prefix(ids::FIELD).unwrap_or_default().to_owned();
            (id, Field { class: info.class, name })
        });
        self.fields.extend(fields);
        true
    }

    /// Sorts the methods. Of several lines with one id the first one counts, with the loaders and versions of the others.
    fn sort(&mut self) {
        if self.by_id.is_sorted_by(|(one, _), (other, _)| one < other) {
            return;
        }
        self.by_id.sort_by_key(|(id, _)| *id);
        self.by_id.dedup_by(|(other, another), (id, method)| {
            let is_same = other == id;
            if is_same && another.is_described {
                match method.is_described {
                    true => method.add_all(std::mem::take(another)),
                    // Its key was read before.
                    false => {
                        let has_key = method.has_key;
                        *method = Method { has_key, ..std::mem::take(another) };
                    }
                }
            }
            is_same
        });
    }

    /// Where a method is, or would be.
    fn place(&self, id: MethodId) -> Result<usize, usize> {
        self.by_id.binary_search_by_key(&id, |(id, _)| *id)
    }

    /// The name of a class of exceptions.
    #[must_use]
    pub fn class(&self, id: MethodId) -> Option<&str> {
        self.classes.get(&id).map(|name| &**name)
    }

    /// A field that values are of.
    #[doc(hidden)]
    #[must_use]
    pub fn field(&self, id: MethodId) -> Option<&Field> {
        self.fields.get(&id)
    }

    /// Returns all fields that recorded values belong to.
    #[doc(hidden)]
    pub fn fields(&self) -> impl Iterator<Item = &Field> {
        self.fields.values()
    }

    /// Returns whether values are of fields.
    #[doc(hidden)]
    #[must_use]
    pub fn have_fields(&self) -> bool {
        !self.fields.is_empty()
    }

    /// All names of classes.
    pub(crate) fn classes(&self) -> &Arc<Classes> {
        &self.classes
    }

    /// Adds a method, or replaces the one with this id.
    #[doc(hidden)]
    pub fn insert(&mut self, id: MethodId, info: MethodInfo) {
        let method = Method { info, is_described: true, ..Method::default() };
        if self.by_id.last().is_none_or(|(last, _)| *last < id) {
            return self.by_id.push((id, method));
        }
        match self.place(id).map(|place| self.by_id.get_mut(place)) {
            Ok(Some((_, old))) => *old = method,
            Ok(None) => {}
            Err(place) => self.by_id.insert(place, (id, method)),
        }
    }

    /// The method with this id.
    #[must_use]
    pub fn get(&self, id: MethodId) -> Option<&Method> {
        self.by_id.get(self.place(id).ok()?).map(|(_, method)| method)
    }

    /// The full form of the method's name; ids without a name show as `?#7`.
    /// [`MethodNames`](crate::MethodNames) has other forms.
    #[must_use]
    pub fn display(&self, id: MethodId) -> String {
        self.get(id).map_or_else(|| format!("?#{id}"), Method::to_string)
    }

    /// The key of a method in the names of shapes.
    #[doc(hidden)]
    #[must_use]
    pub fn key(&self, id: MethodId) -> MethodKey {
        match self.get(id).map(|method| &method.info) {
            Some(info) => MethodKey::new(&info.class, &info.name, &info.descriptor),
            None => MethodKey::unknown(id),
        }
    }

    /// The key of a method in the names of behaviours; `None` if its calls are not part of them.
    #[doc(hidden)]
    #[must_use]
    pub fn stable_key(&self, id: MethodId) -> Option<MethodKey> {
        match self.get(id).map(|method| &method.info) {
            Some(info) => {
                Some(MethodKey::of(&stable_key(&info.class, &info.name, &info.descriptor)?))
            }
            None => Some(MethodKey::unknown(id)),
        }
    }

    /// How many methods have a name.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// How many methods the recorded program met, without those of a reused mapping that it did not. All, if
    /// the files do not distinguish them.
    #[doc(hidden)]
    #[must_use]
    pub fn met(&self) -> usize {
        match self.by_id.iter().filter(|(_, method)| method.is_described).count() {
            0 => self.len(),
            met => met,
        }
    }

    /// Returns whether no method has a name.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// All methods in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (MethodId, &Method)> {
        self.by_id.iter().map(|(id, method)| (*id, method))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::format::names;

    fn id(number: u64) -> MethodId {
        MethodId::new(number).unwrap()
    }

    #[test]
    fn names_come_from_either_file_and_loaders_add_up() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(names::IDS), "a.B#m(I)V=0\na.C$D#<init>()V=1\na.E#cut()V=2")
            .unwrap();
        let line = |loader| {
            format!(
                "{{\"id\":0,\"class\":\"a.B\",\"name\":\"m\",\"descriptor\":\"(I)V\",\
                 \"loader\":\"{loader}\",\"line\":3}}\n"
            )
        };
        fs::write(dir.path().join(names::METHODS), line("app") + &line("x.Loader@2")).unwrap();
        let mut damage = Vec::new();
        let methods = Methods::read(&Place::directory(dir.path()), &mut damage);
        assert!(damage.is_empty());
        assert_eq!(methods.display(id(0)), "a.B.m(I)V");
        assert_eq!(methods.display(id(1)), "a.C$D.<init>()V");
        assert_eq!(methods.display(id(2)), "?#2", "a line cut off by a kill does not count");
        let method = methods.get(id(0)).unwrap();
        assert_eq!(method.info.line, Some(3));
        assert_eq!(method.other_loaders, ["x.Loader@2"]);
    }

    #[test]
    fn versions_of_a_method_have_lines_and_names_of_their_own() {
        let dir = tempfile::tempdir().unwrap();
        let start = r#"{"id":0,"class":"a.B","name":"m","descriptor":"(I)V","loader":"#;
        let lines = [
            r#""app","flags":[],"lines":[2,3],"parameters":["alpha"]}"#,
            r#""x.L@1","flags":[],"lines":[1,5],"parameters":["beta"],"version":1}"#,
            r#""x.L@2","flags":[],"lines":[2,3],"parameters":["alpha"]}"#,
            r#""x.L@2","flags":[],"lines":[9],"parameters":["gamma"],"version":2}"#,
        ];
        let text: String = lines.iter().map(|line| format!("{start}{line}\n")).collect();
        fs::write(dir.path().join(names::METHODS), text).unwrap();
        let methods = Methods::read(&Place::directory(dir.path()), &mut Vec::new());
        let method = methods.get(id(0)).unwrap();
        let seen = |info: &MethodInfo| (info.lines.clone(), info.parameters.join(" "));
        let of = |name: &str, lines: &[u16]| (lines.to_vec(), name.to_owned());
        let [alpha, beta, gamma] = [of("alpha", &[2, 3]), of("beta", &[1, 5]), of("gamma", &[9])];
        assert_eq!(
            method.versions().map(seen).collect::<Vec<_>>(),
            [&alpha, &beta, &gamma].map(Clone::clone)
        );
        assert_eq!(
            [0, 1, 2, 7].map(|n| seen(method.version(n))),
            [alpha.clone(), beta, gamma, alpha]
        );
        assert_eq!(method.other_loaders, ["x.L@1", "x.L@2"]);
    }

    #[test]
    fn versions_are_found_wherever_their_lines_are() {
        let dir = tempfile::tempdir().unwrap();
        let line = |id: u64, version: u16| {
            format!(
                "{{\"id\":{id},\"class\":\"a.B\",\"name\":\"m\",\"descriptor\":\"(I)V\",\
                 \"loader\":\"x.L@{version}\",\"flags\":[],\"lines\":[{}],\"version\":{version}}}\n",
                version + 1
            )
        };
        // Those of one class, and then two that follow each other.
        let lines = [(0, 0), (1, 0), (0, 1), (0, 2), (1, 1)];
        let text: String = lines.into_iter().map(|(id, version)| line(id, version)).collect();
        fs::write(dir.path().join(names::METHODS), text).unwrap();
        let methods = Methods::read(&Place::directory(dir.path()), &mut Vec::new());
        let method = methods.get(id(0)).unwrap();
        let lines: Vec<_> = method.versions().map(|info| info.lines.clone()).collect();
        assert_eq!(lines, [[1], [2], [3]]);
        assert_eq!(method.other_loaders, ["x.L@1", "x.L@2"]);
        assert_eq!(methods.get(id(1)).unwrap().versions().count(), 2);
    }

    #[test]
    fn fields_are_no_methods() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(names::IDS), "a.B#m(I)V=0\na.C$D#<field>total=1\n").unwrap();
        let mut damage = Vec::new();
        let methods = Methods::read(&Place::directory(dir.path()), &mut damage);
        assert!(damage.is_empty());
        let field = Field { class: "a.C$D".to_owned(), name: "total".to_owned() };
        assert_eq!((methods.len(), methods.field(id(1))), (1, Some(&field)));
        assert_eq!(methods.field(id(0)), None);
    }

    #[test]
    fn only_lines_that_were_added_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let place = Place::directory(dir.path());
        let described = |id: u64, name: &str, loader: &str| {
            format!(
                "{{\"id\":{id},\"class\":\"a.B\",\"name\":\"{name}\",\"descriptor\":\"()V\",\
                 \"loader\":\"{loader}\"}}\n"
            )
        };
        let stages = [
            (String::new(), "a.B#one()V=0\n"),
            (described(0, "one", "app"), "a.B#two()V=1\njava.io.IOException#<class>=2\n"),
            (described(0, "one", "other"), "a.B#thr"),
            (described(1, "two", "app") + "{\"id\"", "ee()V=3\n"),
            (":3 }\n".to_owned(), "rubbish\n"),
            (described(4, "four", "app"), "a.B#four()V=4\n"),
        ];
        let (mut grown, mut texts) = (Methods::default(), [String::new(), String::new()]);
        for (number, (lines, keys)) in stages.iter().enumerate() {
            texts[0] += lines;
            texts[1] += keys;
            fs::write(dir.path().join(names::METHODS), &texts[0]).unwrap();
            fs::write(dir.path().join(names::IDS), &texts[1]).unwrap();
            let (mut damage, mut expected) = (Vec::new(), Vec::new());
            if number == 3 {
                // The lines that are known are not read again.
                let changed = texts[1].replace("one", "two");
                fs::write(dir.path().join(names::IDS), changed).unwrap();
            }
            grown = grown.read_on(&place, &mut damage);
            fs::write(dir.path().join(names::IDS), &texts[1]).unwrap();
            let at_once = Methods::read(&place, &mut expected);
            assert_eq!(grown.by_id, at_once.by_id, "{number}");
            assert_eq!(grown.classes, at_once.classes, "{number}");
            let text = |damage: &[Error]| damage.iter().map(Error::to_string).collect::<Vec<_>>();
            assert_eq!(text(&damage), text(&expected), "{number}");
            assert_eq!(damage.len(), if number < 4 { 0 } else { 2 }, "{number}: {damage:?}");
        }
        assert_eq!(grown.get(id(0)).unwrap().other_loaders, ["other"]);
        assert_eq!(grown.class(id(2)), Some("java.io.IOException"));
        // Other files.
        fs::write(dir.path().join(names::METHODS), "").unwrap();
        fs::write(dir.path().join(names::IDS), "a.C#m()V=0\n").unwrap();
        let grown = grown.read_on(&place, &mut Vec::new());
        assert_eq!((grown.len(), grown.display(id(0))), (1, "a.C.m()V".to_owned()));
    }

    #[test]
    fn a_bad_line_is_reported_and_the_others_count() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(names::IDS), "a.B#m()V=0\nrubbish\na.B#n()V=1\n").unwrap();
        let mut damage = Vec::new();
        let methods = Methods::read(&Place::directory(dir.path()), &mut damage);
        assert_eq!(methods.len(), 2);
        let error = damage[0].to_string();
        assert!(error.contains("ids.properties:2: expected"), "{error}");
        assert!(error.contains("rubbish"), "{error}");
        assert_eq!(damage.len(), 1);
    }

    #[test]
    fn a_file_of_another_kind_is_not_listed_line_by_line() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(names::METHODS), "x\n".repeat(100_000)).unwrap();
        let mut damage = Vec::new();
        Methods::read(&Place::directory(dir.path()), &mut damage);
        assert_eq!(damage.len(), 20);
    }
}
