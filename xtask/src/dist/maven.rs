//! A directory with the layout of a Maven repository.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::files::checksum;
use super::platform::Platform;
use crate::base::failure::{Context, Result};
use crate::base::process::run;

/// The jar of the Java API, which `scripts/api.sh` builds.
pub(super) const API_JAR: &str = "cli/java/flow-api.jar";
const GROUP: &str = "dev/flow";
/// Maven Central demands the first two.
const CHECKSUMS: [&str; 3] = ["md5", "sha1", "sha256"];

/// A project that is built by Maven, and the artifact that it makes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Artifact {
    pub(super) id: &'static str,
    pub(super) project: &'static str,
}

pub(super) const API: Artifact = Artifact { id: "flow-api", project: "java-api" };
pub(super) const AGENT: Artifact = Artifact { id: "flow-agent", project: "java-launcher" };
/// Where Gradle looks for the jar of the plugin with the id `dev.flow`.
const GRADLE_MARKER: Artifact = Artifact { id: "dev.flow.gradle.plugin", project: AGENT.project };

impl Artifact {
    /// Builds its jars. Tests ran before: `scripts/test.sh` has them.
    ///
    /// # Errors
    ///
    /// If Maven fails.
    pub(super) fn build(self) -> Result<()> {
        let mut maven = Command::new("mvn");
        maven.args([
            "--quiet",
            "--batch-mode",
            "--file",
            self.project,
            "--activate-profiles",
            "release",
        ]);
        // Maven writes its messages to stdout, where our results are.
        maven.stdout(io::stderr());
        run(maven.args(["-Dstyle.color=never", "-DskipTests", "clean", "package"]))
    }

    /// Returns a jar that Maven built; `suffix` is empty, or such as `-sources`.
    pub(super) fn jar(self, version: &str, suffix: &str) -> PathBuf {
        let name = format!("{}-{version}{suffix}.jar", self.id);
        Path::new(self.project).join("target").join(name)
    }
}

/// A repository that is being made.
#[derive(Debug)]
pub(super) struct Repository<'a> {
    pub(super) dir: &'a Path,
    pub(super) version: &'a str,
}

impl Repository<'_> {
    /// Adds an artifact: its description, its jar, its sources and its documentation.
    ///
    /// # Errors
    ///
    /// If a file cannot be read or written.
    pub(super) fn add(&self, artifact: Artifact, jar: &[u8]) -> Result<()> {
        let read = |path: PathBuf| fs::read(&path).context(path.display());
        self.add_file(artifact, ".pom", &read(Path::new(artifact.project).join("pom.xml"))?)?;
        self.add_file(artifact, ".jar", jar)?;
        for suffix in ["-sources", "-javadoc"] {
            let bytes = read(artifact.jar(self.version, suffix))?;
            self.add_file(artifact, &format!("{suffix}.jar"), &bytes)?;
        }
        Ok(())
    }

    /// Adds the description by which Gradle finds the plugin: it depends on the jar.
    ///
    /// # Errors
    ///
    /// If a file cannot be read or written.
    pub(super) fn add_gradle_marker(&self) -> Result<()> {
        let path = Path::new(AGENT.project).join("pom.xml");
        let pom = fs::read_to_string(&path).context(path.display())?;
        self.add_file(GRADLE_MARKER, ".pom", marker(&pom, self.version).as_bytes())
    }

    /// Adds the agent library of a platform, whose name is the classifier. It is not in a jar, because `-agentpath` needs a file.
    ///
    /// # Errors
    ///
    /// If a file cannot be read or written.
    pub(super) fn add_library(&self, platform: Platform, agent: &Path) -> Result<()> {
        let bytes = fs::read(agent).context(agent.display())?;
        let end = format!("-{}.so", platform.classifier());
        self.add_file(AGENT, &end, &bytes)
    }

    /// Adds a file and its checksums.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub(super) fn add_file(&self, artifact: Artifact, end: &str, bytes: &[u8]) -> Result<()> {
        let dir = self.dir.join(GROUP).join(artifact.id).join(self.version);
        fs::create_dir_all(&dir).context(dir.display())?;
        let name = format!("{}-{}{end}", artifact.id, self.version);
        let path = dir.join(&name);
        fs::write(&path, bytes).context(path.display())?;
        for kind in CHECKSUMS {
            let path_of_sum = dir.join(format!("{name}.{kind}"));
            fs::write(&path_of_sum, checksum(kind, &path)?).context(path_of_sum.display())?;
        }
        Ok(())
    }
}

