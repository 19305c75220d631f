//! How Mermaid and PlantUML write a sequence diagram. Both know `activate`, `deactivate`, `loop`, `end` and `note over`.
//!
//! Sources: <https://mermaid.js.org/syntax/sequenceDiagram.html>, <https://plantuml.com/sequence-diagram>.

/// What a message is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MessageKind {
    Call,
    /// A call in another thread.
    HandOver,
    /// An exception that ends a call.
    Thrown,
}

/// A language of sequence diagrams.
pub(super) trait Syntax {
    /// What a diagram begins with.
    fn head(&self) -> &'static str;

    /// What a diagram ends with.
    fn tail(&self) -> &'static str;

    /// The line of a participant, whose name is escaped.
    fn participant(&self, kind: &str, number: usize, name: &str) -> String;

    fn arrow(&self, kind: MessageKind) -> &'static str;

    /// A character that has a meaning of its own, so that it is shown as it is.
    fn code(&self, letter: char) -> String;

    /// A text in which no character has a meaning of its own.
    fn escaped(&self, text: &str) -> String {
        let (mut shown, mut before) = (String::new(), ' ');
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            let is_inside = before.is_alphanumeric()
                && letters.peek().is_some_and(|after| after.is_alphanumeric());
            match letter {
                _ if letter.is_alphanumeric() || " .,()…".contains(letter) => shown.push(letter),
                '-' | '_' | '$' if is_inside => shown.push(letter),
                _ => shown += &self.code(letter),
            }
            before = letter;
        }
        shown
    }
}

/// The language of Mermaid.
pub(super) struct Mermaid;

impl Syntax for Mermaid {
    fn head(&self) -> &'static str {
        "sequenceDiagram\n"
    }

    fn tail(&self) -> &'static str {
        ""
    }

    fn participant(&self, kind: &str, number: usize, name: &str) -> String {
        format!("{kind} p{number} as {name}\n")
    }

    fn arrow(&self, kind: MessageKind) -> &'static str {
        match kind {
            MessageKind::Call => "->>",
            MessageKind::HandOver => "-)",
            MessageKind::Thrown => "--x",
        }
    }

    fn code(&self, letter: char) -> String {
        format!("#{};", u32::from(letter))
    }
}

/// The language of PlantUML.
pub(super) struct PlantUml;

impl Syntax for PlantUml {
    fn head(&self) -> &'static str {
        "@startuml\n"
    }

    fn tail(&self) -> &'static str {
        "@enduml\n"
    }

    fn participant(&self, kind: &str, number: usize, name: &str) -> String {
        format!("{kind} \"{name}\" as p{number}\n")
    }

    fn arrow(&self, kind: MessageKind) -> &'static str {
        match kind {
            MessageKind::Call => "->",
            MessageKind::HandOver => "->>",
            MessageKind::Thrown => "-->x",
        }
    }

    fn code(&self, letter: char) -> String {
        format!("<U+{:04X}>", u32::from(letter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_name_is_syntax() {
        let name = "a-b_c$d--e; \"<init>\"\n**end";
        assert_eq!(
            Mermaid.escaped(name),
            "a-b_c$d#45;#45;e#59; #34;#60;init#62;#34;#10;#42;#42;end"
        );
        assert_eq!(
            PlantUml.escaped(name),
            "a-b_c$d<U+002D><U+002D>e<U+003B> <U+0022><U+003C>init<U+003E><U+0022><U+000A><U+002A><U+002A>end"
        );
    }
}
