//! The secret that JVMs and the collector share, in a file.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use flow_options::{StreamAddress, default_token_file};

use crate::failure::Failure;

/// The random bytes of a token that is made.
const RANDOM_BYTES: usize = 24;
const MAX_BYTES: u64 = 4096;

/// A token that JVMs must show.
#[derive(Debug)]
pub(crate) struct Token {
    secret: String,
    path: PathBuf,
}

impl Token {
    /// The token that JVMs must show at an address: that in a file, or the one of this user; none where others cannot
    /// connect.
    pub(crate) fn at(
        address: &StreamAddress,
        named: Option<&Path>,
    ) -> Result<Option<Self>, Failure> {
        match (named, address) {
            (Some(path), _) => Self::read(path).map(Some),
            (None, StreamAddress::Unix(_)) => Ok(None),
            (None, StreamAddress::Tcp { .. }) => Self::of_user().map(Some),
        }
    }

    /// Reads the token from a file that the user names.
    fn read(path: &Path) -> Result<Self, Failure> {
        let fail = |why: String| Failure::Failed(format!("--token {}: {why}", path.display()));
        let file = File::open(path).map_err(|error| fail(error.to_string()))?;
        let mode = file.metadata().map_err(|error| fail(error.to_string()))?.mode();
        if mode & 0o077 != 0 {
            return Err(fail(format!(
                "other users can read or write it; run: chmod 600 {}",
                path.display()
            )));
        }
        let mut text = String::new();
        file.take(MAX_BYTES).read_to_string(&mut text).map_err(|error| fail(error.to_string()))?;
        let secret = text.trim().to_owned();
        if secret.is_empty() {
            return Err(fail("is empty; put a long random text into it".to_owned()));
        }
        Ok(Self { secret, path: path.to_path_buf() })
    }

    /// The token of this user, which is made if there is none: JVMs of the same user find it by themselves.
    fn of_user() -> Result<Self, Failure> {
        let path = default_token_file(|name| std::env::var(name).ok()).ok_or_else(|| {
            Failure::Failed("HOME is not set; name a file with --token FILE".to_owned())
        })?;
        make(&path)
            .map_err(|error| Failure::Failed(format!("the token {}: {error}", path.display())))?;
        Self::read(&path)
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether a JVM has shown it. Takes the same time wherever it differs.
    pub(crate) fn is(&self, shown: Option<&str>) -> bool {
        let (ours, shown) = (self.secret.as_bytes(), shown.unwrap_or_default().as_bytes());
        let differs = ours.iter().zip(shown).fold(0, |found, (a, b)| found | (a ^ b));
        ours.len() == shown.len() && differs == 0
    }
}

/// Makes the file, unless it exists.
fn make(path: &Path) -> std::io::Result<()> {
    if let Some(parent) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
    }
    let mut random = [0; RANDOM_BYTES];
    File::open("/dev/urandom")?.read_exact(&mut random)?;
    let text: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    // Under another name first: a JVM that starts now must not find half of it.
    let new = path.with_extension(format!("{}.new", std::process::id()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
    file.write_all(format!("{text}\n").as_bytes())?;
    let linked = fs::hard_link(&new, path);
    fs::remove_file(&new)?;
    match linked {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_token_is_made_once_and_only_its_owner_can_read_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("flow/stream-token");
        make(&path).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        make(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert_eq!(fs::read_dir(dir.path().join("flow")).unwrap().count(), 1);
        let token = Token::read(&path).unwrap();
        assert!(token.is(Some(text.trim())));
        for wrong in [None, Some(""), Some("x"), Some(&text[..20]), Some(&*text.replace('\n', "0"))]
        {
            assert!(!token.is(wrong), "{wrong:?}");
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let why = Token::read(&path).unwrap_err().to_string();
        assert!(why.contains("chmod 600"), "{why}");
    }
}
