//! Sharing: a file goes into the room's context, whole and never over another, and its recipients are told of it.

use super::send::{self, Draft, Sent};
use super::{attach, files};
use crate::base::error::{Doing, Error, Result};
use crate::base::limits;
use crate::disk::{self, Dir, file_meta, layout};
use crate::message::address::quoted;
use crate::message::id;
use crate::message::record::{Hash, hex};
use crate::query::identity::Who;
use crate::room::Room;
use crate::room::settings::Settings;
use rustix::fs::FileType;
use serde::Serialize;
use serde_json::json;
use std::fs::File;
use std::path::{Path, PathBuf};

/// What is to be shared, and how.
#[derive(Debug, Default)]
pub struct Wish {
    /// The file.
    pub file: PathBuf,
    /// The directory of the context that it goes to.
    pub category: String,
    /// Who is told; nobody named means all.
    pub to: Vec<String>,
    /// A word about it.
    pub note: Option<String>,
    /// What kind of file it is, where its name doesn't tell.
    pub media_type: Option<String>,
}

/// A file that stands in the context.
#[derive(Debug, Serialize)]
pub struct Artifact {
    /// Its path below the context, as messages name it.
    pub path: String,
    /// Its path here.
    pub file: PathBuf,
    /// The digest of its content.
    pub sha256: String,
    /// Its size in bytes.
    pub size: u64,
    /// Did the same content stand there already?
    pub already: bool,
    /// Has it another name than it had, because another file has that?
    pub renamed: bool,
}

/// Puts a file into the context and announces it. Nothing is put there if the announcement would be refused.
pub fn share(room: &Room, who: &Who, wish: Wish) -> Result<(Artifact, Sent)> {
    let opened = open(&wish.file)?;
    share_opened(room, who, wish, opened)
}

/// As [`share`], for a file that was opened before, with its name.
pub fn share_opened(room: &Room, who: &Who, wish: Wish, opened: (String, File)) -> Result<(Artifact, Sent)> {
    let Wish { category, to, note, media_type, .. } = wish;
    if !id::is_name(&category) {
        return Err(Error::Usage {
            what: format!("{} can't be a category", quoted(&category)),
            cure: "take a name such as research: letters, digits, `.`, `_` and `-`, 64 at most".into(),
        });
    }
    let (name, source) = opened;
    let draft = Draft {
        to: if to.is_empty() { vec!["all".into()] } else { to },
        kind: Some("announcement".into()),
        subject: Some(format!("{category}: {name}")),
        body: note,
        metadata: vec![("category".into(), category.clone())],
        ..Draft::default()
    };
    let attached = |path: &str, digest: &str| {
        let guess = || mime_guess::from_path(&name).first_or_octet_stream().to_string();
        json!({"path": path, "sha256": digest, "media_type": media_type.clone().unwrap_or_else(guess)})
    };
    let wanted = attached(&format!("{category}/{name}"), &hex(&Hash::default()));
    send::check(room, who, Draft { raw_attachments: vec![wanted], ..draft.clone() })?;
    let artifact = put(room, &room.settings()?, &category, &name, source)?;
    let attachment = attached(&artifact.path, &artifact.sha256);
    let sent = send::send(room, who, Draft { raw_attachments: vec![attachment], ..draft })?;
    Ok((artifact, sent))
}

/// The name of a regular file, and the file. What is behind a link might be anything, now or later.
fn open(file: &Path) -> Result<(String, File)> {
    let refused = |why: &str, cure: &str| Error::Usage {
        what: format!("can't share {}: it {why}", quoted(&file.display().to_string())),
        cure: cure.into(),
    };
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Some(name) = file.file_name() else { return Err(refused("is no file", "name a file")) };
    let Some(text) = name.to_str() else { return Err(refused("has a name that is not UTF-8", "give it another name")) };
    let missing =
        || Error::NotFound { what: format!("there is no file {}", file.display()), cure: "check its path".into() };
    let dir = Dir::open(parent).map_err(|e| if e.errno() == Some(libc::ENOENT) { missing() } else { e })?;
    match dir.stat(name)?.map(|meta| meta.kind) {
        None => return Err(missing()),
        Some(FileType::RegularFile) => {}
        Some(FileType::Symlink) => return Err(refused("is a symbolic link", "share the file that it leads to")),
        Some(FileType::Directory) => return Err(refused("is a directory", "pack it, for example with tar")),
        Some(_) => return Err(refused("is no regular file", "copy what it holds into one")),
    }
    let source = dir.look(name)?;
    match file_meta(&source).doing("look at", file)?.kind {
        FileType::RegularFile => Ok((text.to_owned(), source)),
        _ => Err(refused("was replaced meanwhile", "try again")),
    }
}

/// Copies a file into a category, under its own name or, where another file has that, under a numbered one.
fn put(room: &Room, settings: &Settings, category: &str, name: &str, source: File) -> Result<Artifact> {
    let dir = context(room, settings)?.make(category)?;
    let mut draft = disk::Draft::new(&dir, &shared_draft(&id::mint()))?;
    draft.narrow(file_meta(&source).doing("look at", draft.path())?.mode)?;
    let digest = attach::copy(source, &mut draft).doing("copy into", draft.path())?;
    draft.sync()?;
    let mut number = 1;
    let (kept, already) = loop {
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
    Ok(Artifact {
        path: format!("{category}/{kept}"),
        file: dir.at(&kept),
        sha256: hex(&digest),
        size: draft.written(),
        already,
        renamed: number > 1,
    })
}

/// The directory of shared files. The room's own is made if it is missing; one elsewhere is somebody else's to make.
fn context(room: &Room, settings: &Settings) -> Result<Dir> {
    let path = files::context(room, settings);
    match Dir::open(&path) {
        Err(e) if e.errno() == Some(libc::ENOENT) && Path::new(&settings.context).is_relative() => {
            room.dir.make(&settings.context)
        }
        Err(e) if e.errno() == Some(libc::ENOENT) => Err(Error::NotFound {
            what: format!("the room's context {} is not there", path.display()),
            cure: format!("make the directory, or change `context` in {}", layout::SETTINGS),
        }),
        dir => dir,
    }
}

/// Is this a regular file with this content?
fn is_same(dir: &Dir, name: &str, size: u64, digest: &Hash) -> Result<bool> {
    match dir.stat(name)? {
        Some(meta) if meta.kind == FileType::RegularFile && meta.size == size => {
            Ok(attach::hash(dir.look(name)?).doing("read", dir.at(name))? == *digest)
        }
        _ => Ok(false),
    }
}

/// The name of a shared file that is not in its place yet.
fn shared_draft(id: &str) -> String {
    format!(".tmp-{id}")
}

/// The name of the `number`th file of this name: `notes.md`, `notes-2.md`, `notes-3.md`, never too long for a name.
fn numbered(name: &str, number: u32) -> String {
    if number <= 1 {
        return name.to_owned();
    }
    let path = Path::new(name);
    let text = |part: Option<&std::ffi::OsStr>| part.and_then(|part| part.to_str()).unwrap_or_default().to_owned();
    let (mut stem, end) = match path.extension() {
        Some(_) => (text(path.file_stem()), format!("-{number}.{}", text(path.extension()))),
        None => (name.to_owned(), format!("-{number}")),
    };
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
        assert!(long.ends_with("é-10.md") && long.len() <= limits::FILE_NAME, "{long}");
    }
}
