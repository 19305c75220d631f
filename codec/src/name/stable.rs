//! Names without the numbers that compilers and frameworks hand out. Names of behaviours are made of these, so that they do not
//! change with code beside a method, the order in which classes are made, or the machine.
//!
//! | in the trace | in the name of a behaviour | what it is |
//! |---|---|---|
//! | `a.B#lambda$m$3` | `a.B#lambda$m` | Java: the fourth lambda expression of the class |
//! | `a.B#access$000` | `a.B#access` | Java, up to version 10: an accessor |
//! | `a.B#m$lambda$0`, `m$lambda-0` | `a.B#m$lambda` | Kotlin: a lambda expression |
//! | `a.BKt$m$1#invoke` | `a.BKt$m#invoke` | Kotlin: a lambda expression, as a class of its own |
//! | `a.B#$anonfun$m$1`, `sum$1` | `a.B#$anonfun$m`, `sum` | Scala: a function literal, a function in a method |
//! | `a.B$_m_closure1#doCall` | `a.B$_m_closure#doCall` | Groovy: a closure |
//! | `Script12` | `Script` | Groovy: a script of a shell |
//! | `a.core$m$fn__123` | `a.core$m$fn__` | Clojure: a function |
//! | `user$eval123` | `user$eval` | Clojure: a form |
//! | `jdk.proxy2.$Proxy12` | `jdk.proxy.$Proxy` | a proxy of the JDK |
//! | `GeneratedMethodAccessor12` | `GeneratedMethodAccessor` | reflection of the JDK |
//! | `a.B$$Lambda$14/0x0000800c03000` | `a.B$$Lambda` | a hidden class |
//! | `a.B$$SpringCGLIB$$0`, `a.B$$EnhancerByCGLIB$$1f2e3d` | `a.B$$SpringCGLIB$`, `a.B$$EnhancerByCGLIB$` | CGLIB: a subclass |
//! | `a.B$MockitoMock$123`, `$ByteBuddy$x7Yz`, `$HibernateProxy$x7Yz` | `a.B$MockitoMock` and so on | Byte Buddy: a subclass |
//! | `a.B_$$_jvst3a4_0` | `a.B_$$_jvst` | Javassist: a subclass |
//!
//! Numbers of other classes are kept: `Orders$1` and `Orders$2` may be two constants of an enumeration. So methods that differ in such
//! a number only are one in the name of a behaviour: two lambda expressions of a method, with the same types.

/// The part before the counter, in names of classes that are nothing else.
const COUNTED: [&str; 4] = [
    "GeneratedConstructorAccessor",
    "GeneratedMethodAccessor",
    "GeneratedSerializationConstructorAccessor",
    "Script",
];
/// What comes before a random text.
const BEFORE_RANDOM: [&str; 4] =
    ["ByteBuddy", "HibernateInstantiator", "HibernateProxy", "MockitoMock"];
/// The name of static initialisers.
const INITIALISER: &str = "<clinit>";
/// The name of the method with which compilers give an enumeration its constants.
const VALUES: &str = "values";

/// The key of a method in names of behaviours: `class#name(descriptor)` without the numbers above. `None` for what runs in whichever
/// call needs it first: a static initialiser, and `values()` of an enumeration, which the JDK calls for the first `valueOf` and keeps.
#[must_use]
pub fn stable_key(class: &str, name: &str, descriptor: &str) -> Option<String> {
    stable_name(class, name, descriptor)
        .map(|[class, name, descriptor]| format!("{class}#{name}{descriptor}"))
}

/// The class, name and descriptor of which the [key](stable_key) consists.
#[doc(hidden)]
#[must_use]
pub fn stable_name(class: &str, name: &str, descriptor: &str) -> Option<[String; 3]> {
    if name == INITIALISER || name == VALUES && is_array_of(class, descriptor) {
        return None;
    }
    let mut stable = [class, name, descriptor].map(|part| String::with_capacity(part.len()));
    let [of_class, of_method, types] = &mut stable;
    push_class(class, of_class);
    push_method(name, of_method);
    let mut rest = descriptor;
    // Types of parameters are made, too.
    while let Some((before, after)) = rest.split_once('L').filter(|_| rest.contains('$')) {
        let (class, after) = after.split_once(';').unwrap_or((after, ""));
        types.push_str(before);
        types.push('L');
        push_class(class, types);
        types.push(';');
        rest = after;
    }
    types.push_str(rest);
    Some(stable)
}

