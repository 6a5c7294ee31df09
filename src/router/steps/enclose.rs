//! The texts of attached files in a message to another room, within a limit, in step 5. They become part of the
//! record, so that the item follows from the log even if the files are gone.

use crate::base::error::{Error, ErrorContext, Problem, Result};
use crate::base::hash::is_hash_of;
use crate::base::limits;
use crate::base::text::quoted;
use crate::disk::{Dir, Meta, layout};
use crate::features::links::item::size;
use crate::message::Message;
use crate::message::carried::EnclosedFile;
use crate::message::id::tag_of;
use crate::message::record::RecipientGroup;
use crate::router::parts::RoomConfig;
use rustix::fs::FileType;
use serde_json::Value;
use std::io::Read;
use std::path::Path;

/// The largest message that crosses a link, in bytes of its item. Every carrier takes an item with it.
const CROSSING_BYTES: u64 = 3 << 20;
/// The size of attached files that cross with a message, in bytes.
const ENCLOSED_BYTES: u64 = limits::ATTACH_BYTES;
const _: () = assert!(ENCLOSED_BYTES < CROSSING_BYTES);
const _: () = assert!(
    CROSSING_BYTES + 160 * limits::RECEIPTS_OF_ITEM as u64 + limits::ITEM_MORE
        <= limits::FRAME_BYTES
);

/// The texts of files that a message to another room attaches. A message that cannot cross is rejected.
pub(super) fn enclose(
    config: &RoomConfig,
    message: &Message,
    to: &[RecipientGroup],
) -> Result<Result<Vec<EnclosedFile>, Vec<Problem>>> {
    let far: usize = to
        .iter()
        .flat_map(|group| &group.agents)
        .filter(|to| tag_of(to).is_some())
        .map(|to| to.len())
        .sum();
    if far == 0 {
        return Ok(Ok(Vec::new()));
    }
    let mut enclosed: Vec<EnclosedFile> = Vec::new();
    let mut room = ENCLOSED_BYTES;
    let attachments = message
        .fields()
        .get("attachments")
        .and_then(Value::as_array);
    for (n, attachment) in attachments.into_iter().flatten().enumerate() {
        let Some(path) = attachment.get("path").and_then(Value::as_str) else {
            continue;
        };
        let digest = attachment.get("sha256").and_then(Value::as_str);
        let content = match read_text(config, path, room)? {
            Ok(content) if digest.is_some_and(|digest| !is_hash_of(digest, content.as_bytes())) => {
                Err("it has changed since it was attached".to_owned())
            }
            content => content,
        };
        match content {
            Ok(content) => {
                room -= content.len() as u64;
                enclosed.push(EnclosedFile {
                    path: path.to_owned(),
                    content,
                });
            }
            Err(why) => {
                let what = format!(
                    "the attached file {} cannot go to another room: {why}",
                    quoted(path)
                );
                let fix = "put the text for the other room into the body";
                return Ok(Err(vec![
                    Problem::new("stays_in_room", what)
                        .at(format!("/attachments/{n}"))
                        .fix(fix),
                ]));
            }
        }
    }
    let bytes = size(message, &enclosed) + far as u64;
    if bytes > CROSSING_BYTES {
        let what = format!(
            "the message has {bytes} bytes for another room; the limit is {}",
            CROSSING_BYTES
        );
        return Ok(Err(vec![
            Problem::new("too_large", what).fix("send a shorter message"),
        ]));
    }
    Ok(Ok(enclosed))
}

/// The present text of a file in the room's context, or the reason why it cannot be sent.
fn read_text(config: &RoomConfig, path: &str, most: u64) -> Result<Result<String, String>> {
    let (bytes, meta) = match read_file(config, Path::new(path), most) {
        Ok(read) => read,
        Err(e) if is_passing(&e) => return Err(e),
        Err(e) => return Ok(Err(e.to_string())),
    };
    if meta.kind != FileType::RegularFile {
        return Ok(Err("it is not a regular file".into()));
    }
    if bytes.len() as u64 > most {
        return Ok(Err(format!(
            "the attached files of a message may have {} bytes together",
            ENCLOSED_BYTES
        )));
    }
    Ok(String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".into()))
}

/// Reads at most `most` bytes of a file, and one byte more.
fn read_file(config: &RoomConfig, path: &Path, most: u64) -> Result<(Vec<u8>, Meta)> {
    let context = Dir::open(&layout::below(
        config.dir().path(),
        config.settings().context.as_ref(),
    ))?;
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let dir = parent.map_or_else(|| Ok(context.clone()), |parent| context.sub(parent))?;
    let name = path.file_name().unwrap_or_default();
    let file = dir.look(name)?;
    let meta = file.meta().doing_in("look at", dir.path(), name)?;
    let mut bytes = Vec::new();
    if meta.kind == FileType::RegularFile {
        file.take(most + 1)
            .read_to_end(&mut bytes)
            .doing_in("read", dir.path(), name)?;
    }
    Ok((bytes, meta))
}

/// Returns true for a temporary error of the machine.
fn is_passing(e: &Error) -> bool {
    matches!(
        e.errno(),
        Some(libc::EIO | libc::EINTR | libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::ESTALE)
    )
}
