//! The forms of a name, and what distinguishes overloads.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use twox_hash::XxHash3_128;

use super::languages::{Written, written};
use super::raw::Name;

/// How much of a method's name is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NameForm {
    /// `Orders.total`.
    Short,
    /// `com.app.Orders.total(Customer, int)`.
    Readable,
    /// `com.app.Orders.total(Lcom/app/Customer;I)V`.
    Full,
}

/// What a readable name shows besides the simple names of the parameters' types.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Detail {
    #[default]
    Nothing,
    /// Everything that the compiler put into the name; so do those after it.
    WholeName,
    Result,
    Packages,
    PackagesAndResult,
    Descriptor,
}

impl Detail {
    const ALL: [Self; 6] = [
        Self::Nothing,
        Self::WholeName,
        Self::Result,
        Self::Packages,
        Self::PackagesAndResult,
        Self::Descriptor,
    ];
}

impl Name<'_> {
    /// A hash of class and name as they are shown, without the descriptor.
    fn hash(self, is_raw: bool) -> u64 {
        let hash = |text: &str| XxHash3_128::oneshot(text.as_bytes());
        let both = match self.written(is_raw, Detail::Nothing) {
            // Another method may have this very name in its class file.
            Some(Written { class, rest }) => {
                hash(&class).rotate_left(1) ^ hash(rest.strip_prefix('.').unwrap_or(&rest))
            }
            None => hash(self.class).rotate_left(1) ^ hash(self.name),
        };
        u64::try_from(both & u128::from(u64::MAX)).unwrap_or_default()
    }

    /// As its language writes it, if that is another name and the raw one is not wanted.
    fn written(self, is_raw: bool, detail: Detail) -> Option<Written> {
        if is_raw { None } else { written(self, detail != Detail::Nothing) }
    }

    /// The short form: `Orders.total`.
    #[must_use]
    pub fn short(self, is_raw: bool) -> String {
        if let Some(Written { class, rest }) = self.written(is_raw, Detail::Nothing) {
            return format!("{}{rest}", simple(&class, '.'));
        }
        match self.class {
            "" => self.name.to_owned(),
            class => format!("{}.{}", simple(class, '.'), self.name),
        }
    }

    /// Returns whether `text` is a form of this name without its descriptor: `com.app.Shop$Orders.total`,
    /// `Shop$Orders.total` or `Orders.total`.
    pub(crate) fn is(self, text: &str) -> bool {
        let is_class = |class: &str, text: &str| {
            [class, simple(class, '.'), simple(class, '$')].contains(&text)
        };
        let raw = text.strip_suffix(self.name).and_then(|class| class.strip_suffix('.'));
        let is_written = |is_whole| {
            let Some(Written { class, rest }) = written(self, is_whole) else { return false };
            text.strip_suffix(&*rest).is_some_and(|text| is_class(&class, text))
        };
        raw.is_some_and(|text| is_class(self.class, text))
            // Patterns are of class files; selections ask this of each method.
            || (!text.contains(['*', '#']) && (is_written(false) || is_written(true)))
    }

    /// The full form, and the readable ones with every detail that may be added, as the language writes them and as they
    /// are in the class file.
    pub(crate) fn forms(self) -> impl Iterator<Item = String> {
        let is_written = written(self, false).is_some();
        let raw = Detail::ALL.into_iter().map(move |detail| self.readable(detail, true));
        let others = Detail::ALL.into_iter().filter(move |_| is_written);
        raw.chain(others.map(move |detail| self.readable(detail, false)))
    }

    /// The readable form; the full form if the descriptor is invalid.
    fn readable(self, detail: Detail, is_raw: bool) -> String {
        self.try_readable(detail, is_raw).unwrap_or_else(|| self.to_string())
    }

    fn try_readable(self, detail: Detail, is_raw: bool) -> Option<String> {
        let (with_packages, with_result) = match detail {
            Detail::Nothing | Detail::WholeName => (false, false),
            Detail::Result => (false, true),
            Detail::Packages => (true, false),
            Detail::PackagesAndResult => (true, true),
            Detail::Descriptor => return None,
        };
        let (mut types, result) = self.descriptor.strip_prefix('(')?.split_once(')')?;
        let mut text = match self.written(is_raw, detail) {
            Some(Written { class, rest }) => class + &rest + "(",
            None => Self { descriptor: "(", ..self }.to_string(),
        };
        let start = text.len();
        while !types.is_empty() {
            if text.len() > start {
                text.push_str(", ");
            }
            types = push_type(types, with_packages, &mut text)?;
        }
        text.push(')');
        if with_result {
            text.push_str(": ");
            let rest = push_type(result, with_packages, &mut text)?;
            rest.is_empty().then_some(())?;
        }
        Some(text)
    }
}

/// The part after the last separator.
fn simple(name: &str, separator: char) -> &str {
    name.rsplit(separator).next().unwrap_or(name)
}