/// Returns whether a method without parameters returns an array of a class.
fn is_array_of(class: &str, descriptor: &str) -> bool {
    let element = descriptor.strip_prefix("()[L").and_then(|rest| rest.strip_suffix(';'));
    let same = |(a, b): (u8, u8)| a == b || a == b'/' && b == b'.';
    element.is_some_and(|element| {
        element.len() == class.len() && element.bytes().zip(class.bytes()).all(same)
    })
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn without_number(text: &str) -> &str {
    text.trim_end_matches(|c: char| c.is_ascii_digit())
}

/// What the parts of a name are that follow.
#[derive(PartialEq, Eq)]
enum Next {
    Names,
    /// Numbers mean nothing.
    Numbers,
    /// Hexadecimal numbers, too.
    Hashes,
    Random,
}

fn push_class(class: &str, out: &mut String) {
    let class = match class.rsplit_once("0x") {
        Some((before, address)) if address.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            before.strip_suffix(['/', '.', '+']).unwrap_or(class)
        }
        _ => class,
    };
    let (package, simple) = class.split_at(class.rfind(['.', '/']).map_or(0, |at| at + 1));
    let module = package.trim_end_matches(['.', '/']);
    match package.get(module.len()..) {
        Some(end) if without_number(module).ends_with("proxy") => {
            out.extend([without_number(module), end]);
        }
        _ => out.push_str(package),
    }
    if COUNTED.contains(&without_number(simple)) {
        return out.push_str(without_number(simple));
    }
    let mut next = Next::Names;
    for (at, part) in simple.split('$').enumerate() {
        let is_made = match next {
            Next::Names => false,
            Next::Numbers => is_number(part),
            Next::Hashes => !part.is_empty() && part.bytes().all(is_digit_of_hash),
            Next::Random => true,
        };
        if is_made {
            continue;
        }
        if at > 0 {
            out.push('$');
        }
        push_part(part, simple.starts_with('$') && at == 1, out);
        next = if BEFORE_RANDOM.contains(&part) {
            Next::Random
        } else if part.ends_with("CGLIB") || next == Next::Hashes {
            Next::Hashes
        } else if part == "Lambda" || part.starts_with(|c: char| c.is_lowercase()) {
            Next::Numbers
        } else {
            Next::Names
        };
    }
}

fn is_digit_of_hash(byte: u8) -> bool {
    byte.is_ascii_hexdigit() || byte == b'_'
}

