//! Presets: what is recorded of libraries to show SQL statements, HTTP requests and log messages. A preset is a list of rules in
//! a file; `docs/presets.md` describes it. Pure.
//!
//! A rule names methods and what they are to the preset. `java.sql.Statement+` means the classes of the program that extend or
//! implement `java.sql.Statement`, however indirectly, and itself. Which supertypes a class has is what the caller knows of it.

use std::sync::Arc;

use flow_codec::format::roles::{MethodRole, PresetRole, TextSource, ValueSource};
use flow_codec::{Glob, Name};

use crate::OptionError;
use crate::loader::LoaderKind;

/// The presets that flow has.
const BUILT_IN: &str = include_str!("presets.txt");
/// How their file is called in messages.
const BUILT_IN_PLACE: &str = "the presets of flow";
/// The longest text of an operation that is stored: most statements of object-relational mappers are shorter.
pub const MAX_TEXT: usize = 4_000;

/// What these interfaces of the JDK extend: enough to judge a class that is being loaded, before its supertypes are.
const KNOWN_SUPERTYPES: [(&str, &[&str]); 3] = [
    ("java.sql.PreparedStatement", &["java.sql.Statement"]),
    ("java.sql.CallableStatement", &["java.sql.PreparedStatement", "java.sql.Statement"]),
    ("javax.servlet.http.HttpServlet", &["javax.servlet.Servlet"]),
];

/// The presets that a recording has. Copies share their rules.
#[derive(Clone, Default, Debug)]
pub struct Presets(Arc<Chosen>);

#[derive(Default, Debug)]
struct Chosen {
    rules: Vec<Rule>,
    /// Fields that are stored of objects, as patterns with `#`.
    fields: Vec<Glob>,
    /// The types that patterns with `+` name.
    types: Vec<Glob>,
}

/// Methods, and what they are to a preset.
#[derive(Debug)]
struct Rule {
    method: Glob,
    with_subtypes: bool,
    role: MethodRole,
}

/// The presets of a file.
#[derive(Default, Debug)]
pub struct PresetFile {
    presets: Vec<Preset>,
}

/// A preset.
#[derive(Debug)]
struct Preset {
    name: String,
    about: String,
    rules: Vec<Rule>,
    fields: Vec<Glob>,
}

impl PresetFile {
    /// Returns the presets that flow has.
    #[must_use]
    pub fn built_in() -> Self {
        // A test reads it.
        Self::parse(BUILT_IN, BUILT_IN_PLACE).unwrap_or_default()
    }

    /// Reads a file. Messages name it by `place`.
    ///
    /// # Errors
    /// A line is not what the format says.
    pub fn parse(text: &str, place: &str) -> Result<Self, OptionError> {
        let mut presets: Vec<Preset> = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = |why: String| OptionError(format!("{place}, line {number}: {why}"));
            if let Some(head) = line.strip_prefix('[') {
                let (name, about) = head.split_once(']').ok_or_else(|| {
                    wrong(format!("expected [name] and what it is for, found '{line}'"))
                })?;
                let is_name = |name: &str| {
                    !name.is_empty()
                        && name
                            .bytes()
                            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-')
                };
                if !is_name(name) {
                    let why = format!("the name of a preset has a-z, 0-9 and '-', found '{name}'");
                    return Err(wrong(why));
                }
                if presets.iter().any(|preset| preset.name == name) {
                    return Err(wrong(format!("[{name}] is there already; keep one")));
                }
                let (name, about) = (name.to_owned(), about.trim().to_owned());
                presets.push(Preset { name, about, rules: Vec::new(), fields: Vec::new() });
                continue;
            }
            let preset = presets.last_mut();
            let preset = preset.ok_or_else(|| wrong("expected [name] first".to_owned()))?;
            preset.add(line).map_err(wrong)?;
        }
        Ok(Self { presets })
    }

    /// Adds the presets of another file. One of a name that is there already gets further rules.
    pub fn extend(&mut self, other: Self) {
        for preset in other.presets {
            match self.presets.iter_mut().find(|known| known.name == preset.name) {
                Some(known) => {
                    known.rules.extend(preset.rules);
                    known.fields.extend(preset.fields);
                }
                None => self.presets.push(preset),
            }
        }
    }

    /// The names of the presets, each with what it is for.
    pub fn names(&self) -> impl Iterator<Item = (&str, &str)> {
        self.presets.iter().map(|preset| (&*preset.name, &*preset.about))
    }

    /// Chooses presets by their names.
    ///
    /// # Errors
    /// The name that no preset has.
    pub fn choose(self, names: &[String]) -> Result<Presets, String> {
        let unknown = |name: &&String| self.presets.iter().all(|preset| preset.name != **name);
        if let Some(name) = names.iter().find(unknown) {
            return Err(name.clone());
        }
        let mut chosen = Chosen::default();
        for preset in self.presets.into_iter().filter(|preset| names.contains(&preset.name)) {
            chosen.rules.extend(preset.rules);
            chosen.fields.extend(preset.fields);
        }
        let mut types = Vec::new();
        for Rule { method, .. } in chosen.rules.iter().filter(|rule| rule.with_subtypes) {
            let name = method.text().split('#').next().unwrap_or_default().to_owned();
            if !types.contains(&name) {
                types.push(name);
            }
        }
        chosen.types = types.iter().map(|name| Glob::new(name)).collect();
        Ok(Presets(Arc::new(chosen)))
    }
}