/// The type of a descriptor as Java writes it, with its package: `java.lang.String[]` of `[Ljava/lang/String;`.
#[must_use]
pub fn type_name(descriptor: &str) -> Option<String> {
    let mut text = String::new();
    let rest = push_type(descriptor, true, &mut text)?;
    rest.is_empty().then_some(text)
}

/// Returns how many arguments a method with this descriptor takes. Characters that are no type are not counted.
#[must_use]
pub fn argument_count(descriptor: &str) -> usize {
    let mut types = descriptor.strip_prefix('(').unwrap_or_default();
    let mut count = 0;
    while let Some(rest) = push_type(types, false, &mut String::new()) {
        (types, count) = (rest, count + 1);
    }
    count
}

/// Appends the first type of a descriptor as Java writes it. Returns the rest of the descriptor.
fn push_type<'a>(types: &'a str, with_package: bool, text: &mut String) -> Option<&'a str> {
    let element = types.trim_start_matches('[');
    let dimensions = types.len() - element.len();
    let rest = match element.strip_prefix('L') {
        Some(class) => {
            let (class, rest) = class.split_once(';')?;
            match with_package {
                true => text.extend(class.chars().map(|c| if c == '/' { '.' } else { c })),
                false => text.push_str(simple(class, '/')),
            }
            rest
        }
        None => {
            text.push_str(primitive(element.chars().next()?)?);
            element.get(1..)?
        }
    };
    text.extend(std::iter::repeat_n("[]", dimensions));
    Some(rest)
}

fn primitive(letter: char) -> Option<&'static str> {
    Some(match letter {
        'B' => "byte",
        'C' => "char",
        'D' => "double",
        'F' => "float",
        'I' => "int",
        'J' => "long",
        'S' => "short",
        'V' => "void",
        'Z' => "boolean",
        _ => return None,
    })
}

/// The details that the readable names of overloads need to differ.
#[derive(Clone, Debug)]
pub struct Overloads<K> {
    /// Sorted by the hash of class and name. Those with the same hash may be overloads of each other: of most methods,
    /// only those with the same class and name.
    methods: Vec<(u64, K)>,
    /// By hash, once one of its methods is shown: what those need that need any.
    details: RefCell<HashMap<u64, HashMap<K, Detail>>>,
    is_raw: bool,
}

impl<K: Copy + Eq + Hash> Overloads<K> {
    /// Groups these methods. Memory: 16 bytes a method.
    pub fn new<'a>(methods: impl Iterator<Item = (K, Name<'a>)>, is_raw: bool) -> Self {
        let mut methods: Vec<_> = methods.map(|(key, name)| (name.hash(is_raw), key)).collect();
        methods.sort_unstable_by_key(|(hash, _)| *hash);
        Self { methods, details: RefCell::default(), is_raw }
    }

    /// The readable form of one of the methods. `name_of` returns the names of the others.
    pub fn readable<'a>(
        &self,
        key: K,
        name: Name<'a>,
        name_of: impl Fn(K) -> Option<Name<'a>>,
    ) -> String {
        let is_raw = self.is_raw;
        let of_name = name.hash(is_raw);
        let start = self.methods.partition_point(|(hash, _)| *hash < of_name);
        let group = self.methods.get(start..).unwrap_or_default();
        let group = group.iter().take_while(|(hash, _)| *hash == of_name).map(|(_, key)| *key);
        if group.clone().nth(1).is_none() {
            return name.readable(Detail::default(), is_raw);
        }
        let mut details = self.details.borrow_mut();
        let details = details.entry(of_name).or_insert_with(|| details_of(group, name_of, is_raw));
        name.readable(details.get(&key).copied().unwrap_or_default(), is_raw)
    }
}

