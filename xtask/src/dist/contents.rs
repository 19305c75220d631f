//! What is in the archive and in the package of a platform.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::archive::gzip;
use super::binaries::Binaries;
use super::files::{Files, Kind};
use super::links;
use super::maven::API_JAR;
use crate::base::failure::{Context, Result};
use crate::base::process::output_of;
use crate::base::project::entries_of;

const INSTALL: &str = include_str!("install.sh");
const LICENCES: [&str; 3] = ["LICENSE", "LICENSE-MIT", "LICENSE-APACHE"];

/// What is the same for all platforms.
#[derive(Debug)]
pub(super) struct Common {
    /// Below `share`: man pages and completions.
    share: Files,
    /// Texts and examples.
    documents: Files,
    /// The licences of flow and of the libraries in it.
    pub(super) licences: Files,
}

impl Common {
    /// Gathers it: by running `flow`, without which `share` is empty, and from the source tree, which is the working directory.
    ///
    /// # Errors
    ///
    /// If `flow` fails, or a file cannot be read.
    pub(super) fn gather(flow: Option<&Path>, third_party: &str) -> Result<Self> {
        let share = flow.map(share).transpose()?.unwrap_or_default();
        let mut documents = Files::default();
        for (path, bytes) in shipped(Path::new("."))? {
            documents.add(path, Kind::Data, bytes);
        }
        let mut licences = Files::default();
        for path in LICENCES {
            licences.read(path, Kind::Data, Path::new(path))?;
        }
        licences.add("THIRD-PARTY-LICENSES.txt", Kind::Data, third_party);
        Ok(Self { share, documents, licences })
    }

    /// Returns the content of the archive for a platform, in one directory of that name.
    ///
    /// # Errors
    ///
    /// If a file cannot be read.
    pub(super) fn archive(&self, binaries: &Binaries, directory: &str) -> Result<Files> {
        let mut files = Files::default();
        files.add_below(directory, &self.documents);
        files.add_below(directory, &self.licences);
        let Some(agent) = &binaries.agent else {
            let name = binaries.flow.file_name().unwrap_or_default().to_string_lossy();
            files.read(format!("{directory}/{name}"), Kind::Program, &binaries.flow)?;
            return Ok(files);
        };
        files.add_below(directory, &programs(&binaries.flow, agent)?);
        files.add_below(&format!("{directory}/share"), &self.share);
        files.add(format!("{directory}/install.sh"), Kind::Program, INSTALL);
        Ok(files)
    }

    /// Returns the content of the package for a platform, from the root of the system.
    ///
    /// # Errors
    ///
    /// If a file cannot be read.
    pub(super) fn package(&self, flow: &Path, agent: &Path) -> Result<Files> {
        let mut files = Files::default();
        files.add_below("usr", &programs(flow, agent)?);
        for (path, file) in self.share.iter() {
            // Debian wants its man pages compressed.
            let (path, bytes) = if path.starts_with("man/") {
                (format!("usr/share/{path}.gz"), gzip(&file.bytes)?)
            } else if let Some(rest) = path.strip_prefix("zsh/site-functions/") {
                (format!("usr/share/zsh/vendor-completions/{rest}"), file.bytes.clone())
            } else {
                (format!("usr/share/{path}"), file.bytes.clone())
            };
            files.add(path, file.kind, bytes);
        }
        files.add_below("usr/share/doc/flow", &self.documents);
        files.add_below("usr/share/doc/flow", &self.licences);
        files.read("usr/share/doc/flow/copyright", Kind::Data, Path::new("LICENSE"))?;
        Ok(files)
    }
}

/// Returns man pages and completions, which `flow` prints.
fn share(flow: &Path) -> Result<Files> {
    let mut share = Files::default();
    let pages = tempfile::tempdir().context("a temporary directory")?;
    output_of(Command::new(flow).args(["help", "man", "--out"]).arg(pages.path()))?;
    for page in entries_of(pages.path())? {
        let name = page.file_name().unwrap_or_default().to_string_lossy();
        share.read(format!("man/man1/{name}"), Kind::Data, &page)?;
    }
    for (shell, path) in [
        ("bash", "bash-completion/completions/flow"),
        ("zsh", "zsh/site-functions/_flow"),
        ("fish", "fish/vendor_completions.d/flow.fish"),
    ] {
        let script = output_of(Command::new(flow).args(["help", "completions", shell]))?;
        share.add(path, Kind::Data, format!("{script}\n"));
    }
    Ok(share)
}

