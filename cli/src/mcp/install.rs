//! Enters flow into the settings of clients that look for them in the folder of a project.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde_json::{Map, Value, json};

/// A client that has settings in the folder of a project.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Client {
    /// Claude Code: .mcp.json
    Claude,
    /// Cursor: .cursor/mcp.json
    Cursor,
    /// Visual Studio Code: .vscode/mcp.json
    Vscode,
}

impl Client {
    /// The file, below the folder of a project, and the name of its object of servers.
    fn file(self) -> (&'static str, &'static str) {
        match self {
            Self::Claude => (".mcp.json", "mcpServers"),
            Self::Cursor => (".cursor/mcp.json", "mcpServers"),
            Self::Vscode => (".vscode/mcp.json", "servers"),
        }
    }
}

/// Enters flow into the settings of a client; other servers there are kept. Returns the file.
///
/// # Errors
/// The file is no JSON object, or cannot be read or written: a message. Then it is unchanged.
pub(crate) fn install(
    client: Client,
    project: &Path,
    program: &str,
    arguments: &[String],
) -> Result<PathBuf, String> {
    let (file, servers) = client.file();
    let path = project.join(file);
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let mut settings = match fs::read_to_string(&path) {
        Ok(text) if text.trim().is_empty() => Map::new(),
        Ok(text) => serde_json::from_str(&text).map_err(|error| {
            let add = json!({"flow": {"command": program, "args": arguments}});
            failed(&format_args!(
                "expected a JSON object ({error}); add {add} to {servers} by hand"
            ))
        })?,
        Err(error) if error.kind() == ErrorKind::NotFound => Map::new(),
        Err(error) => return Err(failed(&error)),
    };
    let entry = settings.entry(servers).or_insert_with(|| Value::Object(Map::new()));
    let Some(entry) = entry.as_object_mut() else {
        return Err(failed(&format_args!("{servers} is no object")));
    };
    entry
        .insert("flow".to_owned(), json!({"type": "stdio", "command": program, "args": arguments}));
    let text = serde_json::to_string_pretty(&settings).map_err(|error| failed(&error))?;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| failed(&error))?;
    }
    // The file is the old one or the new one, whenever this ends.
    let temporary = path.with_extension("json.new");
    fs::write(&temporary, text + "\n").map_err(|error| failed(&error))?;
    fs::rename(&temporary, &path).map_err(|error| failed(&error))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_servers_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(".vscode/mcp.json");
        fs::create_dir(dir.path().join(".vscode")).unwrap();
        fs::write(&file, r#"{"servers": {"other": {"command": "x"}}, "inputs": []}"#).unwrap();
        let arguments = ["mcp".to_owned()];
        install(Client::Vscode, dir.path(), "flow", &arguments).unwrap();
        install(Client::Vscode, dir.path(), "flow", &arguments).unwrap();
        let settings: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!(settings["servers"]["other"]["command"], "x");
        assert_eq!(settings["servers"]["flow"]["args"][0], "mcp");
        assert!(settings["inputs"].is_array());
    }

    #[test]
    fn a_file_that_is_no_json_stays_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(".mcp.json");
        fs::write(&file, "// mine").unwrap();
        let error = install(Client::Claude, dir.path(), "flow", &[]).unwrap_err();
        assert!(error.contains(".mcp.json: expected a JSON object"), "{error}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "// mine");
    }
}
