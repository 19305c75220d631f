//! Hyperlinks on a terminal, from names of methods and from places such as `Orders.java:12` to source files.
//!
//! Lines are text by the time they are printed, so both are found in the text, as [colours](super::paint) find them.
//! A link is the escape sequence [OSC 8]: terminals that do not know it ignore it.
//!
//! [OSC 8]: https://gist.github.com/egmontkob/eb114294efbcd5adb1944c9f3cb5feda

use std::collections::HashMap;
use std::env;
use std::fmt::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::str::FromStr;

use flow_codec::format::test_marks::invocation;
use flow_codec::read::Methods;
use flow_codec::{MethodNames, NameForm};

use super::super::escaped;
use super::fit::cells;
use super::shown_name::{ShownName, is_stack, shown_names};

/// What a link opens, by name: the URL with `{host}`, `{path}` and `{line}` in it.
const NAMED: [(&str, &str); 4] = [
    // Desktops find no file if a line follows.
    ("file", "file://{host}{path}"),
    ("idea", "http://localhost:63342/api/file/{path}:{line}"),
    ("kitty", "file://{host}{path}#{line}"),
    ("vscode", "vscode://file{path}:{line}"),
];
const OFF: &str = "off";

/// What links open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum LinkTo {
    Nothing,
    /// A URL in which `{host}`, `{path}` and `{line}` are replaced.
    Url(String),
}

impl LinkTo {
    /// What the terminal is likely to open.
    pub(in crate::output) fn of_terminal() -> Self {
        let is = |name: &str, value: &str| env::var_os(name).is_some_and(|is| is == value);
        let name = if is("TERM_PROGRAM", "vscode") {
            // A window that shows another machine: links would be opened on this side, where the files are not. VS Code by
            // itself opens places such as `Orders.java:12`. Its own command line knows such windows by this variable.
            if env::var_os("VSCODE_IPC_HOOK_CLI").is_some() { OFF } else { "vscode" }
        } else if is("TERM", "xterm-kitty") {
            "kitty"
        } else if is("TERM", "linux") {
            // The console of the kernel.
            OFF
        } else {
            "file"
        };
        name.parse().unwrap_or(Self::Nothing)
    }
}

impl FromStr for LinkTo {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == OFF {
            return Ok(Self::Nothing);
        }
        let named = NAMED.into_iter().find(|(name, _)| *name == text).map(|(_, url)| url);
        let url = named.unwrap_or(text);
        let rest = ["{host}", "{path}", "{line}"]
            .iter()
            .fold(url.to_owned(), |rest, part| rest.replace(part, ""));
        let is_url = url.contains("{path}") && url.contains(':') && !rest.contains(['{', '}']);
        if !is_url || !rest.bytes().all(|byte| byte.is_ascii_graphic()) {
            let names = NAMED.map(|(name, _)| name).join(", ");
            return Err(format!(
                "expected {names}, {OFF}, or a URL with {{path}} and {{line}}, such as editor://open?file={{path}}&line={{line}}"
            ));
        }
        Ok(Self::Url(url.to_owned()))
    }
}

/// A line of a source file.
#[derive(Clone, Debug)]
struct Place {
    /// The path of the file, as a URL has it.
    path: Rc<str>,
    line: u32,
}

/// The source files of methods, as far as they are known.
#[derive(Debug, Default)]
pub(in crate::output) struct Links {
    /// The URL, if there are links at all.
    url: Option<String>,
    /// Methods by name, without what follows the parameters.
    methods: HashMap<String, Place>,
    /// The files of these methods by name; `None` if several have this name.
    files: HashMap<String, Option<Rc<str>>>,
}

impl Links {
    /// Links that open this, without any places yet.
    pub(in crate::output) fn new(to: LinkTo) -> Self {
        let url = match to {
            LinkTo::Nothing => None,
            LinkTo::Url(url) => Some(url.replace("{host}", &host())),
        };
        Self { url, ..Self::default() }
    }

    /// Returns whether there may be any.
    pub(in crate::output) fn are_on(&self) -> bool {
        self.url.is_some()
    }

    /// Adds methods whose source files `find` knows by their paths. Methods that are there already stay.
    pub(in crate::output) fn add(
        &mut self,
        methods: &Methods,
        mut find: impl FnMut(&str) -> Option<PathBuf>,
    ) {
        let names = MethodNames::new(methods);
        for (id, method) in methods.iter() {
            if method.info().source.is_none() {
                continue;
            }
            for inlined in &method.info().inlined {
                self.add_file(&inlined.file, &mut find);
            }
            let (file, line) = method.info().source_line(method.info().line.unwrap_or(1));
            let Some(path) = self.add_file(&file, &mut find) else { continue };
            let place = Place { path, line };
            for form in [NameForm::Readable, NameForm::Full] {
                let name = names.get(id, form);
                let name = escaped(&name);
                let name = shown_names(&name).next().map_or(&*name, |shown| whole(&shown, &name));
                self.methods.entry(name.to_owned()).or_insert_with(|| place.clone());
            }
            // As tests are named that have no parameters.
            let test = format!("{}.{}", method.info().class, method.info().name);
            self.methods.entry(escaped(&test).into_owned()).or_insert(place);
        }
    }

