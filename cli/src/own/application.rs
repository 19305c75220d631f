//! Which packages of a JVM's class path or module path are the application's.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::command::{JavaCommand, Main};
use super::jar::{Jar, attributes};
use super::packages::{declared_package, is_info, of_folder};
use super::surroundings::Surroundings;

/// Main classes whose job is to run other classes. They do not show which package is the application's.
const RUNNERS: [&str; 31] = [
    "clojure.",
    "com.sun.",
    "groovy.",
    "io.quarkus.",
    "java.",
    "jdk.",
    "kotlin.",
    "org.apache.catalina.",
    "org.apache.commons.launcher.",
    "org.apache.felix.",
    "org.apache.karaf.",
    "org.apache.maven.",
    "org.apache.spark.",
    "org.apache.tools.ant.",
    "org.codehaus.groovy.",
    "org.codehaus.plexus.",
    "org.eclipse.equinox.",
    "org.eclipse.jetty.",
    "org.gradle.",
    "org.jboss.",
    "org.jetbrains.kotlin.",
    "org.jruby.",
    "org.junit.",
    "org.openjdk.jcstress.",
    "org.openjdk.jmh.",
    "org.python.",
    "org.springframework.boot.loader.",
    "org.testng.",
    "org.wildfly.",
    "scala.tools.",
    "sun.",
];

/// Outer packages that many publishers share: only the next name differs.
const SHARED: [&str; 14] = [
    "com.amazonaws",
    "com.fasterxml",
    "com.github",
    "com.gitlab",
    "com.google",
    "io.github",
    "io.gitlab",
    "io.micronaut",
    "io.quarkus",
    "org.apache",
    "org.eclipse",
    "org.hibernate",
    "org.jetbrains",
    "org.springframework",
];

/// The folders of classes inside an archive or folder that a loader of its own runs.
const INNER_CLASSES: [&str; 2] = ["BOOT-INF/classes/", "WEB-INF/classes/"];
/// The class that such an archive runs in the end.
const START_CLASS: &str = "Start-Class";
const MAIN_CLASS: &str = "Main-Class";

/// A jar with the packages of more publishers than this has libraries in it.
const MAX_PUBLISHERS: usize = 3;

/// The application's packages.
pub(super) fn packages(command: &JavaCommand, around: &Surroundings) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    match &command.main {
        Main::Source(file) => {
            let file = around.regular_file(file);
            found.extend(file.map(|file| declared_package(&file).unwrap_or_default()));
        }
        Main::Jar(jar) => {
            if let Some(path) = around.regular_file(jar)
                && let Some(jar) = Jar::open(&path)
            {
                of_jar(&path, &jar, command, around, &mut found);
            }
        }
        Main::Class(class) => {
            of_class(class, &class_path(command, around), command, around, &mut found)
        }
        Main::Module { name, class } => {
            let path = module_path(command, around);
            let main = match class {
                Some(class) => Wanted::Class(class),
                None => Wanted::Module(name),
            };
            of_elements(&main, &path, &mut found);
            // A module of the runtime image is nowhere else.
            if let (true, Some(class)) = (found.is_empty(), class)
                && !is_runner(class)
            {
                found.insert(publisher(package_of(class)));
            }
        }
    }
    found
}

fn of_jar(
    path: &Path,
    jar: &Jar,
    command: &JavaCommand,
    around: &Surroundings,
    found: &mut BTreeSet<String>,
) {
    if let Some(start) = inner_classes(jar, found) {
        found.extend(start.map(|start| publisher(package_of(&start))));
        return;
    }
    let Some(main) = jar.attribute(MAIN_CLASS) else { return };
    let dir = path.parent().unwrap_or(Path::new(""));
    if main.starts_with("io.quarkus.bootstrap.") {
        // The application's jar is beside those of libraries.
        for jar in jars_in(&dir.join("app")).iter().filter_map(|path| Jar::open(path)) {
            found.extend(packages_of(&jar));
        }
        return;
    }
    let further = jar.attribute("Class-Path").unwrap_or_default().split_whitespace();
    let further = further.map(|entry| match entry.strip_prefix("file:") {
        Some(path) => around.path(path),
        None => dir.join(entry),
    });
    let class_path: Vec<_> = [path.to_path_buf()].into_iter().chain(further).collect();
    of_class(main, &class_path, command, around, found);
}

