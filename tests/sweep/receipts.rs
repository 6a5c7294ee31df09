//! The receipts in the log: a copy that was seen is not in its inbox, after any kill or power cut.

use super::ledger::Figures;
use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::Path;

/// Looks at a room as a kill or a cut left it, before any recipient does something more.
pub(crate) fn check(room: &Path, figures: &mut Figures) -> io::Result<()> {
    crate::claims::ledger::Ledger::of(room);
    let mut names: HashMap<u64, String> = HashMap::new();
    let mut logs: Vec<_> = fs::read_dir(room.join("log"))?.flatten().map(|entry| entry.path()).collect();
    logs.sort();
    for log in logs {
        for line in String::from_utf8_lossy(&fs::read(log)?).lines() {
            let Ok(record) = serde_json::from_str::<Value>(line) else { continue };
            let text = |field: &str| record[field].as_str().unwrap_or_default().to_owned();
            let at = text("at").replace(['-', ':'], "");
            let name = format!("{at}-{}-{}.json", text("from"), text("id"));
            names.insert(record["seq"].as_u64().unwrap_or(0), name);
            for climb in record["receipts"].as_array().into_iter().flatten().filter(|climb| climb["status"] == "seen") {
                let agent = climb["agent"].as_str().unwrap_or_default();
                for seq in climb["seqs"].as_array().into_iter().flatten().filter_map(Value::as_u64) {
                    // Archived copies are not checked.
                    let Some(name) = names.get(&seq) else { continue };
                    if room.join("inbox").join(agent).join(name).exists() {
                        figures.damaged(format!("{agent} is said to have seen {name}, which stands in its inbox"));
                    }
                }
            }
        }
    }
    Ok(())
}
