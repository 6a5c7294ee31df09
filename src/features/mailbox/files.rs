//! The files of the mail on the disk: their places, their removal, and messages that were written into them.

use super::edits::{self, WrittenMessage};
use super::paths;
use crate::base::error::Result;
use crate::base::limits;
use crate::disk::{Dir, DraftFile, layout};
use crate::router::projections::ProjectionView;
use rustix::fs::FileType;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Removes the files of the queues, unless others have written to them.
pub(super) fn remove_queues(room: &Dir) -> Result<()> {
    let queues = match room.sub(paths::QUEUES) {
        Err(e) if matches!(e.errno(), Some(libc::ENOENT | libc::ENOTDIR)) => return Ok(()),
        queues => queues?,
    };
    for entry in queues.list()? {
        remove_own(&queues, &entry?.name)?;
    }
    Ok(())
}

/// Removes a file, unless it contains text that the router did not write.
pub(super) fn remove_own(dir: &Dir, name: &OsStr) -> Result<()> {
    let is_regular = dir
        .stat(name)?
        .is_some_and(|meta| meta.kind == FileType::RegularFile && meta.links == 1);
    let bytes = if is_regular {
        dir.read(name, limits::REGISTRY_BYTES)?
    } else {
        None
    };
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    if text.is_some_and(|text| edits::is_unchanged(&text)) {
        dir.remove(name)
    } else {
        Ok(())
    }
}

/// The directory of a file of the room, and the name in it.
pub(super) fn parts(room: &Dir, name: &OsStr, makes: bool) -> Result<(Dir, OsString)> {
    let path = Path::new(name);
    let file = path.file_name().unwrap_or(name).to_owned();
    match path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
    {
        Some(parent) if makes => Ok((room.make_loose(parent)?, file)),
        Some(parent) => Ok((room.sub(parent)?, file)),
        None => Ok((room.clone(), file)),
    }
}

/// Puts a message that an agent wrote into a file into its outbox, durable. An existing message file stays.
pub(super) fn drop_message(view: &ProjectionView<'_>, message: &WrittenMessage) -> Result<()> {
    let outbox = view.room().make(layout::outbox(&message.sender))?;
    let name = layout::message_file(message.fields["id"].as_str().unwrap_or_default());
    let hidden = layout::unsent(&name);
    outbox.remove(&hidden)?;
    let draft = DraftFile::write(
        &outbox,
        &hidden,
        &serde_json::to_vec(&message.fields).unwrap_or_default(),
    )?;
    match draft.put_synced(&name) {
        Ok(None) => Ok(()),
        Ok(Some(e)) => Err(e),
        Err(e) if e.errno() == Some(libc::EEXIST) => Ok(()),
        Err(e) => Err(e),
    }
}