/// Adds the packages of an application that runs a class from a class path.
fn of_class(
    class: &str,
    class_path: &[PathBuf],
    command: &JavaCommand,
    around: &Surroundings,
    found: &mut BTreeSet<String>,
) {
    if !is_runner(class) {
        of_elements(&Wanted::Class(class), class_path, found);
        return;
    }
    let arguments: Vec<_> =
        command.class_path_arguments().map(|element| around.path(&element)).collect();
    for folder in class_path.iter().chain(&arguments).filter(|path| path.is_dir()) {
        if INNER_CLASSES.iter().any(|inner| folder.join(inner).is_dir()) {
            INNER_CLASSES.iter().for_each(|inner| of_folder(&folder.join(inner), found));
            let manifest = fs::read_to_string(folder.join("META-INF/MANIFEST.MF"));
            let manifest = attributes(&manifest.unwrap_or_default());
            found.extend(manifest.get(START_CLASS).map(|class| publisher(package_of(class))));
        } else {
            of_folder(folder, found);
        }
    }
}

/// What the main jar has.
enum Wanted<'a> {
    Class(&'a str),
    Module(&'a str),
}

/// Adds the packages of folders and of the jar that has what is wanted.
fn of_elements(wanted: &Wanted<'_>, elements: &[PathBuf], found: &mut BTreeSet<String>) {
    let (jars, folders): (Vec<_>, Vec<_>) = elements.iter().partition(|path| path.is_file());
    let mut is_in_folder = false;
    for folder in folders {
        of_folder(folder, found);
        is_in_folder |= match wanted {
            Wanted::Class(class) => folder.join(class.replace('.', "/") + ".class").is_file(),
            Wanted::Module(module) => folder.ends_with(module),
        };
    }
    let main_jar = || {
        jars.into_iter().find_map(|path| match wanted {
            Wanted::Class(class) => Jar::open(path).filter(|jar| jar.has_class(class)),
            Wanted::Module(module) => is_named(path, module).then(|| Jar::open(path)).flatten(),
        })
    };
    let jar = if is_in_folder { None } else { main_jar() };
    match wanted {
        Wanted::Class(class) if is_in_folder || jar.is_some() => {
            let package = publisher(package_of(class));
            let is_own = |name: &String| !package.is_empty() && is_inside(name, &package);
            if let Some(jar) = jar {
                let has_libraries = has_libraries(&jar);
                found.extend(
                    packages_of(&jar).into_iter().filter(|name| {
                        !has_libraries || is_own(name) || *name == package_of(class)
                    }),
                );
            }
            found.extend(Some(package).filter(|package| package.contains('.')));
        }
        _ => found.extend(jar.filter(|jar| !has_libraries(jar)).iter().flat_map(packages_of)),
    }
}

/// Returns whether a jar is that of a module, by its name without the version: `my-app-1.0.jar` is `my.app`.
fn is_named(jar: &Path, module: &str) -> bool {
    let name = jar.file_stem().unwrap_or_default().to_string_lossy().replace(['-', '_'], ".");
    let version = name.char_indices().find(|(at, c)| {
        *c == '.'
            && name.get(at + 1..).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    });
    version.map_or(name.as_str(), |(at, _)| &name[..at]) == module
}

/// Adds the packages of classes that a loader of the archive's own runs, if it has any. Returns the class that it starts.
fn inner_classes(jar: &Jar, found: &mut BTreeSet<String>) -> Option<Option<String>> {
    let inner = INNER_CLASSES
        .into_iter()
        .find(|inner| jar.names.iter().any(|name| name.starts_with(inner)))?;
    found.extend(jar.names.iter().filter_map(|name| package_of_file(name.strip_prefix(inner)?)));
    Some(jar.attribute(START_CLASS).map(str::to_owned))
}

fn packages_of(jar: &Jar) -> BTreeSet<String> {
    jar.names.iter().filter_map(|name| package_of_file(name)).collect()
}

/// The package of a class in a jar.
fn package_of_file(name: &str) -> Option<String> {
    let path = name.strip_suffix(".class")?;
    let path = match path.strip_prefix("META-INF/versions/") {
        Some(versioned) => versioned.split_once('/')?.1,
        None => path,
    };
    let (package, stem) = path.rsplit_once('/').unwrap_or(("", path));
    let is_package = !is_info(stem) && !package.contains('-');
    is_package.then(|| package.replace('/', "."))
}

/// Returns whether a jar has libraries in it: several descriptions of Maven artifacts, or packages of many publishers.
fn has_libraries(jar: &Jar) -> bool {
    let artifacts = jar
        .names
        .iter()
        .filter(|name| name.starts_with("META-INF/maven/") && name.ends_with("/pom.properties"));
    let publishers: BTreeSet<_> = packages_of(jar).iter().map(|name| publisher(name)).collect();
    artifacts.count() > 1 || publishers.len() > MAX_PUBLISHERS
}

/// The first two names of a package, which those of one publisher usually share; three where many publishers share two.
fn publisher(package: &str) -> String {
    let start = |count| package.splitn(count + 1, '.').take(count).collect::<Vec<_>>().join(".");
    let two = start(2);
    if SHARED.contains(&two.as_str()) { start(3) } else { two }
}

fn is_inside(name: &str, package: &str) -> bool {
    name.strip_prefix(package).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn package_of(class: &str) -> &str {
    class.rsplit_once('.').map_or("", |(package, _)| package)
}

fn is_runner(class: &str) -> bool {
    RUNNERS.iter().any(|runner| class.starts_with(runner))
}

/// The elements of the class path, with the jars of `DIR/*`.
fn class_path(command: &JavaCommand, around: &Surroundings) -> Vec<PathBuf> {
    let paths = command.class_path.iter().map(|element| match element.strip_suffix('*') {
        Some(dir) if dir.is_empty() || dir.ends_with('/') => jars_in(&around.path(dir)),
        _ => vec![around.path(element)],
    });
    paths.flatten().collect()
}

/// Modules as folders and jars, and the elements of the class path.
fn module_path(command: &JavaCommand, around: &Surroundings) -> Vec<PathBuf> {
    let is_module = |dir: &Path| dir.join("module-info.class").is_file();
    let mut found = class_path(command, around);
    for element in command.module_path.iter().map(|element| around.path(element)) {
        if element.is_file() || is_module(&element) {
            found.push(element);
        } else {
            found.extend(jars_in(&element));
            let inside = fs::read_dir(&element).into_iter().flatten().flatten();
            found.extend(inside.map(|entry| entry.path()).filter(|path| is_module(path)));
        }
    }
    found
}

fn jars_in(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_jar = |path: &PathBuf| {
        path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("jar"))
    };
    let mut jars: Vec<_> = entries.filter(is_jar).collect();
    jars.sort();
    jars
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::super::{jar, of_java};
    use super::*;

    const MANIFEST: &str = "META-INF/MANIFEST.MF";

    struct Place(tempfile::TempDir);

    impl Place {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn jar(&self, name: &str, files: &[(&str, &str)]) {
            let path = self.0.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            jar::tests::write(&path, "", files);
        }

        /// A class as far as its name is concerned.
        fn class(&self, folder: &str, name: &str) {
            let path = self.0.path().join(folder).join(format!("{name}.class"));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let length = u8::try_from(name.len()).unwrap();
            fs::write(path, [&[1, 0, length], name.as_bytes(), &[7]].concat()).unwrap();
        }

        fn own(&self, line: &str) -> Vec<String> {
            let around = Surroundings {
                root: "/".into(),
                directory: self.0.path().into(),
                class_path: None,
            };
            of_java(&line.split(' ').map(OsString::from).collect::<Vec<_>>(), &around)
        }
    }

    #[test]
    fn an_archive_with_a_loader_of_its_own_is_what_it_starts() {
        let place = Place::new();
        for (name, inner) in [("boot.jar", "BOOT-INF"), ("boot.war", "WEB-INF")] {
            place.jar(
                name,
                &[
                    (MANIFEST, "Main-Class: org.springframework.boot.loader.launch.JarLauncher\nStart-Class: com.app.web.App\n"),
                    ("org/springframework/boot/loader/launch/JarLauncher.class", ""),
                    (&format!("{inner}/classes/com/app/web/App.class"), ""),
                    (&format!("{inner}/classes/other/Model.class"), ""),
                    (&format!("{inner}/lib/spring-core.jar"), ""),
                ],
            );
            assert_eq!(place.own(&format!("-jar {name}")), ["com.app.**", "other.**"]);
        }
        place.class("x/BOOT-INF/classes", "demo/App");
        place.class("x", "org/springframework/boot/loader/launch/JarLauncher");
        assert_eq!(
            place.own("-cp x org.springframework.boot.loader.launch.JarLauncher"),
            ["demo.**"]
        );
    }

    #[test]
    fn a_jar_is_own_and_libraries_in_it_are_not() {
        let place = Place::new();
        let manifest = (MANIFEST, "Main-Class: com.app.web.Main\n");
        let own = [
            manifest,
            ("com/app/web/Main.class", ""),
            ("model/Order.class", ""),
            ("module-info.class", ""),
        ];
        place.jar("plain.jar", &own);
        assert_eq!(place.own("-jar plain.jar"), ["com.app.**", "model.**"]);
        let artifacts = ["META-INF/maven/a/a/pom.properties", "META-INF/maven/b/b/pom.properties"];
        place.jar("fat.jar", &[own.as_slice(), &artifacts.map(|name| (name, ""))].concat());
        assert_eq!(place.own("-jar fat.jar"), ["com.app.**"]);
        let libraries = ["a.a.A", "b.b.B", "c.c.C"].map(|class| class.replace('.', "/") + ".class");
        let libraries: Vec<_> = libraries.iter().map(|name| (name.as_str(), "")).collect();
        place.jar("shaded.jar", &[own.as_slice(), &libraries].concat());
        assert_eq!(place.own("-jar shaded.jar"), ["com.app.**"]);
    }

    #[test]
    fn folders_and_the_jar_of_the_main_class_are_own() {
        let place = Place::new();
        place.jar("lib/app.jar", &[("com/app/Main.class", "")]);
        place.jar("lib/zlib.jar", &[("org/zlib/Z.class", "")]);
        place.class("classes", "util/U");
        place.class("classes", "Plain");
        assert_eq!(place.own("-cp classes:lib/* com.app.Main"), ["com.app.**", "util.**", "*"]);
        assert_eq!(place.own("-cp lib/app.jar:lib/zlib.jar com.app.Main"), ["com.app.**"]);
        place.jar(
            "thin.jar",
            &[(MANIFEST, "Main-Class: com.app.Main\nClass-Path: lib/zlib.jar lib/app.jar\n")],
        );
        assert_eq!(place.own("-jar thin.jar"), ["com.app.**"]);
        assert_eq!(place.own("-cp lib/zlib.jar com.app.Missing"), [""; 0]);
        fs::write(place.0.path().join("S.java"), "package a.b;\nclass S {}").unwrap();
        assert_eq!(place.own("S.java"), ["a.b.**"]);
    }

    #[test]
    fn a_module_is_a_folder_or_a_jar() {
        let place = Place::new();
        place.class("mods/app", "com/app/Main");
        fs::write(place.0.path().join("mods/app/module-info.class"), "").unwrap();
        place.jar("lib/my-app-1.0.jar", &[("com/other/Main.class", "")]);
        place.jar("lib/zlib-2.jar", &[("org/zlib/Z.class", "")]);
        assert_eq!(place.own("-p mods:lib -m app/com.app.Main"), ["com.app.**"]);
        assert_eq!(place.own("-p mods -m app"), ["com.app.**"]);
        assert_eq!(place.own("-p lib -m my.app"), ["com.other.**"]);
        assert_eq!(place.own("-p lib -m my.app/com.other.Main"), ["com.other.**"]);
        assert_eq!(place.own("-m image/com.third.x.Main"), ["com.third.**"]);
        assert_eq!(place.own("-m jdk.compiler/com.sun.tools.javac.Main"), [""; 0]);
    }

    #[test]
    fn a_runner_is_not_the_application() {
        let place = Place::new();
        place.jar(
            "junit.jar",
            &[
                (MANIFEST, "Main-Class: org.junit.platform.console.ConsoleLauncher\n"),
                ("org/junit/platform/console/ConsoleLauncher.class", ""),
            ],
        );
        place.class("classes", "shop/CartTest");
        assert_eq!(place.own("-jar junit.jar execute -cp classes --scan-class-path"), ["shop.**"]);
        assert_eq!(place.own("-jar junit.jar execute"), [""; 0]);
        place.jar(
            "q/quarkus-run.jar",
            &[(MANIFEST, "Main-Class: io.quarkus.bootstrap.runner.QuarkusEntryPoint\n")],
        );
        place.jar("q/app/shop-1.jar", &[("org/acme/Shop.class", "")]);
        assert_eq!(place.own("-jar q/quarkus-run.jar"), ["org.acme.**"]);
    }

    #[test]
    fn packages_of_one_publisher_share_their_first_names() {
        for (package, expected) in [
            ("com.app.web.x", "com.app"),
            ("org.springframework.samples.petclinic", "org.springframework.samples"),
            ("demo", "demo"),
            ("", ""),
        ] {
            assert_eq!(publisher(package), expected);
        }
        assert_eq!(package_of_file("META-INF/versions/11/a/B.class").as_deref(), Some("a"));
        assert_eq!(package_of_file("META-INF/x.class"), None);
    }
}
