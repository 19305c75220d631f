//! Which methods are recorded. Pure: names in, verdict out.
//!
//! Without `target` and `include`: every method of every class that neither the boot nor the platform loader
//! defined. With them: what at least one of them matches. `exclude` removes methods from either. Classes of
//! the boot and platform loader are recorded only if a filter *names* them, which a pattern that begins with
//! a wildcard does not.

use flow_codec::format::roles::MethodRole;
use flow_codec::{Glob, Name};

pub use crate::loader::LoaderKind;
use crate::presets::{MAX_TEXT, Presets};
use crate::related::Related;
use crate::tracked::{Text, Tracked};

/// How many characters of a string and elements of an array are recorded by default.
pub const DEFAULT_MAX_VALUE: usize = 64;
/// How many characters of the message of an exception are recorded by default. What the JVM says about a null is at its end.
pub const DEFAULT_MAX_MESSAGE: usize = 256;
/// How deep the content of objects is recorded by default.
pub const DEFAULT_VALUES_DEPTH: u32 = 1;

/// What the options say about which methods to record.
#[derive(Clone, Debug)]
pub struct FilterSpec {
    /// Class name prefixes: `com.x.Foo` also matches `com.x.FooBar`.
    pub targets: Tracked<String>,
    /// Patterns of which one must match, if there are any.
    pub include: Tracked<Glob>,
    /// Further patterns of which one may match instead.
    pub related: Tracked<Related>,
    /// Patterns of which none may match.
    pub exclude: Vec<Glob>,
    /// Patterns of the methods whose lines are recorded, if the methods are.
    pub lines: Tracked<Glob>,
    /// How often their lines are recorded, and whether calls are.
    pub line_recording: LineRecording,
    /// Whether lines that are recorded once are recorded once in the run, not once in each test.
    pub lines_of_run: bool,
    /// Patterns of the methods whose values are recorded, if the methods are.
    pub values: Tracked<Glob>,
    /// Patterns of the methods whose instructions are recorded, if the methods are.
    pub instructions: Tracked<Glob>,
    /// Patterns of the fields of which accesses are recorded, in recorded methods; and of the classes in whose methods
    /// accesses to elements are.
    pub fields: Tracked<Glob>,
    /// Patterns of the methods of which exceptions that reach handlers are recorded, if the methods are.
    pub exceptions: Tracked<Glob>,
    /// Patterns of values that are left out: of methods, or of names of parameters and classes.
    pub redact: Tracked<Glob>,
    /// Which methods of libraries are recorded too, with their values, and what they are.
    pub presets: Presets,
    /// How many characters of a string and elements of an array are recorded.
    pub max_value: usize,
    /// Whether the user chose `max_value`.
    pub limits_text: bool,
    /// How deep the content of objects is recorded.
    pub values_depth: u32,
    /// Whether constructors and static initialisers are recorded.
    pub constructors: bool,
    /// Whether synthetic methods are recorded. Compilers add these: bodies of lambdas, bridges, access methods.
    pub synthetic: bool,
    /// Whether native methods are recorded.
    pub natives: bool,
    /// Whether accessors are left out: methods that only read a field, set one, or pass their arguments on.
    pub skips_accessors: bool,
}

/// How often lines are recorded, and whether calls are.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum LineRecording {
    /// Each time they are reached, within recorded calls.
    #[default]
    Each,
    /// Once, or once for each test, within recorded calls.
    Once,
    /// Like `Once`, and no calls are recorded.
    Alone,
}

impl LineRecording {
    /// Returns whether calls are recorded.
    #[must_use]
    pub fn has_calls(self) -> bool {
        self != Self::Alone
    }
}

impl Default for FilterSpec {
    /// What is recorded by default.
    fn default() -> Self {
        Self {
            targets: Tracked::default(),
            include: Tracked::default(),
            related: Tracked::default(),
            exclude: Vec::new(),
            lines: Tracked::default(),
            line_recording: LineRecording::default(),
            lines_of_run: false,
            values: Tracked::default(),
            instructions: Tracked::default(),
            fields: Tracked::default(),
            exceptions: Tracked::default(),
            redact: Tracked::default(),
            presets: Presets::default(),
            max_value: DEFAULT_MAX_VALUE,
            limits_text: false,
            values_depth: DEFAULT_VALUES_DEPTH,
            constructors: true,
            synthetic: true,
            natives: false,
            skips_accessors: false,
        }
    }
}

