//! Shares a file: copies it into the room's context and announces it. Never overwrites another file.

use super::send::{self, MessageDraft, OutboxMessage};
use super::{files, permitted};
use crate::base::error::{Error, ErrorContext, Result};
use crate::base::hash::{Hash, hash_pieces, hash_stream, hex};
use crate::base::limits;
use crate::base::written_path::write_path;
use crate::disk::File;
use crate::disk::{self, Dir, layout};
use crate::message::address::quoted;
use crate::message::id;
use crate::query::identity::AgentIdentity;
use crate::room::Room;
use crate::room::actor::Actor;
use crate::room::settings::Settings;
use rustix::fs::FileType;
use serde::Serialize;
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A request to share a file.
#[derive(Debug, Default)]
pub struct ShareRequest {
    /// The file.
    pub file: PathBuf,
    /// The subdirectory of the context.
    pub category: String,
    /// Recipients of the announcement; empty means all.
    pub to: Vec<String>,
    /// Whether the paths of `owner:` addresses are read from the working directory.
    pub paths_from_here: bool,
    /// A note for the announcement.
    pub note: Option<String>,
    /// Media type, if the file name does not imply it.
    pub media_type: Option<String>,
}

/// A file in the context.
#[derive(Debug, Serialize)]
pub struct SharedArtifact {
    /// Its path below the context, as messages name it.
    pub path: String,
    /// Its path on this machine.
    #[serde(serialize_with = "write_path")]
    pub file: PathBuf,
    /// The digest of its content.
    pub sha256: String,
    /// Its size in bytes.
    pub size: u64,
    /// Whether the context already had the same content under this name.
    pub already_shared: bool,
    /// Whether the copy has another name, because another file has the original one.
    pub renamed: bool,
}

/// Copies a file into the context and announces it. Copies nothing if the announcement would be rejected.
pub fn share(
    room: &Room,
    who: &AgentIdentity,
    request: ShareRequest,
) -> Result<(SharedArtifact, OutboxMessage)> {
    let (name, file) = match Actor::of_this_process() {
        Actor::Person => open(&request.file)?,
        _ => {
            let permitted = permitted::open(room, &room.settings()?, &request.file)?;
            (permitted.name, permitted.file)
        }
    };
    share_opened(room, who, request, name, file)
}

/// As [`share`], for an open file and its name.
pub fn share_opened(
    room: &Room,
    who: &AgentIdentity,
    request: ShareRequest,
    name: String,
    source: File,
) -> Result<(SharedArtifact, OutboxMessage)> {
    let ShareRequest {
        category,
        to,
        paths_from_here,
        note,
        media_type,
        ..
    } = request;
    if !id::is_name(&category) {
        return Err(Error::usage(
            format!("{} is not a valid category", quoted(&category)),
            "use a name such as research: letters, digits, `.`, `_` and `-`, at most 64",
        ));
    }
    let draft = MessageDraft {
        to: if to.is_empty() {
            vec!["all".into()]
        } else {
            to
        },
        paths_from_here,
        kind: Some("announcement".into()),
        subject: Some(format!("{category}: {name}")),
        body: note,
        metadata: vec![("category".into(), category.clone())],
        ..MessageDraft::default()
    };
    let media_type = media_type.unwrap_or_else(|| {
        mime_guess::from_path(&name)
            .first_or_octet_stream()
            .to_string()
    });
    let mut attachment = json!({
        "path": format!("{category}/{name}"),
        "sha256": hex(&Hash::default()),
        "media_type": media_type,
    });
    send::check(
        room,
        who,
        MessageDraft {
            raw_attachments: vec![attachment.clone()],
            ..draft.clone()
        },
    )?;
    let artifact = put(room, &room.settings()?, &category, &name, source)?;
    attachment["path"] = json!(artifact.path);
    attachment["sha256"] = json!(artifact.sha256);
    let sent = send::send(
        room,
        who,
        MessageDraft {
            raw_attachments: vec![attachment],
            ..draft
        },
    )?;
    Ok((artifact, sent))
}

