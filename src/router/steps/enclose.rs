//! What goes along with a message to another room, in step 5: the texts of attached files, within a bound. They become part
//! of the record, so that the item follows from the log alone, also when the files are gone.

use crate::base::error::{Doing, Error, Problem, Result};
use crate::base::hash::is_hash_of;
use crate::base::limits;
use crate::base::text::quoted;
use crate::disk::{Dir, Meta, file_meta, layout};
use crate::message::Message;
use crate::message::id::tag_of;
use crate::message::link::{Enclosed, size};
use crate::message::record::Group;
use crate::router::parts::Config;
use rustix::fs::FileType;
use serde_json::Value;
use std::io::Read;
use std::path::Path;

/// The texts of the files that a message attaches, if it goes to another room. A message that cannot cross is rejected.
pub(super) fn enclose(
    config: &Config,
    agent: &str,
    message: &Message,
    to: &[Group],
) -> Result<Result<Vec<Enclosed>, Vec<Problem>>> {
    let far: usize = to
        .iter()
        .flat_map(|group| &group.agents)
        .filter(|to| tag_of(to).is_some())
        .map(|to| to.len())
        .sum();
    if far == 0 {
        return Ok(Ok(Vec::new()));
    }
    let mut enclosed: Vec<Enclosed> = Vec::new();
    let mut room = limits::ENCLOSED_BYTES;
    let attachments = message
        .fields()
        .get("attachments")
        .and_then(Value::as_array);
    for (n, attachment) in attachments.into_iter().flatten().enumerate() {
        let Some(path) = attachment.get("path").and_then(Value::as_str) else {
            continue;
        };
        let digest = attachment.get("sha256").and_then(Value::as_str);
        match text(config, agent, (path, digest), room)? {
            Ok(content) => {
                room -= content.len() as u64;
                enclosed.push(Enclosed {
                    path: path.to_owned(),
                    content,
                });
            }
            Err(why) => {
                let what = format!(
                    "the attached file {} cannot go to another room: {why}",
                    quoted(path)
                );
                let fix = "put what the other room needs into the body";
                return Ok(Err(vec![
                    Problem::new("stays_in_room", what)
                        .at(format!("/attachments/{n}"))
                        .fix(fix),
                ]));
            }
        }
    }
    let bytes = size(message, &enclosed) + far as u64;
    if bytes > limits::CROSSING_BYTES {
        let what = format!(
            "the message has {bytes} bytes for another room; the limit is {}",
            limits::CROSSING_BYTES
        );
        return Ok(Err(vec![
            Problem::new("too_large", what).fix("send a shorter message"),
        ]));
    }
    Ok(Ok(enclosed))
}

/// The text of a file in the room's context, or why it has none that can be sent. The file is read once, as it is now.
fn text(
    config: &Config,
    agent: &str,
    (path, digest): (&str, Option<&str>),
    most: u64,
) -> Result<Result<String, String>> {
    let sent = |why: &str| Ok(Err(why.to_owned()));
    let (bytes, meta) = match open(config, Path::new(path), most) {
        Ok(read) => read,
        Err(e) => {
            return if is_passing(&e) {
                Err(e)
            } else {
                Ok(Err(e.to_string()))
            };
        }
    };
    if meta.kind != FileType::RegularFile {
        return sent("it is not a regular file");
    }
    // The router may be able to read what the sender cannot.
    let owner = config.registry().agent(agent).and_then(|agent| agent.uid);
    if owner.is_some_and(|uid| uid != meta.uid && meta.mode & 0o004 == 0) {
        return sent("its owner has not made it readable for all");
    }
    if bytes.len() as u64 > most {
        return Ok(Err(format!(
            "the attached files of a message may have {} bytes together",
            limits::ENCLOSED_BYTES
        )));
    }
    if digest.is_some_and(|digest| !is_hash_of(digest, &bytes)) {
        return sent("it has changed since it was attached");
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Ok(text)),
        Err(_) => sent("it is not UTF-8 text"),
    }
}

/// The file, and one byte more than `most` of it.
fn open(config: &Config, path: &Path, most: u64) -> Result<(Vec<u8>, Meta)> {
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
    let meta = file_meta(&file).doing_in("look at", dir.path(), name)?;
    let mut bytes = Vec::new();
    if meta.kind == FileType::RegularFile {
        file.take(most + 1)
            .read_to_end(&mut bytes)
            .doing_in("read", dir.path(), name)?;
    }
    Ok((bytes, meta))
}

/// Is it an error of the machine at this moment, and not of the file?
fn is_passing(e: &Error) -> bool {
    matches!(
        e.errno(),
        Some(libc::EIO | libc::EINTR | libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::ESTALE)
    )
}
