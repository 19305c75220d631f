//! Files by which other tools install a release: an image of Docker, a catalogue of JBang, a formula of Homebrew.

use super::platform::Platform;

const DOCKERFILE: &str = include_str!("Dockerfile");
const CATALOGUE: &str = include_str!("jbang-catalog.json");
const FORMULA: &str = include_str!("flow.rb");

/// Returns these files with their names, for archives with these SHA-256 sums.
pub(super) fn files(
    version: &str,
    homepage: &str,
    archives: &[(Platform, String)],
) -> [(&'static str, String); 3] {
    let download = |(platform, sum): &(Platform, String)| {
        // Homebrew has its own GNU C library.
        let processor = match platform {
            Platform::X86_64 => "intel",
            Platform::Aarch64 => "arm",
            _ => return None,
        };
        let file = format!("flow-{version}-{}.tar.gz", platform.name());
        Some(format!(
            "\n  on_{processor} do\n    url \"{homepage}/releases/{file}\"\n    sha256 \"{sum}\"\n  end\n"
        ))
    };
    let downloads: String = archives.iter().filter_map(download).collect();
    let formula = FORMULA.replace("{homepage}", homepage).replace("{version}", version);
    [
        ("Dockerfile", DOCKERFILE.replace("{version}", version)),
        ("jbang-catalog.json", CATALOGUE.to_owned()),
        ("flow.rb", formula.replace("{downloads}", &downloads)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_name_the_archives_of_a_release() {
        let platforms = [Platform::X86_64, Platform::Aarch64, Platform::X86_64Musl];
        let archives = platforms.map(|platform| (platform, format!("sum-{}", platform.name())));
        let [(_, image), (_, catalogue), (_, formula)] =
            files("1.2.3", "https://a.example", &archives);
        assert!(image.contains("ARG VERSION=1.2.3\nARG PLATFORM=x86_64-linux\n"), "{image}");
        let catalogue: serde_json::Value = serde_json::from_str(&catalogue).unwrap();
        assert_eq!(catalogue["aliases"]["flow"]["script-ref"], "flow-all.jar");
        let arm = "  on_arm do\n    url \"https://a.example/releases/flow-1.2.3-aarch64-linux.tar.gz\"\n    sha256 \
                   \"sum-aarch64-linux\"\n  end\n";
        assert!(formula.contains(arm) && !formula.contains("musl"), "{formula}");
        assert_eq!(formula.matches('{').count(), 1, "{formula}");
    }
}