impl Preset {
    /// Adds a rule: a role, a pattern, and where the text is.
    fn add(&mut self, line: &str) -> Result<(), String> {
        const FORM: &str =
            "expected a word such as run, a pattern pkg.Class#method, and where the text is";
        let (role, rest) = line.split_once(char::is_whitespace).ok_or_else(|| FORM.to_owned())?;
        let rest = rest.trim_start();
        // A pattern may have blanks between its parameters.
        let head = rest.split(char::is_whitespace).next().unwrap_or_default();
        let end = match head.contains('(') {
            true => rest.find(')').map(|end| end + 1),
            false => Some(head.len()),
        };
        let (pattern, sources) =
            end.and_then(|end| rest.split_at_checked(end)).ok_or_else(|| FORM.to_owned())?;
        let is_method = |pattern: &str| {
            pattern
                .split_once('#')
                .is_some_and(|(class, name)| !class.is_empty() && !name.is_empty())
        };
        if !is_method(pattern) {
            return Err(format!("expected a pattern pkg.Class#name, found '{pattern}'"));
        }
        if role == "fields" {
            self.fields.push(Glob::new(pattern));
            return match sources.trim() {
                "" => Ok(()),
                more => Err(format!("fields has a pattern only, found '{more}' after it")),
            };
        }
        let role = PresetRole::of_word(role).ok_or_else(|| format!("{FORM}; found '{role}'"))?;
        let role = MethodRole::new(&self.name, role, sources)?;
        if role.needs(ValueSource::This) && pattern.contains("#<init>") {
            return Err(format!(
                "{pattern}: 'this' cannot be a source of a constructor: when its call begins, it is not initialised"
            ));
        }
        let has_fields = |source: &TextSource| matches!(source, TextSource::Value(_, fields) if !fields.is_empty());
        if role.role() == PresetRole::Start && role.text().iter().any(has_fields) {
            return Err(format!("{pattern}: start has a thread as its source, no field of it"));
        }
        let with_subtypes = pattern.contains("+#");
        let method = Glob::new(&pattern.replacen("+#", "#", 1));
        self.rules.push(Rule { method, with_subtypes, role });
        Ok(())
    }
}

impl Rule {
    /// Returns whether the rule may be about methods of a class, by its name and its supertypes.
    fn may_select(&self, class: &str, types: &[String], loader: LoaderKind) -> bool {
        self.subjects(class, types, loader).any(|name| self.method.matches_some_of(name))
    }

    fn selects(&self, method: Name<'_>, types: &[String], loader: LoaderKind) -> bool {
        self.subjects(method.class, types, loader)
            .any(|class| self.method.selects(Name { class, ..method }))
    }

    /// The names under which the rule may know a class: its own, and with `+` those of its supertypes, as far as they are known.
    /// Such a rule does not know classes of the JDK, which could not use its archive of classes for them.
    fn subjects<'a>(
        &self,
        class: &'a str,
        types: &'a [String],
        loader: LoaderKind,
    ) -> impl Iterator<Item = &'a str> + use<'a> {
        let own = !self.with_subtypes || loader == LoaderKind::Application;
        let types = if self.with_subtypes && own { types } else { &[] };
        own.then_some(class).into_iter().chain(types.iter().map(String::as_str))
    }
}