/// What the filter decides by.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// Binary class name.
    pub class: &'a str,
    /// Method name.
    pub method: &'a str,
    /// JVM descriptor.
    pub descriptor: &'a str,
    /// Supertypes of the class that the [filter is about](FilterSpec::relevant), as far as they are known.
    pub types: &'a [String],
    /// The classes of its annotations and of those of its class. May be empty if the filter has no patterns for such.
    pub annotations: &'a [String],
    /// Whether the method is native.
    pub native: bool,
    /// Whether the method is synthetic, apart from visibility bridges, which only make a method of a superclass visible. May be
    /// `false` if the filter leaves no synthetic methods out.
    pub synthetic: bool,
    /// Whether the method only reads a field, sets one, or passes its arguments on. May be `false` where the filter leaves
    /// none of these out.
    pub accessor: bool,
    /// Whether the class is hidden (`Lookup.defineHiddenClass`, lambda proxies).
    pub hidden: bool,
    /// The loader that defined the class.
    pub loader: LoaderKind,
}

/// The decision on a method.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It is recorded.
    Record,
    /// The user's filter excludes it.
    Exclude,
    /// The filter selects it, but it is not recorded for this reason, which the manifest names.
    NotRecorded(Reason),
}

/// Why a method that the filter selects is not recorded.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reason {
    /// It is native, and `natives=true` was not given.
    Native,
    /// It is entered on one thread and left on another, so its events would unbalance both.
    SwitchesThread,
    /// It belongs to the JVM and must stay unchanged.
    Protected,
    /// It is an accessor, and these are left out.
    Accessor,
}

impl Reason {
    /// The word the manifest uses.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::SwitchesThread => "switches-thread",
            Self::Protected => "protected",
            Self::Accessor => "accessor",
        }
    }
}

/// The name prefixes of classes of the boot and the platform loader.
const JDK_PACKAGES: [&str; 7] =
    ["java.", "javax.", "jdk.", "sun.", "com.sun.", "org.w3c.", "org.xml."];

/// Tools such as the compiler are applications to the JVM.
const JDK_TOOLS: &str = "com.sun.tools.";

/// Classes whose methods mount and unmount virtual threads: the current thread changes inside them.
const THREAD_SWITCHING: [&str; 2] = ["java.lang.VirtualThread", "jdk.internal.vm.Continuation"];

/// A method of these classes that runs in the thread that starts the other one.
const STARTS_THREAD: &str = "start";

/// Classes of the Java API that a program may have on its class path. Their calls are not the program's.
/// Other classes in their package may belong to the program.
const API_CLASSES: [&str; 5] = [
    "dev.flow.Flow",
    "dev.flow.JUnit4Listener",
    "dev.flow.JUnitListener",
    "dev.flow.TestNGListener",
    "dev.flow.TestOutcome",
];

/// Returns whether a name begins with a package of the JDK, and is not one of its tools.
fn is_of_jdk(name: &str) -> bool {
    !name.starts_with(JDK_TOOLS) && JDK_PACKAGES.iter().any(|jdk| name.starts_with(jdk))
}

fn is_of_api(class: &str) -> bool {
    API_CLASSES.iter().any(|api| is_or_is_nested_in(class, api))
}

/// Returns whether a class is `outer` or nested in it.
#[must_use]
pub fn is_or_is_nested_in(class: &str, outer: &str) -> bool {
    class.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('$'))
}

impl<'a> Candidate<'a> {
    fn name(&self) -> Name<'a> {
        Name::new(self.class, self.method, self.descriptor)
    }
}

