//! Masks values in a command line that look like secrets, before it is stored in `trace.json`.
//!
//! A value is masked because of its name (`-Ddb.password=…`, `--token …`, `Authorization: …`), or because of
//! its form (`//user:…@host`, the tokens of well-known services). Masking too much only makes a trace less
//! informative, so a doubtful value is masked, and from a secret on, so is the rest of the argument. A secret
//! with neither such a name nor such a form is not masked; programs that are started with those need
//! `command=none`.

/// What replaces a masked value.
const MASK: &str = "***";

/// Parts of a name that make any value secret.
const IN_NAME: [&str; 8] =
    ["password", "passwd", "passphrase", "secret", "token", "credential", "apikey", "privatekey"];
/// Words of a name, or ends of one, that make its value secret.
const IN_WORD: [&str; 6] = ["key", "keys", "pass", "pwd", "auth", "creds"];
/// Prefixes of the tokens of well-known services.
const TOKENS: [&str; 9] =
    ["ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "AKIA", "eyJ"];
/// A shorter word is not a token, whatever its prefix.
const MIN_TOKEN_CHARS: usize = 16;
/// A user name of this length, without a password, is a token.
const MIN_USER_TOKEN_CHARS: usize = 20;

/// Returns the arguments with all values masked that look like secrets.
pub(crate) fn mask_all(arguments: &[String]) -> Vec<String> {
    let mut expects = Expects::Anything;
    let mask = |argument: &String| {
        let follows = std::mem::replace(&mut expects, Expects::after(argument));
        match follows {
            Expects::Secret if !argument.starts_with("--") => {
                expects = Expects::Anything;
                MASK.to_owned()
            }
            Expects::User if argument.contains(':') => mask_after(argument, argument.find(':')),
            _ => mask(argument),
        }
    };
    arguments.iter().map(mask).collect()
}

/// What the argument after another one is.
#[derive(Clone, Copy)]
enum Expects {
    Anything,
    Secret,
    /// `user:password`, in the form of curl.
    User,
}

impl Expects {
    fn after(argument: &str) -> Self {
        let Some(name) = argument.strip_prefix('-') else { return Self::Anything };
        let name = name.strip_prefix('-').unwrap_or(name);
        if !name.chars().all(is_of_name) || argument.starts_with("-D") {
            Self::Anything
        } else if names_a_secret(name) {
            Self::Secret
        } else if ["u", "user", "proxy-user"].contains(&name) {
            Self::User
        } else {
            Self::Anything
        }
    }
}

/// Masks one argument.
fn mask(argument: &str) -> String {
    let masked = mask_after(argument, named_value(argument));
    mask_tokens(&mask_userinfo(&masked))
}

fn mask_after(argument: &str, separator: Option<usize>) -> String {
    match separator.and_then(|at| argument.get(..=at)) {
        Some(kept) if kept.len() < argument.len() => format!("{kept}{MASK}"),
        _ => argument.to_owned(),
    }
}

/// Finds the `=` or `:` between the name of a secret and its value.
fn named_value(argument: &str) -> Option<usize> {
    let mut separators = argument.char_indices().filter(|(_, c)| matches!(c, '=' | ':'));
    separators.find_map(|(at, separator)| {
        let before = argument.get(..at)?.trim_end_matches(['"', '\'', ' ']);
        let name_start = before.char_indices().rev().take_while(|(_, c)| is_of_name(*c)).last()?.0;
        let name = before.get(name_start..)?;
        let is_secret = match separator {
            '=' => names_a_secret(name),
            // Also between paths, `auth.jar:next.jar`, and in `scheme://`.
            _ => {
                let is_path = before.get(..name_start)?.ends_with(['/', '\\', '.']);
                let is_url = argument.get(at..)?.starts_with("://");
                !is_path && !is_url && words(name).last().is_some_and(|word| names_a_secret(word))
            }
        };
        is_secret.then_some(at)
    })
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}

fn names_a_secret(name: &str) -> bool {
    let plain: String = name.chars().filter(|c| c.is_alphanumeric()).collect();
    let plain = plain.to_lowercase();
    IN_NAME.iter().any(|part| plain.contains(part))
        || words(name).iter().any(|word| {
            IN_WORD.iter().any(|end| word.ends_with(end))
                || word.starts_with("auth") && !(word.starts_with("author") && word.len() <= 7)
        })
}

/// The words of `some.nameOf-this_kind`, in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase() || c.is_ascii_digit();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Masks passwords in URLs: `//user:password@host`, and Oracle's `user/password@`.
fn mask_userinfo(argument: &str) -> String {
    let mut out = String::with_capacity(argument.len());
    let mut rest = argument;
    while let Some((before, after)) = rest.split_once("//") {
        out.push_str(before);
        out.push_str("//");
        let end = after.find(|c: char| c.is_whitespace() || "\"',;|".contains(c));
        let url = after.get(..end.unwrap_or(after.len())).unwrap_or(after);
        let len = userinfo(url);
        let (info, tail) = after.split_at_checked(len).unwrap_or(("", after));
        match info.split_once(':') {
            Some((user, password)) if !password.is_empty() => {
                out.extend([user, ":", MASK]);
            }
            None if info.chars().count() >= MIN_USER_TOKEN_CHARS => out.push_str(MASK),
            _ => out.push_str(info),
        }
        rest = tail;
    }
    out.push_str(rest);
    let Some(at) = out.find("oracle:").filter(|_| out.contains('@')) else { return out };
    let (before, oracle) = out.split_at(at);
    match (oracle.find('/'), oracle.rfind('@')) {
        (Some(slash), Some(at)) if slash < at && !oracle.contains("//") => {
            let (user, _) = oracle.split_at(slash);
            let (_, host) = oracle.split_at(at);
            format!("{before}{user}/{MASK}{host}")
        }
        _ => out,
    }
}

/// The length of user and password at the start of a URL without its scheme and `//`. A password may contain
/// an `@`, and a `/` that was not escaped; a port before a `/` is not a password.
fn userinfo(url: &str) -> usize {
    let authority = url.get(..url.find(['/', '?', '#']).unwrap_or(url.len())).unwrap_or(url);
    if let Some(at) = authority.rfind('@') {
        return at;
    }
    let is_port = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    let in_brackets = authority.rsplit_once(']').map_or(authority, |(_, rest)| rest);
    match in_brackets.split_once(':') {
        Some((_, port)) if !is_port(port) => url.rfind('@').unwrap_or(0),
        _ => 0,
    }
}

/// Masks words that are tokens of well-known services, anywhere.
fn mask_tokens(argument: &str) -> String {
    let is_token = |word: &str| {
        word.len() >= MIN_TOKEN_CHARS && TOKENS.iter().any(|start| word.starts_with(start))
    };
    let mut out = String::with_capacity(argument.len());
    let is_of_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let mut rest = argument;
    while let Some(first) = rest.chars().next() {
        let len = rest.find(|c| is_of_word(c) != is_of_word(first)).unwrap_or(rest.len());
        let (word, tail) = rest.split_at(len);
        out.push_str(if is_token(word) { MASK } else { word });
        rest = tail;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(command: &[&str]) -> Vec<String> {
        mask_all(&command.iter().map(|&argument| argument.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn values_with_secret_names_are_masked() {
        for (argument, expected) in [
            ("-Ddb.password=hunter2", "-Ddb.password=***"),
            ("-Dspring.datasource.passwd=a=b", "-Dspring.datasource.passwd=***"),
            ("-Djavax.net.ssl.trustStorePassword=x y", "-Djavax.net.ssl.trustStorePassword=***"),
            ("-DDB_PASS=x", "-DDB_PASS=***"),
            ("-DdbPwd=x", "-DdbPwd=***"),
            ("-Dapi.key=x", "-Dapi.key=***"),
            ("-DAPIKEY=x", "-DAPIKEY=***"),
            ("-DawsSecretAccessKey=x", "-DawsSecretAccessKey=***"),
            ("-Dgithub.oauth=x", "-Dgithub.oauth=***"),
            ("-Dproxy.authorization=x", "-Dproxy.authorization=***"),
            ("--password=x", "--password=***"),
            ("client_secret=x", "client_secret=***"),
            ("AWS_SESSION_TOKEN=x", "AWS_SESSION_TOKEN=***"),
            ("Authorization: Bearer abc", "Authorization:***"),
            ("{\"user\":\"me\",\"password\" : \"x\"}", "{\"user\":\"me\",\"password\" :***"),
            (
                "-javaagent:/opt/a.jar=port=80,token=x,y=z",
                "-javaagent:/opt/a.jar=port=80,token=***",
            ),
            ("-Durl=jdbc:h2:mem:t;USER=sa;PASSWORD=x", "-Durl=jdbc:h2:mem:t;USER=sa;PASSWORD=***"),
            ("jdbc:mysql://h/db?user=u&password=p&x=y", "jdbc:mysql://h/db?user=u&password=***"),
            ("-Dпароль.secret=ж", "-Dпароль.secret=***"),
        ] {
            assert_eq!(masked(&[argument]), [expected]);
        }
    }

    #[test]
    fn the_argument_after_a_secret_flag_is_masked() {
        assert_eq!(masked(&["--password", "x", "y"]), ["--password", "***", "y"]);
        assert_eq!(masked(&["-storepass", "-x"]), ["-storepass", "***"]);
        assert_eq!(
            masked(&["--api-key", "a", "--token", "b"]),
            ["--api-key", "***", "--token", "***"]
        );
        assert_eq!(masked(&["--use-auth", "--port", "80"]), ["--use-auth", "--port", "80"]);
        assert_eq!(masked(&["--password", "--token", "b"]), ["--password", "--token", "***"]);
        assert_eq!(masked(&["--password", "--token=b"]), ["--password", "--token=***"]);
        assert_eq!(masked(&["--password", "token", "b"]), ["--password", "***", "b"]);
        assert_eq!(masked(&["-u", "me:x:y", "-u", "me"]), ["-u", "me:***", "-u", "me"]);
        assert_eq!(masked(&["--password"]), ["--password"]);
        assert_eq!(masked(&["--password="]), ["--password="]);
    }

    #[test]
    fn passwords_in_urls_are_masked() {
        for (argument, expected) in [
            ("http://u:p@h/x", "http://u:***@h/x"),
            (
                "-Dproxy=http://u:p@h:80/x,http://v:q@h",
                "-Dproxy=http://u:***@h:80/x,http://v:***@h",
            ),
            ("amqp://u:p@ss@h", "amqp://u:***@h"),
            ("amqp://u:p/ss@h", "amqp://u:***@h"),
            ("redis://:p@h", "redis://:***@h"),
            ("ssh://git@h/x", "ssh://git@h/x"),
            ("https://0123456789abcdef0123@h/x", "https://***@h/x"),
            ("http://h:8080/a@b", "http://h:8080/a@b"),
            ("http://[::1]:8080/a@b", "http://[::1]:8080/a@b"),
            ("http://h/a:b@c", "http://h/a:b@c"),
            ("jdbc:oracle:thin:scott/tiger@h:1521:x", "jdbc:oracle:thin:scott/***@h:1521:x"),
            ("jdbc:oracle:thin:@//h:1521/x", "jdbc:oracle:thin:@//h:1521/x"),
            ("//", "//"),
        ] {
            assert_eq!(masked(&[argument]), [expected]);
        }
    }

    #[test]
    fn well_known_tokens_are_masked_wherever_they_are() {
        assert_eq!(masked(&["x", "ghp_0123456789abcdef"]), ["x", "***"]);
        assert_eq!(masked(&["-Dx=eyJhbGciOiJIUzI1.eyJzdWIi.sig,b"]), ["-Dx=***,b"]);
        assert_eq!(masked(&["AKIA", "eyJ"]), ["AKIA", "eyJ"]);
    }

    #[test]
    fn values_that_are_no_secrets_stay() {
        let command = [
            "/usr/bin/java",
            "-Xmx1g",
            "-XX:+UseG1GC",
            "-XX:FlightRecorderOptions=stackdepth=64",
            "-cp",
            "lib/oauth2.jar:lib/spring-auth.jar:/opt/token:/opt/b.jar",
            "-agentpath:/tmp/libflowagent.so=out=/tmp/t,include=com.app.**;java.util.**",
            "-Dauthor=me",
            "-Duser.dir=/home/me",
            "--add-opens",
            "java.base/java.lang=ALL-UNNAMED",
            "com.app.TokenMain",
            "user@example.com",
            "",
            "=",
            ":",
            "-",
        ];
        assert_eq!(masked(&command), command);
    }
}
