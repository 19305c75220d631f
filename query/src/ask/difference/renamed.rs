//! Methods and classes that have another name in the second run.

use std::fmt;
use std::str::FromStr;

use crate::analysis::MethodName;
use crate::open::Traces;

/// A name before, and after.
///
/// | | |
/// |---|---|
/// | `a.B=a.C` | a class, with its nested classes |
/// | `a.b.**=a.c.**` | a package, with the packages in it |
/// | `a.B#m=a.C#n` | the methods of this name |
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Renamed {
    from: Part,
    to: Part,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Part {
    Package(String),
    Class(String),
    Method(String, String),
}

impl Part {
    fn of(text: &str) -> Option<Self> {
        let is_name = |text: &str| !text.is_empty() && !text.contains(['*', '#', '(', ' ', '/']);
        let part = match (text.strip_suffix(".**"), text.split_once('#')) {
            (Some(package), None) => Self::Package(package.to_owned()),
            (None, Some((class, method))) => Self::Method(class.to_owned(), method.to_owned()),
            _ => Self::Class(text.to_owned()),
        };
        let is_valid = match &part {
            Self::Package(name) | Self::Class(name) => is_name(name),
            Self::Method(class, method) => is_name(class) && is_name(method),
        };
        is_valid.then_some(part)
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Package(package) => write!(f, "{package}.**"),
            Self::Class(class) => f.write_str(class),
            Self::Method(class, method) => write!(f, "{class}#{method}"),
        }
    }
}

impl fmt::Display for Renamed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.from, self.to)
    }
}

impl FromStr for Renamed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('=');
        let parts = parts.and_then(|(from, to)| Some((Part::of(from)?, Part::of(to)?)));
        parts
            .filter(|(from, to)| std::mem::discriminant(from) == std::mem::discriminant(to))
            .map(|(from, to)| Self { from, to })
            .ok_or_else(|| {
                format!("'{text}': expected two classes (a.B=a.C), packages (a.b.**=a.c.**) or methods (a.B#m=a.C#n)")
            })
    }
}

impl Renamed {
    /// Returns whether a run has something of the name before.
    pub(super) fn is_in(&self, traces: &Traces) -> bool {
        traces.iter().any(|trace| {
            trace.methods().iter().any(|(_, method)| {
                let (class, name) = (&method.info().class, &method.info().name);
                match &self.from {
                    Part::Method(of, from) => of == class && from == name,
                    _ => self.class(class, '.').is_some(),
                }
            })
        })
    }

    /// The name after of a method before.
    pub(super) fn apply(&self, method: MethodName) -> MethodName {
        let MethodName::Known { class, name, descriptor, origin } = method else { return method };
        if let (Part::Method(of, from), Part::Method(to, after)) = (&self.from, &self.to) {
            let is_it = *of == class && *from == name;
            let (class, name) = if is_it { (to.clone(), after.clone()) } else { (class, name) };
            return MethodName::Known { class, name, descriptor, origin };
        }
        let class = self.class(&class, '.').unwrap_or(class);
        let descriptor = self.descriptor(&descriptor);
        MethodName::Known { class, name, descriptor, origin }
    }

    /// The name after of a class or of one that is nested in it, with this separator of packages; `None` if it is another one.
    fn class(&self, name: &str, separator: char) -> Option<String> {
        let text = |name: &str| match separator {
            '.' => name.to_owned(),
            _ => name.replace('.', &separator.to_string()),
        };
        let (from, to, ends) = match (&self.from, &self.to) {
            (Part::Package(from), Part::Package(to)) => (text(from), text(to), separator),
            (Part::Class(from), Part::Class(to)) => (text(from), text(to), '$'),
            _ => return None,
        };
        let rest = name.strip_prefix(&from)?;
        let is_it = rest.starts_with(ends) || rest.is_empty() && ends == '$';
        is_it.then(|| to + rest)
    }

    fn descriptor(&self, descriptor: &str) -> String {
        let mut out = String::with_capacity(descriptor.len());
        let mut rest = descriptor;
        while let Some((before, after)) = rest.split_once('L') {
            let (class, after) = after.split_once(';').unwrap_or((after, ""));
            let renamed = self.class(class, '/');
            out.extend([before, "L", renamed.as_deref().unwrap_or(class), ";"]);
            rest = after;
        }
        out + rest
    }
}

#[cfg(test)]
mod tests {
    use super::{MethodName, Renamed};
    use flow_codec::KeptOrigin;

    fn after(renamed: &str, method: [&str; 3]) -> String {
        let [class, name, descriptor] = method.map(str::to_owned);
        let origin = KeptOrigin::default();
        let method = MethodName::Known { class, name, descriptor, origin };
        match renamed.parse::<Renamed>().unwrap().apply(method) {
            MethodName::Known { class, name, descriptor, .. } => {
                format!("{class}#{name}{descriptor}")
            }
            MethodName::Unknown(id) => id.to_string(),
        }
    }

    #[test]
    fn names_before_become_names_after() {
        let method = ["a.B$In", "m", "(La/B;[La/Bar;I)La/B$In;"];
        assert_eq!(after("a.B=c.D", method), "c.D$In#m(Lc/D;[La/Bar;I)Lc/D$In;");
        assert_eq!(after("a.**=x.y.**", method), "x.y.B$In#m(Lx/y/B;[Lx/y/Bar;I)Lx/y/B$In;");
        assert_eq!(after("a.B$In#m=a.C#n", method), "a.C#n(La/B;[La/Bar;I)La/B$In;");
        assert_eq!(after("a.Ba=c.D", method), "a.B$In#m(La/B;[La/Bar;I)La/B$In;");
        assert_eq!(after("a.B$In#o=a.C#n", ["a.B$In", "m", "()V"]), "a.B$In#m()V");
    }

    #[test]
    fn other_texts_are_refused() {
        for text in
            ["", "a.B", "a.B=", "=a.B", "a.B=a.C#m", "a.*=b.*", "a.B#m()=a.B#n()", "a/B=a/C"]
        {
            let error = text.parse::<Renamed>().unwrap_err();
            assert!(error.contains("expected two classes"), "{text}: {error}");
        }
        let text = "a.b.**=a.c.**";
        assert_eq!(text.parse::<Renamed>().unwrap().to_string(), text);
    }
}