/// Appends a part of the name of a class.
fn push_part(part: &str, is_first: bool, out: &mut String) {
    let counted = without_number(part);
    for javassist in ["_jvst", "_javassist"] {
        if part.starts_with(javassist) {
            return out.push_str(javassist);
        }
    }
    let is_counted = counted == "eval"
        || is_first && counted == "Proxy"
        || part.starts_with('_') && (counted.ends_with("closure") || counted.ends_with("lambda"));
    if is_counted {
        return out.push_str(counted);
    }
    let mut rest = part;
    while let Some((before, after)) = rest.split_once("__") {
        out.extend([before, "__"]);
        rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    out.push_str(rest);
}

fn push_method(name: &str, out: &mut String) {
    let mut before = "";
    for (at, part) in name.split('$').enumerate() {
        // The default of a parameter is numbered by its place.
        if at > 0 && is_number(part) && before != "default" {
            continue;
        }
        if at > 0 {
            out.push('$');
        }
        out.push_str(match part.strip_prefix("lambda-") {
            Some(number) if is_number(number) => "lambda",
            _ if without_number(part) == "lzyINIT" => "lzyINIT",
            _ => part,
        });
        before = part;
    }
}

#[cfg(test)]
mod tests {
    use super::stable_key;

    fn stable(key: &str) -> String {
        let (class, method) = key.split_once('#').unwrap();
        let (name, descriptor) = method.split_at(method.find('(').unwrap_or(method.len()));
        stable_key(class, name, descriptor).unwrap()
    }

    #[test]
    fn numbers_that_were_handed_out_are_left_out() {
        for (key, expected) in [
            ("a.B#lambda$m$3(I)V", "a.B#lambda$m(I)V"),
            ("a.B#access$000(La/B;)I", "a.B#access(La/B;)I"),
            ("a.B#m$lambda$0$1()V", "a.B#m$lambda()V"),
            ("a.B#m$lambda-0()V", "a.B#m$lambda()V"),
            ("a.BKt$m$1#invoke()V", "a.BKt$m#invoke()V"),
            ("a.BKt$m$1$2#<init>(La/BKt$m$1;I)V", "a.BKt$m#<init>(La/BKt$m;I)V"),
            ("a.B#$anonfun$m$1$adapted(I)V", "a.B#$anonfun$m$adapted(I)V"),
            ("a.B#sum$1(I)V", "a.B#sum(I)V"),
            ("a.B#x$lzyINIT1()V", "a.B#x$lzyINIT()V"),
            ("a.B$_m_closure1$_closure12#doCall()V", "a.B$_m_closure$_closure#doCall()V"),
            ("Script12#run()V", "Script#run()V"),
            ("a.core$m$fn__123#invoke()V", "a.core$m$fn__#invoke()V"),
            ("a.core$f__1__2__auto__#invoke()V", "a.core$f______auto__#invoke()V"),
            ("user$eval123#invoke()V", "user$eval#invoke()V"),
            ("jdk.proxy2.$Proxy12#find(I)I", "jdk.proxy.$Proxy#find(I)I"),
            ("$Proxy7#find(I)I", "$Proxy#find(I)I"),
            (
                "jdk.internal.reflect.GeneratedMethodAccessor12#invoke()V",
                "jdk.internal.reflect.GeneratedMethodAccessor#invoke()V",
            ),
            ("a.B$$Lambda$14/0x0000800c03000#run()V", "a.B$$Lambda#run()V"),
            ("a.B$$Lambda.0x00007f1c0#run()V", "a.B$$Lambda#run()V"),
            ("a.B$$SpringCGLIB$$0#m()V", "a.B$$SpringCGLIB$#m()V"),
            ("a.B$$SpringCGLIB$$FastClass$$1#m()V", "a.B$$SpringCGLIB$$FastClass$#m()V"),
            ("a.B$$EnhancerByCGLIB$$1f2e3d_2#CGLIB$m$0()V", "a.B$$EnhancerByCGLIB$#CGLIB$m()V"),
            ("a.B$MockitoMock$123#m()V", "a.B$MockitoMock#m()V"),
            ("a.B$HibernateProxy$x7Yz$q#m()V", "a.B$HibernateProxy#m()V"),
            ("a.B_$$_jvst3a4_0#m()V", "a.B_$$_jvst#m()V"),
        ] {
            assert_eq!(stable(key), expected, "{key}");
        }
    }

    #[test]
    fn what_is_part_of_a_name_stays() {
        for key in [
            "a.B#m(I)V",
            "a.B$1#compare(La/B$2;)I",
            "a.B$C$1#m()V",
            "a.proxy.B2#m()V",
            "a.B0x1f#m()V",
            "a.Scripts12#m()V",
            "a.B#m$default$2()I",
            "a.B#m2()V",
            "a.B#values()[La/C;",
            "a.B#values(I)[La/B;",
            "a.B#values()[[La/B;",
            "a.B#all()[La/B;",
            "a.b2.C#m(La/b2/C$D;[[JLa/E;)V",
            "a.B$#m()V",
            "#m",
        ] {
            assert_eq!(stable(key), key);
        }
    }

    #[test]
    fn what_runs_for_the_first_use_has_no_name() {
        for (class, name, descriptor) in [
            ("a.B", "<clinit>", "()V"),
            ("a.B$C", "values", "()[La/B$C;"),
            ("B", "values", "()[LB;"),
        ] {
            assert_eq!(stable_key(class, name, descriptor), None, "{class}#{name}");
        }
    }
}