impl FilterSpec {
    /// Decides on a method.
    #[must_use]
    pub fn verdict(&self, candidate: Candidate<'_>) -> Verdict {
        let Candidate { class, method, .. } = candidate;
        let initialiser = matches!(method, "<init>" | "<clinit>");
        if !self.selects(candidate)
            || (is_of_api(class)
                && !self.presets.select(candidate.name(), candidate.types, candidate.loader))
            || (initialiser && !self.constructors)
            || (candidate.synthetic && !self.synthetic)
            || self.exclude.iter().any(|glob| glob.selects(candidate.name()))
        {
            return Verdict::Exclude;
        }
        if candidate.native && !self.natives {
            return Verdict::NotRecorded(Reason::Native);
        }
        let switches = |name| is_or_is_nested_in(class, name);
        if candidate.loader == LoaderKind::Jdk
            && method != STARTS_THREAD
            && THREAD_SWITCHING.into_iter().any(switches)
        {
            return Verdict::NotRecorded(Reason::SwitchesThread);
        }
        if candidate.accessor && self.skips_accessors && !self.has_details_of(candidate) {
            return Verdict::NotRecorded(Reason::Accessor);
        }
        Verdict::Record
    }

    /// Returns whether more than the calls of a method is recorded, if the method is.
    fn has_details_of(&self, candidate: Candidate<'_>) -> bool {
        let Candidate { types, loader, .. } = candidate;
        let method = candidate.name();
        self.has_lines_of(method)
            || self.has_values_of(method, types, loader)
            || self.has_instructions_of(method)
    }

    /// Returns whether the lines of a method are recorded, if the method is.
    #[must_use]
    pub fn has_lines_of(&self, method: Name<'_>) -> bool {
        self.lines.find(|glob| glob.selects(method))
    }

    /// Returns whether the values of a method are recorded, if the method is. `types` are supertypes of its class that presets
    /// are about.
    #[must_use]
    pub fn has_values_of(&self, method: Name<'_>, types: &[String], loader: LoaderKind) -> bool {
        self.names_values_of(method) || self.presets.select(method, types, loader)
    }

    /// Returns whether the values of a method are recorded, if the method is, whatever presets say.
    #[must_use]
    pub fn names_values_of(&self, method: Name<'_>) -> bool {
        self.values.find(|glob| glob.selects(method))
    }

    /// Returns what a method is to the presets.
    #[must_use]
    pub fn roles_of(
        &self,
        method: Name<'_>,
        types: &[String],
        loader: LoaderKind,
    ) -> Box<[MethodRole]> {
        self.presets.roles(method, types, loader).into()
    }

    /// Returns how many characters of a string are recorded: of statements and messages more than of other values, because
    /// equal ones are counted.
    #[must_use]
    pub fn max_text(&self) -> usize {
        match self.presets.is_empty() || self.limits_text {
            true => self.max_value,
            false => self.max_value.max(MAX_TEXT),
        }
    }

    /// Returns how many characters of the message of an exception are recorded: more than of other values, because there are
    /// few, and the end is often the cause.
    #[must_use]
    pub fn max_message(&self) -> usize {
        match self.limits_text {
            true => self.max_value,
            false => self.max_value.max(DEFAULT_MAX_MESSAGE),
        }
    }

    /// Returns whether the instructions of a method are recorded, if the method is.
    #[must_use]
    pub fn has_instructions_of(&self, method: Name<'_>) -> bool {
        self.instructions.find(|glob| glob.selects(method))
    }

    /// Returns whether accesses to a field are recorded.
    #[must_use]
    pub fn has_field(&self, field: Name<'_>) -> bool {
        self.fields.find(|glob| glob.selects(field))
    }

    /// Returns whether exceptions that reach handlers of a method are recorded, if the method is.
    #[must_use]
    pub fn has_exceptions_of(&self, method: Name<'_>) -> bool {
        self.exceptions.find(|glob| glob.selects(method))
    }

    /// Returns whether accesses to elements of arrays are recorded in a method, if the method is.
    #[must_use]
    pub fn has_elements_of(&self, method: Name<'_>) -> bool {
        self.fields.find(|glob| !names_method(glob) && glob.selects(method))
    }

