//! The manifest of a trace: `trace.json`.

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};

use flow_codec::TraceId;
use flow_codec::format::manifest::{self, AskedLoader, End, Jvm, Manifest, VERSION, boot_id};

use crate::options::{CommandLine, Durability, Options};
use crate::sink::host;

/// The size reserved on disk for the final manifest, which is needed most when the disk is full.
pub(super) const END_MANIFEST_BYTES: usize = 16 * 1024;

/// Makes the manifest fit into the reserved file: there may be no other space. Counts stay.
pub(super) fn shorten(manifest: &mut Manifest) {
    let Some(end) = &mut manifest.end else { return };
    let too_long =
        |end: &End| serde_json::to_vec(end).map_or(0, |text| text.len()) > END_MANIFEST_BYTES / 2;
    if too_long(end) {
        end.not_recorded.iter_mut().for_each(|entry| entry.methods.clear());
        let requests = end.asked_loaders.iter().map(|asked| asked.requests).sum();
        end.asked_loaders.truncate(1);
        end.filters.clear();
        end.unmatched.clear();
        end.asked_loaders
            .iter_mut()
            .for_each(|asked| *asked = AskedLoader { class: "*".to_owned(), requests });
    }
}

/// A number that no other recording has. The keys of the hash are random, from the system.
pub(super) fn new_id() -> TraceId {
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    hasher.write_u128(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos());
    TraceId::new(hasher.finish()).unwrap_or(TraceId::ONE)
}

pub(super) fn manifest(
    options: &Options,
    jvm: Jvm,
    session: Option<String>,
    id: TraceId,
) -> Manifest {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Manifest {
        format_version: VERSION,
        id: Some(id),
        tool: format!("flow-agent {}", env!("CARGO_PKG_VERSION")),
        engine: options.engine.name().to_owned(),
        event_format: options.format.name().to_owned(),
        timing: options.clock,
        order: options.order,
        own: options.own.clone(),
        options: options.set.clone().into_iter().collect::<BTreeMap<_, _>>(),
        pid: std::process::id(),
        host: host(),
        command: match options.command {
            CommandLine::Full => command_line(),
            CommandLine::Masked => crate::secrets::mask_all(&command_line()),
            CommandLine::None => Vec::new(),
        },
        jvm,
        session,
        earlier: None,
        journal: None,
        spill: None,
        durability: match options.durability {
            Durability::Process => None,
            Durability::System { period } => {
                Some(manifest::Durability { period, boot: boot_id().unwrap_or_default() })
            }
        },
        start_unix_ns: u64::try_from(since_1970.as_nanos()).unwrap_or(u64::MAX),
        snapshot: None,
        end: None,
    }
}

/// The command line of this process, if the system knows it.
fn command_line() -> Vec<String> {
    let Ok(bytes) = std::fs::read("/proc/self/cmdline") else {
        return Vec::new();
    };
    let text = String::from_utf8_lossy(&bytes);
    text.split_terminator('\0').map(str::to_owned).collect()
}

pub(super) fn manifest_text(manifest: &Manifest) -> std::io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(manifest)?;
    text.push(b'\n');
    Ok(text)
}
