//! Everything else that a room keeps: the archive, text of others in derived files, shared files, whole copies of a room, consent.

use super::ending::{Tree, files, mail};
use super::story::Play;
use crate::sim::Node;
use mailbag::Room;
use mailbag::query::verify::verify;
use serde_json::{Map, Value};
use std::io::Read;
use std::path::Path;

/// The directories for copies of a room, by number.
pub(crate) const COPIES: &str = "/home/copy";
/// The most such directories.
pub(crate) const MOST_COPIES: usize = 4;
/// Where readers put their own copies of mail.
pub(crate) const READ: &str = "/home/read";
/// Text that no router writes.
pub(crate) const FOREIGN: &str = "written by somebody else";

/// The files of a room and the files in its archive, at their former paths.
pub(crate) fn with_archived(room: &Path, tree: &Tree) -> Result<Tree, String> {
    let mut all = tree.clone();
    let packs = files(tree, room.join("archive"));
    for (pack, bytes) in packs.filter(|(path, _)| path.to_string_lossy().ends_with(".tar.zst")) {
        let wrong = |e: std::io::Error| format!("{} is damaged: {e}", pack.display());
        let bytes = zstd::decode_all(bytes).map_err(wrong)?;
        for entry in tar::Archive::new(&*bytes).entries().map_err(wrong)? {
            let mut entry = entry.map_err(wrong)?;
            let path = room.join(entry.path().map_err(wrong)?);
            let mut content = Vec::new();
            entry.read_to_end(&mut content).map_err(wrong)?;
            let node = Node::File(content);
            if all
                .insert(path.clone(), node.clone())
                .is_some_and(|there| there != node)
            {
                return Err(format!("two contents of {} are kept", path.display()));
            }
        }
    }
    Ok(all)
}

/// Agents, text of others, and shared files. A compressed file has the name of its source.
pub(crate) fn others(room: &Path, tree: &Tree) -> Vec<String> {
    let mut things = Vec::new();
    if let Some(Node::File(registry)) = tree.get(&room.join("registry.json")) {
        let registry: Value = serde_json::from_slice(registry).unwrap_or_default();
        let agents = registry["agents"].as_array().into_iter().flatten();
        things.extend(agents.map(|agent| format!("{}: {agent}", room.display())));
    }
    // A killed command leaves its draft to the person.
    let is_draft = |path: &Path| path.to_string_lossy().contains("/.tmp-");
    for (path, _) in files(tree, room.join("context")).filter(|(path, _)| !is_draft(path)) {
        let name = path.to_string_lossy();
        things.push(name.strip_suffix(".zst").unwrap_or(&name).to_owned());
    }
    things
}

/// Everything outside rooms.
pub(crate) fn outside(play: &mut Play) -> Result<Vec<String>, String> {
    let tree = play.machine.tree(Path::new("/"));
    let mut things = Vec::new();
    // A killed reader leaves its draft.
    let is_draft = |path: &Path| path.starts_with(READ) && path.extension() == Some("tmp".as_ref());
    for (path, bytes) in files(&tree, "/").filter(|(path, _)| !is_draft(path)) {
        let (name, text) = (path.to_string_lossy(), String::from_utf8_lossy(bytes));
        if path.starts_with(READ) {
            things.push(format!("{name}: {text}"));
        } else if text.contains(FOREIGN) && !name.starts_with(COPIES) {
            let place = name.split(".kept-").next().unwrap_or_default();
            let kept = if place == name {
                "has"
            } else {
                "is kept beside, with"
            };
            things.push(format!("{place} {kept} the text of others"));
        } else if name.ends_with("/rooms.json") {
            let known: Value = serde_json::from_str(&text).map_err(|e| format!("{name}: {e}"))?;
            for room in known["rooms"].as_array().into_iter().flatten() {
                if !room["inode"].is_null() {
                    things.push(format!("created {}", room["path"]));
                }
                for key in room["agreed"].as_object().into_iter().flat_map(Map::keys) {
                    things.push(format!("consent to {key} of {}", room["path"]));
                }
            }
        }
    }
    for n in 1..=MOST_COPIES {
        let copy = format!("{COPIES}{n}");
        let copy = Path::new(&copy);
        if !is_whole(play, copy) {
            continue;
        }
        let tree = with_archived(copy, &play.machine.tree(copy))?;
        things.extend(
            mail(copy, &tree)
                .into_iter()
                .map(|thing| thing.replace(&format!("copy{n}"), "the copy")),
        );
        things.extend(
            files(&tree, copy.join("context"))
                .map(|(path, _)| format!("the copy has {:?}", path.file_name())),
        );
        let verified = play.as_process(|| Room::open(copy).and_then(|room| verify(&room)));
        verified.map_err(|e| format!("the log of {} is damaged: {e}", copy.display()))?;
    }
    Ok(things)
}

/// Whether a program would take the copy for a room.
fn is_whole(play: &Play, copy: &Path) -> bool {
    play.machine.exists(copy.join("spool/room")) && !play.machine.exists(copy.join("INCOMPLETE"))
}