    /// Returns the patterns that have matched nothing so far, by the key of their option. Patterns in `own` are not reported:
    /// the user did not choose them.
    #[must_use]
    pub fn unmatched(&self, own: &[String]) -> Vec<(&'static str, Vec<String>)> {
        fn texts<T: Text>(patterns: &Tracked<T>) -> Vec<String> {
            patterns.unmatched().map(|pattern| pattern.text().to_owned()).collect()
        }
        let mut include = texts(&self.include);
        include.extend(texts(&self.related));
        include.retain(|pattern| !own.contains(pattern));
        let all = [
            ("target", texts(&self.targets)),
            ("include", include),
            ("lines", texts(&self.lines)),
            ("values", texts(&self.values)),
            ("instructions", texts(&self.instructions)),
            ("fields", texts(&self.fields)),
            ("exceptions", texts(&self.exceptions)),
            ("redact", texts(&self.redact)),
        ];
        all.into_iter().filter(|(_, patterns)| !patterns.is_empty()).collect()
    }

    /// Returns whether all values of a method or field are left out.
    #[must_use]
    pub fn redacts_all_of(&self, method: Name<'_>) -> bool {
        self.redact.find(|glob| names_method(glob) && glob.selects(method))
    }

    /// Returns whether values of a class are left out.
    #[must_use]
    pub fn redacts(&self, class: &str) -> bool {
        self.redact.find(|glob| !names_method(glob) && glob.matches_some_of(class))
    }

    /// Returns whether values of a class may be left out. Patterns do not count as matched by this: there are no values yet.
    #[must_use]
    pub fn may_redact(&self, class: &str) -> bool {
        self.redact.iter().any(|glob| !names_method(glob) && glob.matches_some_of(class))
    }

    /// Returns whether the values of a parameter are left out. If the name of the parameter is not known, they are if any
    /// pattern may name a parameter.
    #[must_use]
    pub fn redacts_parameter(&self, name: Option<&str>, class: &str) -> bool {
        // Evaluates both, so that each pattern that matches is recorded as matched.
        self.redacts(class)
            | match name {
                Some(name) => self.redacts(name),
                None => self.redact.iter().any(|glob| !glob.text().contains(['.', '#'])),
            }
    }

    /// Returns whether methods of a class may be recorded: `false` only if none is. `types` are supertypes of the class that
    /// the filter is about.
    #[must_use]
    pub fn may_select(&self, class: &str, types: &[String], loader: LoaderKind) -> bool {
        if self.exclude.iter().any(|glob| glob.matches_all_of(class)) {
            return false;
        }
        if is_of_api(class) {
            return self.presets.may_select(class, types, loader);
        }
        self.may_select_by_name(class, loader)
            || loader == LoaderKind::Application
                && self.related.iter().any(|related| related.may_select(class, types))
            || self.presets.may_select(class, types, loader)
    }

    /// Returns whether supertypes of classes must be known.
    #[must_use]
    pub fn needs_types(&self) -> bool {
        self.presets.need_types()
            || self.related.iter().any(|related| !related.is_about_annotations())
    }

    /// Returns whether annotations must be known.
    #[must_use]
    pub fn needs_annotations(&self) -> bool {
        self.related.iter().any(Related::is_about_annotations)
    }

