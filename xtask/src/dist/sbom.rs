//! The bill of materials: which libraries the programs contain, in the format CycloneDX 1.5.

use serde_json::{Value, json};

use super::dependencies::Package;

/// Returns the bill of materials of flow, which consists of `packages`. `roots` are the packages of its programs.
pub(super) fn cyclonedx(version: &str, packages: &[Package], roots: &[&str]) -> String {
    let mut dependencies: Vec<Value> = packages
        .iter()
        .map(|package| {
            let uses: Vec<_> = package.uses.iter().map(|&index| url(&packages[index])).collect();
            json!({"ref": url(package), "dependsOn": uses})
        })
        .collect();
    let is_root = |package: &&Package| package.is_own && roots.contains(&package.name.as_str());
    let uses: Vec<_> = packages.iter().filter(is_root).map(url).collect();
    dependencies.insert(0, json!({"ref": "flow", "dependsOn": uses}));
    let bill = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": "flow",
                "name": "flow",
                "version": version,
                "licenses": [{"expression": "MIT OR Apache-2.0"}],
            },
        },
        "components": packages.iter().map(component).collect::<Vec<_>>(),
        "dependencies": dependencies,
    });
    format!("{bill:#}\n")
}

/// Returns the package URL, by which vulnerabilities are looked up.
fn url(package: &Package) -> String {
    // In a URL, a plus would be a space.
    format!("pkg:cargo/{}@{}", package.name, package.version.replace('+', "%2B"))
}

fn component(package: &Package) -> Value {
    let mut component = json!({
        "type": "library",
        "bom-ref": url(package),
        "name": package.name,
        "version": package.version,
        "purl": url(package),
    });
    if let Some(licence) = &package.licence {
        component["licenses"] = json!([{"expression": licence}]);
    }
    if let Some(checksum) = &package.checksum {
        component["hashes"] = json!([{"alg": "SHA-256", "content": checksum}]);
    }
    if let Some(repository) = &package.repository {
        component["externalReferences"] = json!([{"type": "vcs", "url": repository}]);
    }
    component
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_have_what_scanners_look_for() {
        let package = |name: &str, version: &str, is_own, uses| Package {
            name: name.to_owned(),
            version: version.to_owned(),
            licence: Some("MIT".to_owned()),
            repository: None,
            is_own,
            directory: "/".into(),
            checksum: (!is_own).then(|| "abc".to_owned()),
            uses,
        };
        let packages = [
            package("flow-cli", "0.1.0", true, vec![1]),
            package("zstd", "2.1+z.1", false, vec![]),
        ];
        let bill = cyclonedx("0.1.0", &packages, &["flow-cli"]);
        let bill: Value = serde_json::from_str(&bill).unwrap();
        assert_eq!(bill["components"][1]["purl"], "pkg:cargo/zstd@2.1%2Bz.1");
        assert_eq!(bill["components"][1]["hashes"][0]["content"], "abc");
        assert_eq!(bill["components"][1]["licenses"][0]["expression"], "MIT");
        assert_eq!(bill["components"][0]["hashes"], Value::Null);
        let depends = |index: usize| bill["dependencies"][index]["dependsOn"].clone();
        assert_eq!(depends(0), json!(["pkg:cargo/flow-cli@0.1.0"]));
        assert_eq!(depends(1), json!(["pkg:cargo/zstd@2.1%2Bz.1"]));
        assert_eq!(depends(2), json!([]));
    }
}
