//! What methods are called in other tools.

use flow_codec::read::{Method, Methods};
use flow_codec::{MethodId, MethodMap};

use crate::output::neutral;

/// The names of a trace's methods, each made once: `pkg.Class.method(String, int)`. A descriptor has
/// semicolons, which end a frame in some formats, and says more than fits on a bar.
#[derive(Debug)]
pub(super) struct Names<'a> {
    methods: &'a Methods,
    /// How the format writes a name.
    form: fn(&str) -> String,
    known: MethodMap<Box<str>>,
    unknown: String,
}

impl<'a> Names<'a> {
    /// The names as a format writes them.
    pub(super) fn new(methods: &'a Methods, form: fn(&str) -> String) -> Self {
        Self { methods, form, known: MethodMap::default(), unknown: String::new() }
    }

    /// The name of a method.
    pub(super) fn get(&mut self, id: MethodId) -> &str {
        // Asked twice, because a reference that is returned in one arm only outlives both.
        if self.known.get(id).is_none() {
            let name = (self.form)(&name(self.methods, id));
            // Of ids without a name there may be any number.
            if self.methods.get(id).is_none() {
                self.unknown = name;
                return &self.unknown;
            }
            *self.known.or_default(id) = name.into_boxed_str();
        }
        self.known.get(id).map_or("", |name| name)
    }
}

/// The name of a method; ids without one show as `?#7`.
pub(super) fn name(methods: &Methods, id: MethodId) -> String {
    let name = match methods.get(id) {
        Some(method) => readable(method),
        None => methods.display(id),
    };
    neutral(&name).into_owned()
}

fn readable(method: &Method) -> String {
    let info = &method.info;
    match parameters(&info.descriptor) {
        Some(parameters) => format!("{}.{}({})", info.class, info.name, parameters.join(", ")),
        None => method.to_string(),
    }
}

/// The types of a descriptor's parameters, without their packages.
fn parameters(descriptor: &str) -> Option<Vec<String>> {
    let (mut rest, _) = descriptor.strip_prefix('(')?.split_once(')')?;
    let mut types = Vec::new();
    while !rest.is_empty() {
        let element = rest.trim_start_matches('[');
        let dimensions = rest.len() - element.len();
        let (name, behind) = match element.strip_prefix('L') {
            Some(class) => {
                let (class, behind) = class.split_once(';')?;
                (class.rsplit('/').next().unwrap_or(class), behind)
            }
            None => (primitive(element.chars().next()?)?, element.get(1..)?),
        };
        types.push(format!("{name}{}", "[]".repeat(dimensions)));
        rest = behind;
    }
    Some(types)
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
        'Z' => "boolean",
        _ => return None,
    })
}

/// Numbers methods in the order in which they are met, from 0. Memory: some bytes a method.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    /// One more than the number; 0 is none.
    known: MethodMap<u32>,
    methods: Vec<MethodId>,
}

impl Numbers {
    /// The number of a method, and whether it is new.
    pub(crate) fn get(&mut self, method: MethodId) -> (u32, bool) {
        let number = self.known.or_default(method);
        let is_new = *number == 0;
        if is_new {
            self.methods.push(method);
            *number = u32::try_from(self.methods.len()).unwrap_or(u32::MAX);
        }
        (*number - 1, is_new)
    }

    /// The methods, in the order of their numbers.
    pub(crate) fn methods(&self) -> &[MethodId] {
        &self.methods
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_named_as_people_write_them() {
        let types = |descriptor| parameters(descriptor).map(|types| types.join(", "));
        assert_eq!(types("()V").unwrap(), "");
        assert_eq!(
            types("([Ljava/lang/String;I[[JLa/B$C;Z)Ljava/util/List;").unwrap(),
            "String[], int, long[][], B$C, boolean"
        );
        for odd in ["", "(", "V", "(Q)V", "(La/B)V", "([)V", "(ü)V"] {
            assert_eq!(types(odd), None, "{odd}");
        }
    }
}
