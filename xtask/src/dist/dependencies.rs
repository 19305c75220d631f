//! The libraries in the programs, as cargo reports them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::ValueEnum as _;
use serde_json::Value;

use super::platform::Platform;
use crate::base::failure::{Context, Failure, Result};
use crate::base::process::output_of;

/// A library, or a part of flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Package {
    pub(super) name: String,
    pub(super) version: String,
    /// An expression of SPDX, if the package names its licence by one.
    pub(super) licence: Option<String>,
    pub(super) repository: Option<String>,
    /// Whether it is a part of flow.
    pub(super) is_own: bool,
    pub(super) directory: PathBuf,
    /// SHA-256 of the file that the registry sends, in hexadecimal.
    pub(super) checksum: Option<String>,
    /// Which packages it uses, as indices.
    pub(super) uses: Vec<usize>,
}

/// Returns the packages that the programs of a release consist of, sorted by name.
///
/// # Errors
///
/// If cargo fails, or describes the packages in an unknown way.
pub(super) fn packages(roots: &[&str]) -> Result<Vec<Package>> {
    let mut cargo = Command::new("cargo");
    cargo.args(["metadata", "--format-version", "1", "--locked"]);
    for platform in Platform::value_variants() {
        cargo.args(["--filter-platform", platform.triple()]);
    }
    let metadata = serde_json::from_str(&output_of(&mut cargo)?).context("cargo metadata")?;
    let lock = std::fs::read_to_string("Cargo.lock").context("Cargo.lock")?;
    packages_of(&metadata, &lock, roots)
        .ok_or_else(|| Failure::Failed("cargo metadata: unknown format".to_owned()))
}

/// Follows the dependencies from some packages of the workspace. Leaves out what only builds and tests need.
fn packages_of(metadata: &Value, lock: &str, roots: &[&str]) -> Option<Vec<Package>> {
    let all: BTreeMap<&str, &Value> = metadata["packages"]
        .as_array()?
        .iter()
        .map(|package| Some((package["id"].as_str()?, package)))
        .collect::<Option<_>>()?;
    let uses: BTreeMap<&str, Vec<&str>> = metadata["resolve"]["nodes"]
        .as_array()?
        .iter()
        .map(|node| Some((node["id"].as_str()?, linked(node)?)))
        .collect::<Option<_>>()?;

    let is_root = |id: &&str| roots.iter().any(|root| all[id]["name"] == *root);
    let mut open: Vec<&str> = metadata["workspace_members"]
        .as_array()?
        .iter()
        .map(Value::as_str)
        .collect::<Option<Vec<_>>>()?
        .into_iter()
        .filter(is_root)
        .collect();
    let mut reached = BTreeSet::new();
    while let Some(id) = open.pop() {
        if reached.insert(id) {
            open.extend(uses.get(id)?);
        }
    }

    let key = |id: &str| (all[id]["name"].as_str(), all[id]["version"].as_str());
    let mut ids: Vec<&str> = reached.into_iter().collect();
    ids.sort_by_key(|id| key(id));
    let index = |id: &&str| ids.iter().position(|other| other == id);
    ids.iter()
        .map(|id| {
            let (name, version) = key(id);
            let text = |field: &str| all[id][field].as_str().map(str::to_owned);
            Some(Package {
                name: name?.to_owned(),
                version: version?.to_owned(),
                // The older way to say it.
                licence: text("license").map(|licence| licence.replace('/', " OR ")),
                repository: text("repository"),
                is_own: all[id]["source"].is_null(),
                directory: Path::new(all[id]["manifest_path"].as_str()?).parent()?.to_owned(),
                checksum: checksum(lock, name?, version?),
                uses: uses[id].iter().filter_map(index).collect(),
            })
        })
        .collect()
}

/// Returns what becomes part of a package, of what it depends on.
fn linked(node: &Value) -> Option<Vec<&str>> {
    let is_linked = |dependency: &&Value| {
        let kinds = dependency["dep_kinds"].as_array();
        kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"].is_null()))
    };
    node["deps"].as_array()?.iter().filter(is_linked).map(|other| other["pkg"].as_str()).collect()
}

/// Returns the checksum of a package in `Cargo.lock`.
fn checksum(lock: &str, name: &str, version: &str) -> Option<String> {
    let begin = format!("name = \"{name}\"\nversion = \"{version}\"\n");
    let package = lock.split("[[package]]\n").find(|package| package.starts_with(&begin))?;
    let line = package.lines().find_map(|line| line.strip_prefix("checksum = \""))?;
    line.strip_suffix('"').map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn package(name: &str, source: Option<&str>) -> Value {
        let path = format!("/src/{name}/Cargo.toml");
        json!({
            "id": name, "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0",
            "repository": null, "source": source, "manifest_path": path,
        })
    }

    fn node(name: &str, uses: &[(&str, Option<&str>)]) -> Value {
        let uses: Vec<_> = uses
            .iter()
            .map(|(other, kind)| json!({"pkg": other, "dep_kinds": [{"kind": kind}]}))
            .collect();
        json!({"id": name, "deps": uses})
    }

    #[test]
    fn what_only_builds_and_tests_need_is_left_out() {
        let registry = Some("registry+https://example.org");
        let metadata = json!({
            "packages": [
                package("flow-cli", None), package("tests", None), package("zstd", registry),
                package("cc", registry), package("proptest", registry), package("libc", registry),
            ],
            "workspace_members": ["flow-cli", "tests"],
            "resolve": {"nodes": [
                node("flow-cli", &[("zstd", None), ("proptest", Some("dev"))]),
                node("zstd", &[("libc", None), ("cc", Some("build"))]),
                node("libc", &[]), node("cc", &[]), node("proptest", &[]), node("tests", &[]),
            ]},
        });
        let lock = "[[package]]\nname = \"libc\"\nversion = \"1.0.0\"\nsource = \"registry\"\n\
                    checksum = \"abc\"\n\n[[package]]\nname = \"zstd\"\nversion = \"2.0.0\"\n\
                    checksum = \"def\"\n";
        let packages = packages_of(&metadata, lock, &["flow-cli"]).unwrap();
        let names: Vec<_> = packages.iter().map(|package| package.name.as_str()).collect();
        assert_eq!(names, ["flow-cli", "libc", "zstd"]);
        assert_eq!(packages.iter().map(|one| one.is_own).collect::<Vec<_>>(), [true, false, false]);
        assert_eq!(packages[0].uses, [2]);
        assert_eq!(packages[2].uses, [1]);
        assert_eq!(packages[1].licence.as_deref(), Some("MIT OR Apache-2.0"));
        assert_eq!(packages[1].checksum.as_deref(), Some("abc"));
        assert_eq!(packages[2].checksum, None, "the lock file has another version");
        assert_eq!(packages[2].directory, Path::new("/src/zstd"));
    }

    #[test]
    fn an_unknown_format_is_no_answer() {
        assert_eq!(packages_of(&json!({"packages": []}), "", &["flow-cli"]), None);
    }
}