    /// Adds a file, by its path in the folder of its package.
    fn add_file(
        &mut self,
        file: &str,
        find: &mut impl FnMut(&str) -> Option<PathBuf>,
    ) -> Option<Rc<str>> {
        let path = find(file).as_deref().and_then(url_path)?;
        let name = file.rsplit('/').next().unwrap_or(file);
        let known = self.files.entry(escaped(name).into_owned());
        let known = known.or_insert_with(|| Some(Rc::from(path.as_str())));
        Some(match known.as_ref().filter(|known| ***known == *path) {
            Some(same) => Rc::clone(same),
            None => {
                *known = None;
                Rc::from(path)
            }
        })
    }

    /// The links in a line: each with its URL, in order. Names are looked up in the line before it was shortened.
    pub(in crate::output) fn of_line(
        &self,
        line: &str,
        shortened: &str,
    ) -> Vec<(Range<usize>, String)> {
        if self.files.is_empty() {
            return Vec::new();
        }
        let mut links = self.names(line, shortened);
        links.extend(self.places(shortened));
        for cell in cells(shortened) {
            let is_free =
                links.iter().all(|(range, _)| range.end <= cell.start || cell.end <= range.start);
            links.extend(
                self.test(&shortened[cell.clone()]).filter(|_| is_free).map(|place| (cell, place)),
            );
        }
        links.sort_unstable_by_key(|(range, _)| range.start);
        links.into_iter().map(|(range, place)| (range, self.url_of(&place))).collect()
    }

    /// The methods that a line names.
    fn names(&self, line: &str, shortened: &str) -> Vec<(Range<usize>, Place)> {
        let before: Vec<_> = shown_names(line).collect();
        let after: Vec<_> = shown_names(shortened).collect();
        // Of a stack, the outermost frames go first. Otherwise, each name is still there, or it cannot be recognised.
        if before.len() != after.len() && !is_stack(line) {
            return Vec::new();
        }
        let pairs = before.iter().rev().zip(after.iter().rev());
        let links = pairs.filter_map(|(before, after)| {
            let place = self.methods.get(whole(before, line))?;
            let is_same = line[before.method.clone()] == shortened[after.method.clone()];
            is_same.then(|| (after.package.start..after.parameters.end, place.clone()))
        });
        links.collect()
    }

    /// The method of a test: `com.app.OrderTest.adds two` or, of an invocation, `com.app.OrderTest.adds(int)[2]`.
    fn test(&self, name: &str) -> Option<Place> {
        let is_number = |(_, number): &(_, &str)| number.bytes().all(|c| c.is_ascii_digit());
        match invocation(name).filter(is_number) {
            Some((method, _)) => self.test(method),
            None => self.methods.get(name).cloned(),
        }
    }

    /// The places in a line, such as `Orders.java:12`.
    fn places(&self, line: &str) -> Vec<(Range<usize>, Place)> {
        let place = |colon: usize| {
            let start = line[..colon].rfind([' ', '(']).map_or(0, |before| before + 1);
            let path = self.files.get(&line[start..colon])?.clone()?;
            let number = line[colon + 1..].split(|c: char| !c.is_ascii_digit()).next()?;
            Some((start..colon + 1 + number.len(), Place { path, line: number.parse().ok()? }))
        };
        line.match_indices(':').filter_map(|(colon, _)| place(colon)).collect()
    }

    fn url_of(&self, place: &Place) -> String {
        let url = self.url.as_deref().unwrap_or_default();
        url.replace("{path}", &place.path).replace("{line}", &place.line.to_string())
    }
}

/// The name of a method without what follows its parameters.
fn whole<'a>(name: &ShownName, line: &'a str) -> &'a str {
    &line[name.package.start..name.parameters.end]
}

/// The absolute path of a file as part of a URL.
fn url_path(path: &Path) -> Option<String> {
    let path = std::path::absolute(path).ok()?;
    // Without `.` in it.
    let path: PathBuf = path.components().collect();
    Some(encoded_path(&path))
}

/// The name of this machine in the URL of a file: a terminal may show what another machine prints.
#[cfg(unix)]
fn host() -> String {
    encoded(rustix::system::uname().nodename().to_bytes())
}

/// No name in the URL of a file: Windows would look for the file on a server.
#[cfg(windows)]
const fn host() -> String {
    String::new()
}

#[cfg(unix)]
fn encoded_path(path: &Path) -> String {
    encoded(std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str()))
}

/// Drives have a colon, and come after a slash: `/C:/src`.
#[cfg(windows)]
fn encoded_path(path: &Path) -> String {
    let path = path.to_string_lossy().replace('\\', "/");
    let parts: Vec<_> = path.split(':').map(|part| encoded(part.as_bytes())).collect();
    format!("/{}", parts.join(":"))
}