/// Returns the documents and examples with their paths in the source tree. Their links lead to each other only.
fn shipped(root: &Path) -> Result<Vec<(String, Vec<u8>)>> {
    // What git knows, and so nothing that builds of the examples have left.
    let mut git = Command::new("git");
    git.current_dir(root).args(["ls-files", "--", "README.md", "CHANGELOG.md", "docs", "examples"]);
    let listed = output_of(&mut git)?;
    let paths: BTreeSet<&str> = listed.lines().chain(LICENCES).collect();
    let read = |path: &str| {
        let bytes = fs::read(root.join(path)).context(path)?;
        let bytes = match String::from_utf8(bytes) {
            Ok(text) if path.ends_with(".md") => links::without_others(&text, path, &paths).into(),
            Ok(text) => text.into(),
            Err(other) => other.into_bytes(),
        };
        Ok((path.to_owned(), bytes))
    };
    listed.lines().map(read).collect()
}

/// Returns the programs and what they need, below a prefix such as `/usr/local`.
fn programs(flow: &Path, agent: &Path) -> Result<Files> {
    let mut files = Files::default();
    files.read("bin/flow", Kind::Program, flow)?;
    files.read("lib/flow/libflowagent.so", Kind::Data, agent)?;
    files.read("lib/flow/flow-api.jar", Kind::Data, Path::new(API_JAR))?;
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_documents_lead_to_files_that_are_shipped() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let shipped = shipped(root).unwrap();
        let paths: BTreeSet<&str> =
            shipped.iter().map(|(path, _)| &**path).chain(LICENCES).collect();
        let texts = shipped.iter().filter(|(path, _)| path.ends_with(".md"));
        for (path, bytes) in texts {
            let text = std::str::from_utf8(bytes).unwrap();
            assert_eq!(links::without_others(text, path, &paths), text, "{path}");
            assert!(!text.contains("](../codec") && !text.contains("](CONTRIBUTING"), "{path}");
        }
        assert!(paths.contains("docs/time.md") && paths.contains("docs/page.png"), "{paths:?}");
    }

    #[test]
    fn an_installation_replaces_files_when_they_are_complete() {
        use std::os::unix::fs::PermissionsExt;
        use std::sync::atomic::{AtomicBool, Ordering};

        let dir = tempfile::tempdir().unwrap();
        let place = |name: &str| dir.path().join(name);
        for name in ["bin", "lib/flow", "share", "docs", "examples"] {
            fs::create_dir_all(place("from").join(name)).unwrap();
        }
        for name in ["README.md", "CHANGELOG.md", "LICENSE", "THIRD-PARTY-LICENSES.txt", "share/x"]
        {
            fs::write(place("from").join(name), "").unwrap();
        }
        let library = vec![7; 1 << 22];
        fs::write(place("from/lib/flow/libflowagent.so"), &library).unwrap();
        fs::write(place("from/bin/flow"), "#!/bin/sh\n").unwrap();
        fs::set_permissions(place("from/bin/flow"), fs::Permissions::from_mode(0o700)).unwrap();
        fs::write(place("from/install.sh"), INSTALL).unwrap();
        let install = || {
            let mut command = Command::new("sh");
            command.args(["-c", "umask 077; sh \"$0\" \"$1\""]);
            command.arg(place("from/install.sh")).arg(place("to"));
            output_of(&mut command).unwrap();
        };
        install();
        let is_over = AtomicBool::new(false);
        let installed = place("to/lib/flow/libflowagent.so");
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    assert!(fs::read(&installed).unwrap() == library, "missing or incomplete");
                }
            });
            (0..20).for_each(|_| install());
            is_over.store(true, Ordering::Relaxed);
            reader.join().unwrap();
        });
        let left = fs::read_dir(place("to/lib/flow")).unwrap().count();
        assert_eq!(left, 1, "nothing else is left there");
        if fs::metadata(&installed).unwrap().permissions().mode() & 0o077 != 0 {
            // As root: for everybody.
            let mode = |name| fs::metadata(place(name)).unwrap().permissions().mode() & 0o777;
            let modes = ["to", "to/bin/flow", "to/share/doc/flow/README.md"].map(mode);
            assert_eq!(modes, [0o755, 0o755, 0o644]);
        }
    }
}