/// Opens a regular file. Links are rejected, because their target may change.
fn open(file: &Path) -> Result<(String, File)> {
    let parent = file
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let Some(name) = file.file_name() else {
        return Err(unsuitable(file, "is not a file", "pass a file"));
    };
    let Some(text) = name.to_str() else {
        return Err(unsuitable(
            file,
            "has a name that is not UTF-8",
            "rename it",
        ));
    };
    let dir = Dir::open(parent).map_err(|e| match e.errno() {
        Some(libc::ENOENT | libc::ENOTDIR) => files::missing(file),
        _ => e,
    })?;
    match dir.stat(name)?.map(|meta| meta.kind) {
        None => return Err(files::missing(file)),
        Some(FileType::RegularFile) => {}
        Some(FileType::Symlink) => {
            return Err(unsuitable(file, "is a symbolic link", "share its target"));
        }
        Some(FileType::Directory) => {
            let fix = "pack it first, for example with tar";
            return Err(unsuitable(file, "is a directory", fix));
        }
        Some(_) => {
            let fix = "copy its content into a regular file";
            return Err(unsuitable(file, "is not a regular file", fix));
        }
    }
    let source = dir.look(name)?;
    match source.meta().doing("look at", file)?.kind {
        FileType::RegularFile => Ok((text.to_owned(), source)),
        _ => Err(unsuitable(
            file,
            "was replaced while it was opened",
            "try again",
        )),
    }
}

fn unsuitable(file: &Path, why: &str, fix: &str) -> Error {
    let file = quoted(&file.display().to_string());
    Error::usage(format!("cannot share {file}: it {why}"), fix)
}

/// Copies a file into a category, under its own name, or a numbered one if another file has that name.
fn put(
    room: &Room,
    settings: &Settings,
    category: &str,
    name: &str,
    source: File,
) -> Result<SharedArtifact> {
    let dir = context(room, settings)?.make(category)?;
    let mut draft = disk::DraftFile::new(&dir, &shared_draft(&id::mint()))?;
    draft.narrow(source.meta().doing("look at", draft.path())?.mode)?;
    let (digest, _) =
        hash_pieces(source, |piece| draft.write_all(piece)).doing("copy into", draft.path())?;
    draft.sync()?;
    let mut number = 1;
    let (kept, already_shared) = loop {
        let candidate = numbered(name, number);
        if draft.try_place(&candidate)? {
            dir.sync()?;
            break (candidate, false);
        }
        if is_same(&dir, &candidate, draft.written(), &digest)? {
            break (candidate, true);
        }
        number += 1;
    };
    Ok(SharedArtifact {
        path: format!("{category}/{kept}"),
        file: dir.at(&kept),
        sha256: hex(&digest),
        size: draft.written(),
        already_shared,
        renamed: number > 1,
    })
}

/// The directory of shared files. A missing directory is created only inside the room.
fn context(room: &Room, settings: &Settings) -> Result<Dir> {
    let path = files::context(room, settings);
    match Dir::open(&path) {
        Err(e) if e.is_missing() && Path::new(&settings.context).is_relative() => {
            room.dir.make(&settings.context)
        }
        Err(e) if e.is_missing() => Err(Error::not_found(
            format!(
                "the room's context directory {} does not exist",
                path.display()
            ),
            format!("create it, or change `context` in {}", layout::SETTINGS),
        )),
        dir => dir,
    }
}

/// Whether this is a regular file with this content.
fn is_same(dir: &Dir, name: &str, size: u64, digest: &Hash) -> Result<bool> {
    match dir.stat(name)? {
        Some(meta) if meta.kind == FileType::RegularFile && meta.size == size => {
            Ok(hash_stream(dir.look(name)?).doing_in("read", dir.path(), name)? == (*digest, size))
        }
        _ => Ok(false),
    }
}

/// The temporary name of a shared file.
fn shared_draft(id: &str) -> String {
    format!(".tmp-{id}")
}

/// The name of the `number`th file with this name: `notes.md`, `notes-2.md`, `notes-3.md`. Long names are shortened.
fn numbered(name: &str, number: u32) -> String {
    if number <= 1 {
        return name.to_owned();
    }
    // A dot at the beginning is part of the stem.
    let (stem, end) = match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => (stem, format!("-{number}.{extension}")),
        _ => (name, format!("-{number}")),
    };
    let mut stem = stem.to_owned();
    while stem.len() + end.len() > limits::FILE_NAME && stem.pop().is_some() {}
    stem + &end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_numbered_name_keeps_its_end() {
        let names = ["notes.md", "notes", ".env", "a.tar.gz"].map(|name| numbered(name, 2));
        assert_eq!(names, ["notes-2.md", "notes-2", ".env-2", "a.tar-2.gz"]);
        let long = numbered(&("é".repeat(126) + ".md"), 10);
        assert!(
            long.ends_with("é-10.md") && long.len() <= limits::FILE_NAME,
            "{long}"
        );
    }
}