/// Compares methods. Returns the details of those that need any.
fn details_of<'a, K: Copy + Eq + Hash>(
    methods: impl Iterator<Item = K>,
    name_of: impl Fn(K) -> Option<Name<'a>>,
    is_raw: bool,
) -> HashMap<K, Detail> {
    let mut alike: HashMap<String, Vec<(K, Name<'a>)>> = HashMap::new();
    for (key, name) in methods.filter_map(|key| Some((key, name_of(key)?))) {
        alike.entry(name.readable(Detail::Nothing, is_raw)).or_default().push((key, name));
    }
    let mut details = HashMap::new();
    for group in alike.into_values() {
        let names: HashSet<_> = group.iter().map(|(_, name)| *name).collect();
        let differ = |detail: &Detail| {
            let mut seen = HashSet::new();
            names.iter().all(|name| seen.insert(name.readable(*detail, is_raw)))
        };
        let detail = Detail::ALL.into_iter().find(differ).unwrap_or(Detail::Descriptor);
        if detail != Detail::Nothing {
            details.extend(group.iter().map(|(key, _)| (*key, detail)));
        }
    }
    details
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readable(methods: &[(&str, &str, &str)]) -> Vec<String> {
        let names: Vec<_> = methods
            .iter()
            .map(|&(class, name, descriptor)| Name::new(class, name, descriptor))
            .collect();
        let overloads = Overloads::new(names.iter().copied().enumerate(), false);
        let name_of = |key: usize| names.get(key).copied();
        names
            .iter()
            .enumerate()
            .map(|(key, name)| overloads.readable(key, *name, name_of))
            .collect()
    }

    #[test]
    fn arguments_are_counted() {
        for (descriptor, count) in
            [("()V", 0), ("(I)I", 1), ("(J[[Ljava/lang/String;D)V", 3), ("", 0), ("(Q", 0)]
        {
            assert_eq!(argument_count(descriptor), count, "{descriptor}");
        }
    }

    #[test]
    fn parameters_are_written_as_in_java() {
        let readable = |descriptor| readable(&[("a.B", "m", descriptor)]).remove(0);
        assert_eq!(readable("()V"), "a.B.m()");
        assert_eq!(
            readable("([Ljava/lang/String;I[[JLa/B$C;Z)Ljava/util/List;"),
            "a.B.m(String[], int, long[][], B$C, boolean)"
        );
        for odd in ["", "(", "V", "(Q)V", "(La/B)V", "([)V", "(ü)V"] {
            assert_eq!(readable(odd), format!("a.B.m{odd}"));
        }
    }

    #[test]
    fn overloads_show_what_differs() {
        let class = "a.B";
        assert_eq!(
            readable(&[
                (class, "plain", "(I)V"),
                (class, "plain", "(J)V"),
                (class, "get", "()Ljava/lang/Object;"),
                (class, "get", "()Ljava/lang/String;"),
                (class, "put", "(Lx/Key;)V"),
                (class, "put", "(Ly/Key;)V"),
                ("a.C", "put", "(Ly/Key;)V"),
                (class, "take", "(Lx/Key;)V"),
                (class, "take", "(Ly/Key;)V"),
                (class, "take", "(Ly/Key;)I"),
                (class, "odd", "(I)"),
                (class, "odd", "(I)V"),
            ]),
            [
                "a.B.plain(int)",
                "a.B.plain(long)",
                "a.B.get(): Object",
                "a.B.get(): String",
                "a.B.put(x.Key)",
                "a.B.put(y.Key)",
                "a.C.put(Key)",
                "a.B.take(x.Key): void",
                "a.B.take(y.Key): void",
                "a.B.take(y.Key): int",
                "a.B.odd(I)",
                "a.B.odd(int): void",
            ]
        );
    }

    #[test]
    fn what_compilers_made_shows_what_differs() {
        let class = "a.B";
        let names = readable(&[
            (class, "lambda$one$0", "(I)V"),
            (class, "lambda$two$1", "(I)V"),
            (class, "lambda$two$2", "(I)V"),
            (class, "lambda$three$3", "(I)V"),
            (class, "lambda$three$4", "(J)V"),
            ("a.C$m$1", "invoke", "(I)V"),
            ("a.C$m$1", "invoke", "(Ljava/lang/Object;)Ljava/lang/Object;"),
            ("a.C$n$1", "invoke", "()Ljava/lang/Object;"),
            ("a.C$n$1", "invoke", "()Ljava/lang/String;"),
        ]);
        assert_eq!(
            names,
            [
                "a.B.one lambda(int)",
                "a.B.two lambda 1(int)",
                "a.B.two lambda 2(int)",
                "a.B.three lambda(int)",
                "a.B.three lambda(long)",
                "a.C.m lambda(int)",
                "a.C.m lambda(Object)",
                "a.C.n lambda 1(): Object",
                "a.C.n lambda 1(): String",
            ]
        );
        let name = Name::parse("com.app.B.lambda$m$1(I)V");
        assert_eq!(
            (name.short(false).as_str(), name.short(true).as_str()),
            ("B.m lambda", "B.lambda$m$1")
        );
        for text in ["com.app.B.m lambda", "B.m lambda", "B.m lambda 1", "B.lambda$m$1"] {
            assert!(name.is(text), "{text}");
        }
        assert!(!name.is("B.m") && !name.is("B.m lambda 2"));
        let operator = Name::parse("com.app.B.$times(I)V");
        assert!(operator.is("B.$times") && !operator.is("com.app.B.*"), "which names classes");
        let forms: Vec<_> = name.forms().collect();
        for form in
            ["com.app.B.m lambda(int)", "com.app.B.m lambda 1(int)", "com.app.B.lambda$m$1(int)"]
        {
            assert!(forms.iter().any(|known| known == form), "{form}: {forms:?}");
        }
    }

    #[test]
    fn the_same_method_twice_is_no_overload() {
        assert_eq!(readable(&[("a.B", "m", "()V"); 2]), ["a.B.m()"; 2]);
    }

    #[test]
    fn short_names_have_no_package() {
        let name = Name::parse("com.app.Orders$Line.total(Lcom/app/Customer;)V");
        assert_eq!(name.short(false), "Orders$Line.total");
        assert!(name.is("Orders$Line.total") && name.is("com.app.Orders$Line.total"));
        assert!(!name.is("app.Orders$Line.total") && !name.is("total") && !name.is(".total"));
        let odd = Name::parse("odd");
        assert_eq!((odd.class, odd.name, odd.to_string().as_str()), ("", "odd", "odd"));
    }
}