impl Presets {
    /// Returns whether there are no rules.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.rules.is_empty()
    }

    /// Returns whether supertypes of classes must be known.
    #[must_use]
    pub fn need_types(&self) -> bool {
        !self.0.types.is_empty()
    }

    /// Returns those of these types that rules are about, in order, each once, with what the JDK's own extend.
    #[must_use]
    pub fn relevant<'a>(&self, types: impl Iterator<Item = &'a str>) -> Vec<String> {
        let mut found = Vec::new();
        for name in types {
            let known = KNOWN_SUPERTYPES.iter().find(|(known, _)| *known == name);
            let known = known.map_or(&[][..], |(_, supertypes)| *supertypes);
            for name in std::iter::once(name).chain(known.iter().copied()) {
                if self.0.types.iter().any(|glob| glob.matches_some_of(name)) {
                    found.push(name.to_owned());
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Returns whether methods of a class may be recorded for a preset.
    #[must_use]
    pub fn may_select(&self, class: &str, types: &[String], loader: LoaderKind) -> bool {
        self.0.rules.iter().any(|rule| rule.may_select(class, types, loader))
    }

    /// Returns whether a method is recorded for a preset, with its values.
    #[must_use]
    pub fn select(&self, method: Name<'_>, types: &[String], loader: LoaderKind) -> bool {
        self.0.rules.iter().any(|rule| rule.selects(method, types, loader))
    }

    /// Returns what a method is to the presets. Of several rules of a preset, the first counts.
    #[must_use]
    pub fn roles(&self, method: Name<'_>, types: &[String], loader: LoaderKind) -> Vec<MethodRole> {
        let mut roles: Vec<MethodRole> = Vec::new();
        for rule in self.0.rules.iter().filter(|rule| rule.selects(method, types, loader)) {
            if roles.iter().all(|role| role.preset() != rule.role.preset()) {
                roles.push(rule.role.clone());
            }
        }
        roles
    }

    /// Returns whether fields of objects of a class are stored for a preset.
    #[must_use]
    pub fn have_fields_of(&self, class: &str) -> bool {
        self.0.fields.iter().any(|glob| glob.matches_some_of(class))
    }

    /// Returns whether a field is stored for a preset.
    #[must_use]
    pub fn have_field(&self, class: &str, field: &str) -> bool {
        self.0.fields.iter().any(|glob| glob.matches(class, field))
    }

    /// The classes that rules name, not only as supertypes.
    pub(crate) fn named(&self) -> impl Iterator<Item = &Glob> {
        self.0.rules.iter().filter(|rule| !rule.with_subtypes).map(|rule| &rule.method)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const APPLICATION: LoaderKind = LoaderKind::Application;

    fn chosen(text: &str, names: &[&str]) -> Presets {
        let file = PresetFile::parse(text, "test").unwrap();
        file.choose(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).unwrap()
    }

    fn roles(presets: &Presets, method: &str, types: &[&str]) -> Vec<String> {
        let types: Vec<_> = types.iter().map(|name| (*name).to_owned()).collect();
        let roles = presets.roles(Name::parse(method), &types, APPLICATION);
        roles.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_presets_of_flow_are_valid() {
        let file = PresetFile::parse(BUILT_IN, BUILT_IN_PLACE).unwrap();
        let names: Vec<_> = file.names().map(|(name, _)| name.to_owned()).collect();
        assert_eq!(names, ["sql", "http", "log", "handovers", "coroutines", "context"]);
        assert!(file.names().all(|(_, about)| !about.is_empty()));
        assert_eq!(file.choose(&["slq".to_owned()]).unwrap_err(), "slq");
    }

    #[test]
    fn requests_of_micronaut_are_those_that_its_handler_accepts() {
        let presets = PresetFile::built_in().choose(&["http".to_owned()]).unwrap();
        let accept = "io.micronaut.http.server.netty.RoutingInBoundHandler.accept(Lio/netty/channel/ChannelHandlerContext;\
                      Lio/netty/handler/codec/http/HttpRequest;Lio/micronaut/http/body/CloseableByteBody;\
                      Lio/micronaut/http/server/netty/handler/OutboundAccess;)V";
        assert_eq!(roles(&presets, accept, &[]), ["http run arg1.method.name.string arg1.uri"]);
    }

    #[test]
    fn routes_and_consumers_are_keys_of_the_context() {
        let presets = PresetFile::built_in().choose(&["context".to_owned()]).unwrap();
        let matched = "org.springframework.web.servlet.mvc.method.RequestMappingInfoHandlerMapping.handleMatch\
                       (Lorg/springframework/web/servlet/mvc/method/RequestMappingInfo;Ljava/lang/String;\
                       Ljakarta/servlet/http/HttpServletRequest;)V";
        let patterns =
            "arg0.pathPatternsCondition.patterns.patternString arg0.patternsCondition.patterns";
        assert_eq!(
            roles(&presets, matched, &[]),
            [format!("context part 'route' | arg0.methodsCondition.methods {patterns}")]
        );
        let service = "jakarta.servlet.http.HttpServlet.service\
                       (Ljakarta/servlet/ServletRequest;Ljakarta/servlet/ServletResponse;)V";
        assert_eq!(roles(&presets, service, &[]), ["context while 'route' | this.class"]);
        let listener = &["jakarta.jms.MessageListener"];
        let on_message = |class: &str| format!("{class}.onMessage(Ljakarta/jms/Message;)V");
        assert_eq!(
            roles(&presets, &on_message("com.app.Orders"), listener),
            ["context while 'consumer' | this.class"]
        );
        // An adapter has the method that it calls, if it calls one.
        let adapter = "org.springframework.jms.listener.adapter.MessagingMessageListenerAdapter";
        assert_eq!(roles(&presets, &on_message(adapter), listener), ["context while 'consumer'"]);
    }

    #[test]
    fn methods_of_classes_that_implement_an_interface_have_its_roles() {
        let file = PresetFile::built_in();
        let presets = file.choose(&["sql".to_owned()]).unwrap();
        let types = ["java.sql.PreparedStatement", "java.sql.Statement"];
        for (method, expected) in [
            ("a.Prepared.executeQuery()Ljava/sql/ResultSet;", "sql run this"),
            ("a.Prepared.executeQuery(Ljava/lang/String;)Ljava/sql/ResultSet;", "sql run arg0"),
            ("a.Prepared.setInt(II)V", "sql set arg0 | arg1"),
            ("a.Prepared.setNull(II)V", "sql set arg0 | 'null'"),
            ("a.Prepared.setObject(ILjava/lang/Object;I)V", "sql set arg0 | arg1"),
            ("a.Prepared.setFetchSize(I)V", ""),
            ("a.Prepared.close()V", ""),
        ] {
            assert_eq!(roles(&presets, method, &types).join(";"), expected, "{method}");
            assert_eq!(roles(&presets, method, &[]), [""; 0], "{method}");
        }
        // Of a class that implements PreparedStatement directly, that is known before its supertypes are loaded.
        let direct =
            presets.relevant(["java.lang.Object", "java.sql.PreparedStatement"].into_iter());
        assert_eq!(direct, types);
    }

    #[test]
    fn classes_of_the_jdk_are_selected_by_their_own_names_only() {
        let presets =
            chosen("[a] x\nrun java.lang.Runnable+#run()\nrun java.util.Timer#x()", &["a"]);
        let (types, jdk) = (["java.lang.Runnable".to_owned()], LoaderKind::Jdk);
        assert!(presets.may_select("com.app.Job", &types, APPLICATION));
        assert!(!presets.may_select("java.util.TimerTask", &types, jdk));
        assert!(presets.may_select("java.util.Timer", &[], jdk));
        assert_eq!(presets.named().map(Glob::text).collect::<Vec<_>>(), ["java.util.Timer#x()"]);
    }

    #[test]
    fn a_file_adds_rules_and_presets() {
        let mut file = PresetFile::built_in();
        let own = "# mine\n[sql]\nrun com.app.Db#run(String, int) arg0 | arg1\n[queue] Messages\nrun com.app.Queue#send(**) arg0.topic";
        file.extend(PresetFile::parse(own, "my.presets").unwrap());
        let presets = file.choose(&["queue".to_owned(), "sql".to_owned()]).unwrap();
        let run = "com.app.Db.run(Ljava/lang/String;I)V";
        assert_eq!(roles(&presets, run, &[]), ["sql run arg0 | arg1"]);
        assert_eq!(roles(&presets, "com.app.Queue.send(I)V", &[]), ["queue run arg0.topic"]);
    }

    #[test]
    fn mistakes_in_a_file_name_their_line() {
        for (text, expected) in [
            ("run a.B#m() arg0", "f, line 1: expected [name] first"),
            ("[a]\n[a]", "f, line 2: [a] is there already; keep one"),
            ("[A b]", "f, line 1: the name of a preset has a-z, 0-9 and '-', found 'A b'"),
            ("[a\n", "f, line 1: expected [name] and what it is for, found '[a'"),
            ("[a]\nrun a.B", "f, line 2: expected a pattern pkg.Class#name, found 'a.B'"),
            (
                "[a]\nrun a.B#m(int arg0",
                "f, line 2: expected a word such as run, a pattern pkg.Class#method, and where the text is",
            ),
            (
                "[a]\nrun a.B#m() argument",
                "f, line 2: 'argument' is no place of a text: use this, result, arg0, arg1.field or 'text'",
            ),
            ("[a]\nfields a.B#m x", "f, line 2: fields has a pattern only, found 'x' after it"),
        ] {
            let error = PresetFile::parse(text, "f").unwrap_err().to_string();
            assert_eq!(error, expected, "{text}");
        }
    }
}