/// Text in a URL: everything but letters, digits and a few signs has a code.
fn encoded(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for byte in bytes {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'~' => text.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => text.push(char::from(*byte)),
            // Writing to memory cannot fail.
            byte => drop(write!(text, "%{byte:02X}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use flow_codec::format::methods::MethodInfo;

    use super::*;

    /// Links of two methods, whose files are in a folder with a blank.
    fn links(to: &str) -> Links {
        let mut links = Links::new(to.parse().unwrap());
        let info = |class: &str, name: &str, line: u32| MethodInfo {
            class: class.to_owned(),
            name: name.to_owned(),
            descriptor: "(ILjava/lang/String;)V".to_owned(),
            source: Some(format!("{}.java", class.rsplit('.').next().unwrap())),
            line: Some(line),
            ..MethodInfo::default()
        };
        let mut methods = Methods::default();
        for (id, info) in (0..).zip([
            info("com.app.Orders", "total", 12),
            info("com.app.Db", "query", 7),
            info("com.other.Db", "query", 9),
            info("lib.Other", "run", 1),
        ]) {
            methods.insert(flow_codec::MethodId::new(id).unwrap(), info);
        }
        links.add(&methods, |file| {
            file.starts_with("com/").then(|| Path::new("/my src").join(file))
        });
        links
    }

    fn found(line: &str, shortened: &str) -> Vec<(String, String)> {
        let links = links("vscode").of_line(line, shortened);
        links.into_iter().map(|(at, url)| (shortened[at].to_owned(), url)).collect()
    }

    fn link(text: &str, url: &str) -> (String, String) {
        (text.to_owned(), url.to_owned())
    }

    #[test]
    fn names_and_places_have_the_line_of_their_source() {
        let total = "vscode://file/my%20src/com/app/Orders.java:12";
        let line = "12.5%  com.app.Orders.total(int, String)  ×2";
        assert_eq!(found(line, line), [link("com.app.Orders.total(int, String)", total)]);
        assert_eq!(
            found(line, "12.5%  Orders.total(…)  ×2"),
            [link("Orders.total(…)", total)],
            "the whole name is in the line before it was shortened"
        );
        let verbose = "com.app.Orders.total(ILjava/lang/String;)V  (Orders.java:3, app)";
        let place = "vscode://file/my%20src/com/app/Orders.java:3";
        assert_eq!(
            found(verbose, verbose),
            [
                link("com.app.Orders.total(ILjava/lang/String;)V", total),
                link("Orders.java:3", place)
            ]
        );
    }

    #[test]
    fn tests_are_methods() {
        for name in
            ["com.app.Db.query", "com.app.Db.query(int, String)[2]", "com.app.Db.query[1][12]"]
        {
            let line = format!("passed  19  {name}");
            let url = "vscode://file/my%20src/com/app/Db.java:7";
            assert_eq!(found(&line, &line), [link(name, url)]);
        }
    }

    #[test]
    fn what_is_not_certain_has_no_link() {
        for line in [
            "lib.Other.run(int, String)",
            "com.app.Orders.total(long)",
            "Db.java:7",
            "Orders.java",
            "Orders.java:",
            "Orders.java:99999999999",
            "XOrders.java:1",
            "com.app.Db.query[x]",
            "see com.app.Db.query",
        ] {
            assert_eq!(found(line, line), [], "{line}");
        }
        let two = "com.app.Orders.total(int, String), com.app.Db.query(int, String)";
        assert_eq!(found(two, two).len(), 2);
        assert_eq!(found(two, "Orders.total…, com.app.Db.query(…)"), []);
    }

    #[test]
    fn frames_of_a_shortened_stack_keep_their_links() {
        let stack = "in com.app.Orders.total(int, String) > com.app.Db.query(int, String)";
        let shortened = "in … 1 more … > com.app.Db.query(int, String)";
        assert_eq!(
            found(stack, shortened),
            [link("com.app.Db.query(int, String)", "vscode://file/my%20src/com/app/Db.java:7")]
        );
    }

    #[test]
    fn a_template_is_a_url() {
        for wrong in
            ["", "vim", "x:{line}", "x:{path}{column}", "x:{path}\u{1b}", "x: {path}", "{path}"]
        {
            assert!(wrong.parse::<LinkTo>().is_err(), "{wrong}");
        }
        assert_eq!("off".parse(), Ok(LinkTo::Nothing));
        let line = "com.app.Orders.total(int, String)";
        let url = |to: &str| links(to).of_line(line, line).remove(0).1;
        assert_eq!(url("x:{line}@{path}"), "x:12@/my%20src/com/app/Orders.java");
        assert_eq!(url("idea"), "http://localhost:63342/api/file//my%20src/com/app/Orders.java:12");
        assert_eq!(url("file"), format!("file://{}/my%20src/com/app/Orders.java", host()));
    }
}
