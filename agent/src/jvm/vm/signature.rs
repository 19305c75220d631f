//! Converts class signatures of JVMTI to names.

/// A class as its signature names it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::jvm) struct ClassName {
    /// `pkg.Outer$Inner`; of a hidden class `pkg.Name/0x…`, as `Class.getName` has it.
    pub(in crate::jvm) binary: String,
    pub(in crate::jvm) hidden: bool,
}

impl ClassName {
    /// Returns the name without the number of a hidden class, which differs from run to run.
    pub(in crate::jvm) fn without_number(&self) -> &str {
        self.binary.split('/').next().unwrap_or_default()
    }
}

/// Reads a class signature: `Lpkg/Name;`, of a hidden class `Lpkg/Name.0x…;` (JDK 15 and later) or
/// `Lpkg/Name/123;` (VM-anonymous classes before).
pub(in crate::jvm) fn class_name(signature: &str) -> ClassName {
    let internal =
        signature.strip_prefix('L').and_then(|name| name.strip_suffix(';')).unwrap_or(signature);
    let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let suffix = internal
        .rsplit_once('.')
        .or_else(|| internal.rsplit_once('/').filter(|(_, last)| all_digits(last)));
    match suffix {
        Some((name, suffix)) => {
            ClassName { binary: format!("{}/{suffix}", name.replace('/', ".")), hidden: true }
        }
        None => ClassName { binary: internal.replace('/', "."), hidden: false },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_become_binary_names() {
        let name = |signature| {
            let ClassName { binary, hidden } = class_name(signature);
            (binary, hidden)
        };
        assert_eq!(name("Lcom/app/A$B;"), ("com.app.A$B".to_owned(), false));
        assert_eq!(name("LA;"), ("A".to_owned(), false));
        assert_eq!(
            name("Lcom/app/A$$Lambda.0x00007f01;"),
            ("com.app.A$$Lambda/0x00007f01".to_owned(), true)
        );
        assert_eq!(
            name("Lcom/app/A$$Lambda$1/791452441;"),
            ("com.app.A$$Lambda$1/791452441".to_owned(), true)
        );
    }
}