    /// Returns those of these types that the filter is about, in order, each once.
    #[must_use]
    pub fn relevant<'a>(&self, types: impl Iterator<Item = &'a str> + Clone) -> Vec<String> {
        let mut found = self.presets.relevant(types.clone());
        let is_named = |name: &&str| self.related.iter().any(|one| one.is_about_type(name));
        found.extend(types.filter(is_named).map(str::to_owned));
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Returns whether fields of objects of a class are stored, because its methods may be recorded, and not for a preset alone.
    #[must_use]
    pub fn has_fields_of(&self, class: &str, loader: LoaderKind) -> bool {
        !is_of_api(class)
            && !self.exclude.iter().any(|glob| glob.matches_all_of(class))
            && self.may_select_by_name(class, loader)
    }

    fn may_select_by_name(&self, class: &str, loader: LoaderKind) -> bool {
        if self.has_no_patterns() {
            return loader == LoaderKind::Application;
        }
        self.targets.iter().any(|prefix| class.starts_with(prefix.as_str()))
            || self
                .include
                .iter()
                .any(|glob| Self::reaches(glob, loader) && glob.matches_some_of(class))
    }

    fn has_no_patterns(&self) -> bool {
        self.targets.is_empty() && self.include.is_empty() && self.related.is_empty()
    }

    /// Returns whether classes of the boot and the platform loader may be recorded.
    #[must_use]
    pub fn reaches_boot_classes(&self) -> bool {
        !self.targets.is_empty()
            || self.include.iter().any(Glob::names_something)
            || self.presets.named().any(|glob| is_of_jdk(&glob.first_part()))
    }

    /// Returns whether the filter selects classes of the JDK, by the names of its packages.
    #[must_use]
    pub fn names_jdk(&self) -> bool {
        let globs = self.include.iter().chain(self.presets.named());
        let globs = globs.filter(|glob| glob.names_something()).map(Glob::first_part);
        self.targets
            .iter()
            .cloned()
            .chain(globs)
            .any(|name| is_of_jdk(&name) || JDK_PACKAGES.iter().any(|jdk| jdk.starts_with(&name)))
    }

    /// Returns whether a pattern applies to classes of this loader.
    fn reaches(glob: &Glob, loader: LoaderKind) -> bool {
        loader == LoaderKind::Application || glob.names_something()
    }

    fn selects(&self, candidate: Candidate<'_>) -> bool {
        let Candidate { types, hidden, loader, .. } = candidate;
        self.selects_by_name(candidate)
            || (!hidden && self.presets.select(candidate.name(), types, loader))
    }

    fn selects_by_name(&self, candidate: Candidate<'_>) -> bool {
        let Candidate { class, method, types, annotations, hidden, loader, .. } = candidate;
        if self.has_no_patterns() {
            return loader == LoaderKind::Application;
        }
        let may_be_related = !hidden
            && loader == LoaderKind::Application
            && !matches!(method, "<init>" | "<clinit>");
        // A prefix does not select hidden classes: their names are generated.
        // Evaluates both, so that each pattern that matches is recorded as matched.
        (!hidden && self.targets.find(|prefix| class.starts_with(prefix.as_str())))
            | self
                .include
                .find(|glob| Self::reaches(glob, loader) && glob.selects(candidate.name()))
            | (may_be_related
                && self.related.find(|related| related.selects(class, types, annotations)))
    }
}

