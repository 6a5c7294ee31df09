//! Paths as claims name them: relative to their repository, with symbolic links resolved.
//!
//! The repository of the room's parent directory is the room's own, in all its worktrees, and has no name. Any other
//! repository is named by its directory. If the room's parent is in no repository, the room's own paths are the files in
//! no repository, relative to the room's parent.

use super::Room;
use crate::base::error::{Error, Problem, Result};
use crate::disk::git::{self, Worktree};
use crate::disk::{layout, mounts};
use crate::message::address::quoted;
use crate::message::id;
use crate::message::subject::ClaimSubject;
use std::fmt;
use std::path::{Component, Path, PathBuf};

/// A path in a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryPath {
    /// The repository; `None` for the room's own.
    pub repository: Option<String>,
    /// The path relative to the top of the repository; empty for the top itself.
    pub path: String,
}

impl fmt::Display for RepositoryPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.repository {
            Some(repository) => write!(f, "{repository}:{}", self.path),
            None => f.write_str(&self.path),
        }
    }
}

/// The base of the room's paths.
pub struct RepositoryBase {
    /// The top of the room's repository, or the room's parent.
    top: PathBuf,
    own: Option<Worktree>,
}

impl RepositoryBase {
    /// The ground of a room.
    pub fn of(room: &Room) -> RepositoryBase {
        let path = git::resolved(room.dir.path());
        let parent = path.parent().unwrap_or(&path).to_path_buf();
        let own = Worktree::around(&parent);
        RepositoryBase {
            top: own.as_ref().map_or(parent, |own| own.top.clone()),
            own,
        }
    }

    /// The place of a file by its resolved path. `None` if the file is in no repository and outside the room's parent.
    pub fn place(&self, file: &Path) -> Option<RepositoryPath> {
        self.place_of(&git::resolved(file))
    }

    /// Every name of a file that a claim may have: with symbolic links and without, and in the repository around its own
    /// if that is the room's.
    pub fn places(&self, file: &Path) -> Vec<RepositoryPath> {
        let mut places = Vec::new();
        let real = git::resolved(file);
        // The link itself, in a directory without links.
        let linked = file
            .parent()
            .zip(file.file_name())
            .map(|(above, name)| layout::below(&git::resolved(above), name));
        let mounted = mounts::same_file_below(&real, &self.top);
        for path in [Some(real), linked, mounted].into_iter().flatten() {
            let outer = path.strip_prefix(&self.top).ok().and_then(text);
            let outer = outer.map(|path| RepositoryPath {
                repository: None,
                path,
            });
            for place in [self.place_of(&path), outer].into_iter().flatten() {
                if !places.contains(&place) {
                    places.push(place);
                }
            }
        }
        places
    }

    /// Every name of a path in a worktree, as git gives it.
    pub fn in_worktree(&self, worktree: &Worktree, path: &str) -> Vec<RepositoryPath> {
        let mut places = vec![RepositoryPath {
            repository: self.name(worktree),
            path: path.to_owned(),
        }];
        // A repository below the room's own, such as a submodule.
        let above = worktree
            .top
            .strip_prefix(&self.top)
            .ok()
            .and_then(text)
            .filter(|above| !above.is_empty());
        let outer = above.map(|above| RepositoryPath {
            repository: None,
            path: format!("{above}/{path}"),
        });
        if places[0].repository.is_some() {
            places.extend(outer);
        }
        places
    }

    /// The place of a resolved path.
    fn place_of(&self, real: &Path) -> Option<RepositoryPath> {
        let around = real.ancestors().find_map(Worktree::at);
        match around {
            Some(worktree) => {
                let path = text(real.strip_prefix(&worktree.top).ok()?)?;
                Some(RepositoryPath {
                    repository: self.name(&worktree),
                    path,
                })
            }
            None => Some(RepositoryPath {
                repository: None,
                path: text(real.strip_prefix(&self.top).ok()?)?,
            }),
        }
    }

    /// The name of a worktree's repository; `None` for the room's own.
    pub fn name(&self, worktree: &Worktree) -> Option<String> {
        let is_own = self
            .own
            .as_ref()
            .is_some_and(|own| own.shares_repository(worktree));
        (!is_own).then(|| name(worktree))
    }
}

/// The subject that a person at `from` means by a word: `task:<name>`, `lane:<name>`, `<repository>:<path>`, or a path or
/// glob relative to `from`. A path of an existing file is taken literally, even if it contains wildcards.
pub fn subject_of(room: &Room, from: &Path, word: &str) -> Result<ClaimSubject> {
    if word.trim().is_empty() {
        let problem = Problem::new("bad_claim", "a subject is empty");
        return Err(Error::Rejected(vec![
            problem.fix("name a path, `task:<name>` or `lane:<name>`"),
        ]));
    }
    let ground = RepositoryBase::of(room);
    let is_literal = git::exists(&layout::below(from, word.as_ref()));
    if let Some((prefix, rest)) = word
        .split_once(':')
        .filter(|(prefix, _)| !is_literal && id::is_name(prefix))
    {
        let is_own = ground
            .own
            .as_ref()
            .is_some_and(|own| name(own).eq_ignore_ascii_case(prefix));
        return parse_subject(if is_own { rest } else { word });
    }
    let mut parts = Path::new(word).components().peekable();
    let mut base = from.to_path_buf();
    while let Some(part) = parts.next_if(|part| is_literal || !has_wildcard(part)) {
        base = layout::below(&base, part.as_os_str());
    }
    let rest: Vec<_> = parts
        .map(|part| part.as_os_str().to_string_lossy())
        .collect();
    let place = ground.place(&base).ok_or_else(|| {
        Error::usage(
            format!(
                "{} is in no repository and outside {}",
                quoted(word),
                ground.top.display()
            ),
            "name a path in a repository, or below the room's parent directory",
        )
    })?;
    let path: Vec<String> = [literal(&place.path)]
        .into_iter()
        .chain(rest.into_iter().map(Into::into))
        .collect();
    let path = path
        .iter()
        .filter(|part| !part.is_empty())
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join("/");
    let path = if path.is_empty() {
        ".".to_owned()
    } else {
        path
    };
    parse_subject(&RepositoryPath { path, ..place }.to_string())
}

fn parse_subject(text: &str) -> Result<ClaimSubject> {
    ClaimSubject::parse(text).map_err(|problem| Error::Rejected(vec![*problem]))
}

/// The name of a repository in claims. Characters that a name cannot have become `-`.
fn name(worktree: &Worktree) -> String {
    let name = worktree.repository().unwrap_or_default().replace(
        |c: char| !c.is_ascii_alphanumeric() && !"._-".contains(c),
        "-",
    );
    let name = name
        .trim_start_matches(|c: char| !c.is_ascii_alphanumeric())
        .to_lowercase();
    match name.as_str() {
        "" | "task" | "lane" => format!("{name}repository"),
        _ => name.chars().take(crate::base::limits::NAME).collect(),
    }
}

fn text(path: &Path) -> Option<String> {
    path.to_str().map(str::to_owned)
}

fn has_wildcard(part: &Component<'_>) -> bool {
    part.as_os_str()
        .to_string_lossy()
        .contains(['*', '?', '[', '{', '}'])
}

/// A path as a pattern that matches it. Braces cannot be escaped, so each becomes any one character.
fn literal(path: &str) -> String {
    let escaped = path.chars().map(|c| match c {
        '*' | '?' | '[' => format!("[{c}]"),
        '{' | '}' => "?".to_owned(),
        c => c.to_string(),
    });
    escaped.collect()
}
