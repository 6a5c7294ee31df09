//! Attachments: a file below the room's context is attached by path, any other file is copied into the message.

use super::files::{context, find};
use super::permitted::{self, PermittedFile};
use crate::base::error::{Error, ErrorContext, Result};
use crate::base::hash::{hash_stream, hex};
use crate::base::limits;
use crate::disk::Dir;
use crate::disk::paths::PathQuestions;
use crate::room::Room;
use crate::room::settings::Settings;
use serde_json::{Value, json};
use std::io::Read;
use std::path::{Path, PathBuf};

/// The advice for a file that cannot be copied into a message.
const FROM_CONTEXT: &str = "copy it below the room's context/ and attach that copy";

/// The attachment for a file: `{path, sha256}` below the room's context, `{name, content}` otherwise.
pub fn attach(room: &Room, settings: &Settings, file: &Path) -> Result<Value> {
    let whole = find(file)?;
    let context = context(room, settings).real_path();
    match context
        .ok()
        .and_then(|context| whole.strip_prefix(context).map(PathBuf::from).ok())
    {
        Some(path) => named(&whole, &path),
        None => copied(&whole, file),
    }
}

/// As [`attach`], for a path from an untrusted text, such as a command's output or a model's tool call.
pub fn attach_permitted(room: &Room, settings: &Settings, file: &Path) -> Result<Value> {
    let PermittedFile {
        name,
        path,
        in_context,
        file: opened,
    } = permitted::open(room, settings, file)?;
    match in_context.as_deref().map(Path::to_str) {
        Some(Some(below)) => {
            Ok(json!({"path": below, "sha256": hex(&hash_stream(opened).doing("read", &path)?.0)}))
        }
        Some(None) => Err(not_a_text(file, "has a name that is not UTF-8")),
        None => {
            let mut bytes = Vec::new();
            opened
                .take(limits::ATTACH_BYTES + 1)
                .read_to_end(&mut bytes)
                .doing("read", &path)?;
            if bytes.len() as u64 > limits::ATTACH_BYTES {
                return Err(too_large(file, "is too large"));
            }
            let content = String::from_utf8(bytes);
            let content = content
                .map_err(|_| not_a_text(file, &format!("is not UTF-8 text; {FROM_CONTEXT}")))?;
            Ok(json!({"name": name, "content": content}))
        }
    }
}

/// Reads a file that [`files::find`](super::files::find) found. It must be a regular file of at most `most` bytes.
pub fn read(whole: &Path, most: u64) -> Result<Vec<u8>> {
    let (Some(parent), Some(name)) = (whole.parent(), whole.file_name()) else {
        return Err(not_a_text(whole, "is not a file"));
    };
    let bytes = Dir::open(parent)?.read(name, most)?;
    bytes.ok_or_else(|| not_a_text(whole, "no longer exists"))
}

fn named(whole: &Path, path: &Path) -> Result<Value> {
    let (Some(parent), Some(name), Some(text)) = (whole.parent(), whole.file_name(), path.to_str())
    else {
        return Err(not_a_text(whole, "has a name that is not UTF-8"));
    };
    let file = Dir::open(parent)?.look(name)?;
    Ok(json!({"path": text, "sha256": hex(&hash_stream(file).doing("read", whole)?.0)}))
}

fn copied(whole: &Path, file: &Path) -> Result<Value> {
    let bytes = read(whole, limits::ATTACH_BYTES).map_err(|e| match e {
        Error::State { what, .. } => too_large(file, &what),
        other => other,
    })?;
    let name = whole.file_name().and_then(|name| name.to_str());
    match (name, String::from_utf8(bytes)) {
        (Some(name), Ok(content)) => Ok(json!({"name": name, "content": content})),
        _ => Err(not_a_text(
            file,
            &format!("is not UTF-8 text; {FROM_CONTEXT}"),
        )),
    }
}

fn too_large(file: &Path, what: &str) -> Error {
    let what = format!("cannot copy {} into a message: it {what}", file.display());
    Error::usage(
        format!("{what} (maximum {} KiB)", limits::ATTACH_BYTES >> 10),
        FROM_CONTEXT,
    )
}

fn not_a_text(file: &Path, what: &str) -> Error {
    Error::usage(
        format!("cannot attach {}", file.display()),
        format!("it {what}"),
    )
}