fn names_method(glob: &Glob) -> bool {
    glob.text().contains('#')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> FilterSpec {
        FilterSpec::default()
    }

    fn method<'a>(class: &'a str, method: &'a str) -> Candidate<'a> {
        let jdk = class.starts_with("java.") || class.starts_with("jdk.");
        let loader = if jdk { LoaderKind::Jdk } else { LoaderKind::Application };
        let (native, synthetic, accessor, hidden) = (false, false, false, false);
        let descriptor = "(I)V";
        let (types, annotations) = (&[], &[]);
        Candidate {
            class,
            method,
            descriptor,
            types,
            annotations,
            native,
            synthetic,
            accessor,
            hidden,
            loader,
        }
    }

    fn globs<T: From<Vec<Glob>>>(patterns: &[&str]) -> T {
        patterns.iter().map(|pattern| Glob::new(pattern)).collect::<Vec<_>>().into()
    }

    #[test]
    fn classes_of_the_api_are_never_recorded() {
        let named = FilterSpec { include: globs(&["dev.flow.**"]), ..spec() };
        for spec in [spec(), named] {
            assert_eq!(spec.verdict(method("dev.flow.Flow", "mark")), Verdict::Exclude);
            assert!(!spec.may_select("dev.flow.JUnitListener", &[], LoaderKind::Application));
            assert!(!spec.may_select("dev.flow.Flow$1", &[], LoaderKind::Application));
            assert!(spec.may_select("dev.flow.Flows", &[], LoaderKind::Application));
            assert_eq!(spec.verdict(method("dev.flow.app.Main", "main")), Verdict::Record);
        }
    }

    #[test]
    fn without_a_filter_the_application_is_recorded() {
        assert_eq!(spec().verdict(method("com.app.A", "<init>")), Verdict::Record);
        assert_eq!(spec().verdict(method("java.util.List", "of")), Verdict::Exclude);
    }

    #[test]
    fn accessors_are_left_out_unless_something_names_them() {
        let getter = Candidate { accessor: true, ..method("com.app.A", "total") };
        assert_eq!(spec().verdict(getter), Verdict::Record);
        let skipping = FilterSpec { skips_accessors: true, ..spec() };
        assert_eq!(skipping.verdict(getter), Verdict::NotRecorded(Reason::Accessor));
        assert_eq!(skipping.verdict(method("com.app.A", "total")), Verdict::Record);
        let valued = FilterSpec { values: globs(&["com.app.A#total"]), ..skipping };
        assert_eq!(valued.verdict(getter), Verdict::Record);
        let excluding = FilterSpec { exclude: globs(&["com.app.A"]), ..valued };
        assert_eq!(excluding.verdict(getter), Verdict::Exclude);
    }

    #[test]
    fn synthetic_methods_can_be_left_out() {
        let lambda = Candidate { synthetic: true, ..method("com.app.A", "lambda$main$0") };
        assert_eq!(spec().verdict(lambda), Verdict::Record);
        let without = FilterSpec { synthetic: false, ..spec() };
        assert_eq!(without.verdict(lambda), Verdict::Exclude);
        assert_eq!(without.verdict(method("com.app.A", "main")), Verdict::Record);
    }

    #[test]
    fn targets_are_prefixes_and_leave_hidden_classes_out() {
        let spec = FilterSpec { targets: vec!["com.x.Foo".into()].into(), ..spec() };
        assert_eq!(spec.verdict(method("com.x.FooBar", "m")), Verdict::Record);
        assert_eq!(spec.verdict(method("com.x.Bar", "m")), Verdict::Exclude);
        let hidden = Candidate { hidden: true, ..method("com.x.Foo$$Lambda/0x1", "run") };
        assert_eq!(spec.verdict(hidden), Verdict::Exclude);
    }

    #[test]
    fn jdk_classes_are_recorded_only_when_named() {
        let named = FilterSpec { include: globs(&["java.util.**"]), ..spec() };
        assert_eq!(named.verdict(method("java.util.ArrayList", "add")), Verdict::Record);
        assert_eq!(named.verdict(method("com.app.A", "m")), Verdict::Exclude);
        let wild = FilterSpec { include: globs(&["**"]), ..spec() };
        assert_eq!(wild.verdict(method("java.util.ArrayList", "add")), Verdict::Exclude);
        assert_eq!(wild.verdict(method("com.app.A", "m")), Verdict::Record);
    }

    #[test]
    fn exclude_wins_and_constructors_can_be_left_out() {
        let spec = FilterSpec { exclude: globs(&["com.app.A#m"]), constructors: false, ..spec() };
        assert_eq!(spec.verdict(method("com.app.A", "m")), Verdict::Exclude);
        assert_eq!(spec.verdict(method("com.app.A", "n")), Verdict::Record);
        assert_eq!(spec.verdict(method("com.app.A", "<clinit>")), Verdict::Exclude);
    }

    #[test]
    fn methods_are_selected_by_their_parameters() {
        for (pattern, expected) in [
            ("com.app.A#m(int)", Verdict::Record),
            ("*A#m(int)", Verdict::Record),
            ("A#m(**)", Verdict::Record),
            ("A#m(long)", Verdict::Exclude),
            ("A#m()", Verdict::Exclude),
        ] {
            let spec = FilterSpec { include: globs(&[pattern]), ..spec() };
            assert_eq!(spec.verdict(method("com.app.A", "m")), expected, "{pattern}");
            assert!(spec.may_select("com.app.A", &[], LoaderKind::Application), "{pattern}");
        }
    }

    #[test]
    fn classes_are_skipped_only_if_no_method_can_match() {
        let spec = FilterSpec {
            targets: vec!["com.t.".into()].into(),
            include: globs(&["com.app.A#m", "java.util.*", "**.Any"]),
            exclude: globs(&["com.app.X", "com.t.Y#m"]),
            ..spec()
        };
        for (class, expected) in [
            ("com.app.A", true),
            ("com.app.B", false),
            ("com.app.X", false),
            ("com.t.Y", true),
            ("java.util.List", true),
            ("java.lang.Any", false),
            ("com.app.Any", true),
        ] {
            let loader = method(class, "m").loader;
            assert_eq!(spec.may_select(class, &[], loader), expected, "{class}");
        }
    }

    #[test]
    fn patterns_that_match_nothing_are_known_in_the_end() {
        let spec = FilterSpec {
            targets: vec!["com.other.".to_owned()].into(),
            include: globs(&["com.app.**", "com.app.A#m", "com.typo.**", "com.own.**"]),
            values: globs(&["com.app.A", "com.app.A#typo"]),
            exceptions: globs(&["com.app.**", "com.app.A#log"]),
            redact: globs(&["com.app.A#m", "java.lang.String", "password", "passwrd", "com.Key"]),
            ..spec()
        };
        assert_eq!(spec.verdict(method("com.app.A", "m")), Verdict::Record);
        let login = Name::new("com.app.A", "login", "(Ljava/lang/String;)V");
        assert!(
            spec.has_values_of(login, &[], LoaderKind::Application) && !spec.redacts_all_of(login)
        );
        assert!(spec.has_exceptions_of(login));
        assert!(spec.redacts_parameter(Some("password"), "java.lang.String"));
        // Values that are left out to be safe show nothing about the patterns; nor does a check before values are known.
        assert!(spec.redacts_parameter(None, "int") && spec.may_redact("com.Key"));
        assert_eq!(
            spec.unmatched(&["com.own.**".to_owned()]),
            [
                ("target", vec!["com.other.".to_owned()]),
                ("include", vec!["com.typo.**".to_owned()]),
                ("values", vec!["com.app.A#typo".to_owned()]),
                ("exceptions", vec!["com.app.A#log".to_owned()]),
                ("redact", ["com.app.A#m", "passwrd", "com.Key"].map(str::to_owned).to_vec()),
            ]
        );
    }

    #[test]
    fn filters_show_whether_they_name_the_jdk() {
        for (pattern, expected) in [
            ("java.util.**", true),
            ("java.*", true),
            // A class of the application whose name begins with this.
            ("java*", false),
            ("com.sun.net.*", true),
            ("com.**", true),
            ("com.app.**", false),
            ("com.sun.tools.javac.**", false),
            ("**#get*", false),
            ("javassist.*", false),
        ] {
            let spec = FilterSpec { include: globs(&[pattern]), ..spec() };
            assert_eq!(spec.names_jdk(), expected, "{pattern}");
        }
        assert!(!spec().names_jdk());
        assert!(FilterSpec { targets: vec!["java.util.".into()].into(), ..spec() }.names_jdk());
    }

    #[test]
    fn natives_and_thread_switching_methods_are_named_not_recorded() {
        let native = Candidate { native: true, ..method("com.app.A", "n") };
        assert_eq!(spec().verdict(native), Verdict::NotRecorded(Reason::Native));
        let natives = FilterSpec { natives: true, ..spec() };
        assert_eq!(natives.verdict(native), Verdict::Record);
        let all = FilterSpec { include: globs(&["java.lang.**"]), ..spec() };
        let switching = Verdict::NotRecorded(Reason::SwitchesThread);
        assert_eq!(all.verdict(method("java.lang.VirtualThread", "mount")), switching);
        assert_eq!(
            all.verdict(method("java.lang.VirtualThread$VThreadContinuation", "m")),
            switching
        );
        assert_eq!(all.verdict(method("java.lang.VirtualThreads", "m")), Verdict::Record);
    }
}
