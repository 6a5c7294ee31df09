//! Other programs: an agent, a person, a check of a test. Their changes are durable immediately, and their paths may lead
//! over links.

use super::disk::{Change, Content, Disk, Id, Inode, Name, ROOT};
use super::machine::{Inner, Machine};
use super::paths;
use super::state::Durability;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file as a test sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Node {
    Directory,
    File(Vec<u8>),
    Link(PathBuf),
}

impl Machine {
    /// Everything below a directory, by its whole path.
    pub(crate) fn tree(&self, below: &Path) -> BTreeMap<PathBuf, Node> {
        let inner = self.lock();
        let disk = &inner.now.now;
        let mut tree = BTreeMap::new();
        if let Ok((id, _)) = paths::follow(disk, ROOT, below) {
            collect(disk, id, below, &mut tree);
        }
        tree
    }

    /// The content of a file. `None` if the file does not exist.
    pub(crate) fn read(&self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        let inner = self.lock();
        let (id, _) = paths::follow(&inner.now.now, ROOT, path.as_ref()).ok()?;
        match &inner.now.now.get(id).content {
            Content::File(bytes) => Some(bytes.clone()),
            _ => None,
        }
    }

    pub(crate) fn exists(&self, path: impl AsRef<Path>) -> bool {
        let inner = self.lock();
        paths::find(&inner.now.now, ROOT, path.as_ref()).is_ok()
    }

    /// Writes a whole file in one step, and makes missing directories.
    pub(crate) fn write(&self, path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
        let (path, bytes) = (path.as_ref(), bytes.as_ref().to_vec());
        let mut inner = self.lock();
        match paths::follow(&inner.now.now, ROOT, path) {
            Ok((file, _)) => inner.outside(Change::Put { file, bytes }, &[path]),
            Err(_) => inner.make_outside(path, Content::File(bytes), 0o644),
        }
    }

    /// Makes a directory and those above it.
    pub(crate) fn make_directory(&self, path: impl AsRef<Path>) {
        self.lock().make_directories(path.as_ref());
    }

    pub(crate) fn link(&self, path: impl AsRef<Path>, target: impl AsRef<Path>) {
        let target = Content::Link(target.as_ref().to_owned());
        self.lock().make_outside(path.as_ref(), target, 0o777);
    }

    /// Removes a file, or a directory with everything in it. It must exist.
    pub(crate) fn remove(&self, path: impl AsRef<Path>) {
        let mut inner = self.lock();
        let (at, inode) = inner.named(path.as_ref());
        inner.outside(Change::Remove { at, inode }, &[path.as_ref()]);
    }

    /// Moves a file or directory, and replaces a file at the new path.
    pub(crate) fn rename(&self, path: impl AsRef<Path>, new: impl AsRef<Path>) {
        let mut inner = self.lock();
        let (from, inode) = inner.named(path.as_ref());
        let to = inner.place(new.as_ref());
        let change = Change::Rename {
            from,
            inode,
            replaced: inner.now.now.at(&to),
            to,
        };
        inner.outside(change, &[path.as_ref(), new.as_ref()]);
    }
}

impl Inner {
    fn outside(&mut self, change: Change, paths: &[&Path]) {
        let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
        self.step(change, &paths, Durability::Immediate);
    }

    /// The place of a path. Links in its directory are followed.
    fn place(&self, path: &Path) -> Name {
        let (above, name) = (path.parent(), path.file_name());
        let above = paths::follow(&self.now.now, ROOT, above.unwrap_or(Path::new("/")));
        let Ok((directory, _)) = above else {
            panic!("there is no directory for {}", path.display());
        };
        let name = name.expect("the path has a last part").to_owned();
        Name { directory, name }
    }

    fn named(&self, path: &Path) -> (Name, Id) {
        let place = self.place(path);
        match self.now.now.at(&place) {
            Some(id) => (place, id),
            None => panic!("there is no {}", path.display()),
        }
    }

    fn make_directories(&mut self, path: &Path) {
        if paths::follow(&self.now.now, ROOT, path).is_err() {
            let directory = Content::Directory(BTreeMap::new());
            self.make_outside(path, directory, 0o755);
        }
    }

    fn make_outside(&mut self, path: &Path, content: Content, mode: u32) {
        self.make_directories(path.parent().unwrap_or(Path::new("/")));
        let at = self.place(path);
        let when = self.time();
        let new = Arc::new(Inode::new(content, mode, when));
        let inode = self.now.now.next();
        self.outside(Change::Make { at, inode, new }, &[path]);
    }
}

fn collect(disk: &Disk, id: Id, path: &Path, tree: &mut BTreeMap<PathBuf, Node>) {
    let Ok(entries) = disk.entries(id) else {
        return;
    };
    for (name, child) in entries {
        let path = path.join(name);
        let node = match &disk.get(*child).content {
            Content::Directory(_) => Node::Directory,
            Content::File(bytes) => Node::File(bytes.clone()),
            Content::Link(target) => Node::Link(target.clone()),
        };
        collect(disk, *child, &path, tree);
        tree.insert(path, node);
    }
}