/// Returns the description of an artifact that only depends on the one with this description.
fn marker(pom: &str, version: &str) -> String {
    let (head, _) = pom.split_once("  <properties>").unwrap_or((pom, ""));
    let (group, id) = (GROUP.replace('/', "."), AGENT.id);
    let dependency = format!(
        "    <dependency>\n      <groupId>{group}</groupId>\n      <artifactId>{id}</artifactId>\n      \
         <version>{version}</version>\n    </dependency>\n"
    );
    let head = head.replacen(AGENT.id, GRADLE_MARKER.id, 1).replacen(
        "<packaging>jar<",
        "<packaging>pom<",
        1,
    );
    format!("{head}  <dependencies>\n{dependency}  </dependencies>\n</project>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gradle_finds_the_jar_by_the_id_of_the_plugin() {
        let pom = marker(&source("java-launcher/pom.xml"), "1.0");
        let begin = "<artifactId>dev.flow.gradle.plugin</artifactId>\n  <version>";
        assert!(pom.contains(begin) && pom.contains("  <packaging>pom</packaging>\n"), "{pom}");
        let end = "<artifactId>flow-agent</artifactId>\n      <version>1.0</version>\n";
        assert!(pom.contains(end) && !pom.contains("junit"), "{pom}");
        let plugin = "java-launcher/src/main/resources/META-INF/gradle-plugins/dev.flow.properties";
        assert!(source(plugin).contains("dev.flow.gradle.FlowPlugin"));
    }

    fn source(path: &str) -> String {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        fs::read_to_string(root.join(path)).unwrap()
    }

    #[test]
    fn descriptions_have_the_version_of_this_build_and_what_maven_central_demands() {
        for artifact in [API, AGENT] {
            let pom = source(&format!("{}/pom.xml", artifact.project));
            let version = env!("CARGO_PKG_VERSION");
            let begin =
                format!("<artifactId>{}</artifactId>\n  <version>{version}</version>", artifact.id);
            assert!(pom.contains(&begin), "{pom}");
            for element in ["name", "description", "url", "licenses", "developers", "scm"] {
                assert!(pom.contains(&format!("\n  <{element}>")), "{}: {element}", artifact.id);
            }
            let url = format!("\n  <url>{}</url>", env!("CARGO_PKG_HOMEPAGE"));
            assert!(pom.contains(&url), "{}: not {url}", artifact.id);
        }
    }

    #[test]
    fn the_launcher_looks_for_the_names_of_platforms() {
        let java = source("java-launcher/src/main/java/dev/flow/launcher/Platform.java");
        let all = <Platform as clap::ValueEnum>::value_variants().iter();
        for platform in all.filter(|platform| platform.c_library().is_some()) {
            let machine = platform.classifier().strip_prefix("linux-").unwrap();
            assert!(java.contains(machine), "{machine}");
        }
    }

    #[test]
    fn a_file_has_its_checksums_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let repository = Repository { dir: dir.path(), version: "1.0" };
        repository.add_file(AGENT, "-all.jar", b"abc").unwrap();
        let made = dir.path().join("dev/flow/flow-agent/1.0/flow-agent-1.0-all.jar");
        assert_eq!(fs::read(&made).unwrap(), b"abc");
        let sum = fs::read_to_string(made.with_extension("jar.md5")).unwrap();
        assert_eq!(sum, "900150983cd24fb0d6963f7d28e17f72");
        assert!(made.with_extension("jar.sha1").is_file());
    }
}
