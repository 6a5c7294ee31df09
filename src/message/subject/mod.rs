//! The subject of a claim: a path or glob in a repository, a task, or a lane; and whether two subjects conflict.
//!
//! A path subject covers every path that it matches, and everything below such a path: `src/auth` covers
//! `src/auth/login.rs`. Two subjects conflict if one path could be covered by both. The test never misses such a path;
//! it may report a conflict that is none where both patterns have a character class (`[a-f]`), and where two patterns would
//! take long to compare.
//!
//! Paths are compared without regard to letter case and to how accented letters are composed, because some file
//! systems ignore both. Symbolic links are resolved before, where there is a file system to ask.

mod everything;
mod pattern;
#[cfg(test)]
mod tests;

pub use everything::cover_everything;

use crate::base::error::Problem;
use crate::base::text::quoted;
use crate::message::id;
pub use pattern::ComparisonBudget;
#[cfg(test)]
pub use pattern::steps_of;
use pattern::{PathComponents, PathPattern};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, OnceLock};

/// The longest subject of a claim. A path has at most 4,096 bytes on Linux; a claim of one so long is a mistake.
const SUBJECT_BYTES: usize = 1024;

/// The subject of a claim. Two subjects that cover the same things in the same form are equal, in
/// any letter case.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ClaimSubject {
    text: String,
    #[serde(skip)]
    parsed: Arc<ParsedSubject>,
}

/// The parts of a subject that follow from its text. They are found when they are needed, once for all copies of a
/// subject: a hook reads thousands of subjects and asks about one path.
#[derive(Debug, Default)]
struct ParsedSubject {
    /// `None` for a text that cannot be read, which only a damaged file has.
    kind: OnceLock<Option<SubjectKind>>,
    /// See [`ClaimSubject::samples`].
    samples: OnceLock<u32>,
}

impl PartialEq for ClaimSubject {
    fn eq(&self, other: &ClaimSubject) -> bool {
        self.text == other.text || self.kind().is_some() && self.kind() == other.kind()
    }
}

impl Eq for ClaimSubject {}

impl Hash for ClaimSubject {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self.kind() {
            Some(kind) => kind.hash(state),
            None => self.text.hash(state),
        }
    }
}

/// A path of a repository, prepared to be compared with many subjects.
pub struct PreparedPath<'p> {
    repository: Option<String>,
    path: &'p str,
    parts: PathComponents,
}

impl<'p> PreparedPath<'p> {
    /// The path; `None` is the room's own repository.
    pub fn new(repository: Option<&str>, path: &'p str) -> PreparedPath<'p> {
        PreparedPath {
            repository: repository.map(str::to_lowercase),
            path,
            parts: PathComponents::of(path),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum SubjectKind {
    Task(String),
    Lane(String),
    Path {
        repository: Option<String>,
        patterns: Vec<PathPattern>,
    },
}

impl ClaimSubject {
    /// Reads a subject as written in a message: `task:<name>`, `lane:<name>`, `<path or glob>` or
    /// `<repository>:<path or glob>`. The problem, if there is one, has the code `bad_claim` and no place.
    pub fn parse(text: &str) -> Result<ClaimSubject, Box<Problem>> {
        if text.len() > SUBJECT_BYTES {
            let what = format!(
                "{} has {} bytes; a claim has at most {}",
                quoted(text),
                text.len(),
                SUBJECT_BYTES
            );
            return Err(bad_claim(
                &what,
                "claim the directory above, or several parts",
            ));
        }
        if let Some(c) = text.chars().find(|c| c.is_control() || *c == '\\') {
            let what = format!(
                "{} contains {c:?}, which no claim can contain",
                quoted(text)
            );
            return Err(bad_claim(
                &what,
                "separate directories by /, and write file names without control characters",
            ));
        }
        let (prefix, rest) = match text.split_once(':') {
            Some((prefix, rest)) => (Some(prefix), rest),
            None => (None, text),
        };
        let kind = match prefix.map(str::to_lowercase).as_deref() {
            Some("task") => SubjectKind::Task(subject_name("task", rest)?),
            Some("lane") => SubjectKind::Lane(subject_name("lane", rest)?),
            Some(repository) if !id::is_name(repository) => {
                return Err(bad_claim(
                    &format!("{} is not the name of a repository", quoted(repository)),
                    "write `task:<name>`, `lane:<name>`, `<path>` or `<repository>:<path>`",
                ));
            }
            repository => {
                let patterns = pattern::parse(rest).map_err(|(what, fix)| bad_claim(&what, fix))?;
                SubjectKind::Path {
                    repository: repository.map(str::to_owned),
                    patterns,
                }
            }
        };
        let text = match &kind {
            SubjectKind::Task(name) => format!("task:{name}"),
            SubjectKind::Lane(name) => format!("lane:{name}"),
            SubjectKind::Path {
                repository: Some(repository),
                ..
            } => format!("{repository}:{}", pattern::tidied(rest)),
            SubjectKind::Path {
                repository: None, ..
            } => pattern::tidied(rest),
        };
        let parsed = ParsedSubject {
            kind: OnceLock::from(Some(kind)),
            samples: OnceLock::new(),
        };
        Ok(ClaimSubject {
            text,
            parsed: parsed.into(),
        })
    }

    fn kind(&self) -> Option<&SubjectKind> {
        let read = || {
            let parsed = ClaimSubject::parse(&self.text).ok()?.parsed;
            Arc::into_inner(parsed)?.kind.into_inner().flatten()
        };
        self.parsed.kind.get_or_init(read).as_ref()
    }

    /// A number that equal subjects share.
    pub fn key(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }

    /// The repository of a path; `Some(None)` is the room's own. `None` for a task or a lane.
    pub fn repository(&self) -> Option<Option<&str>> {
        match self.kind() {
            Some(SubjectKind::Path { repository, .. }) => Some(repository.as_deref()),
            _ => None,
        }
    }

    /// The directory or file of the room's own repository that contains all that the subject covers. Empty for the top.
    pub fn place(&self) -> Option<&str> {
        if self.repository() != Some(None) {
            return None;
        }
        let Some(end) = self.text.find(['*', '?', '[', '{']) else {
            return Some(&self.text);
        };
        Some(
            self.text[..end]
                .rsplit_once('/')
                .map_or("", |(above, _)| above),
        )
    }

    /// The end of each part of a beginning.
    pub const AFTER_NAME: char = '/';

    /// The part before the first wildcard: one text for each alternative, with
    /// [`ClaimSubject::AFTER_NAME`] after each part. Two subjects can conflict only if a beginning of
    /// one is a prefix of a beginning of the other.
    pub fn beginnings(&self) -> Vec<String> {
        match self.kind() {
            Some(SubjectKind::Task(name)) => vec![format!("task/{name}/")],
            Some(SubjectKind::Lane(name)) => vec![format!("lane/{name}/")],
            Some(SubjectKind::Path {
                repository,
                patterns,
            }) => {
                let repository = repository.as_deref().unwrap_or_default();
                patterns
                    .iter()
                    .map(|pattern| format!("path/{repository}/{}", pattern.beginning()))
                    .collect()
            }
            None => vec![format!("unknown/{}/", self.text)],
        }
    }

    /// Returns true if both could cover one thing.
    pub fn conflicts(&self, other: &ClaimSubject) -> bool {
        self.conflicts_within(other, &ComparisonBudget::of_message())
    }

    /// As [`ClaimSubject::conflicts`], for one of many comparisons. Returns true if no step is left.
    pub fn conflicts_within(&self, other: &ClaimSubject, steps: &ComparisonBudget) -> bool {
        if steps.is_spent() {
            return true;
        }
        let pair = ComparisonBudget::of_pair();
        let conflicts = self.conflicts_as_pair(other, &pair);
        steps.add(&pair);
        conflicts
    }

    fn conflicts_as_pair(&self, other: &ClaimSubject, pair: &ComparisonBudget) -> bool {
        match (self.kind(), other.kind()) {
            (Some(SubjectKind::Task(one)), Some(SubjectKind::Task(two)))
            | (Some(SubjectKind::Lane(one)), Some(SubjectKind::Lane(two))) => one == two,
            (
                Some(SubjectKind::Path {
                    repository: one,
                    patterns,
                }),
                Some(SubjectKind::Path {
                    repository: two,
                    patterns: others,
                }),
            ) => {
                one == two
                    && patterns
                        .iter()
                        .any(|one| others.iter().any(|two| one.conflicts(two, pair)))
            }
            _ => false,
        }
    }

    /// Returns true if this subject covers a path of a repository. `None` is the room's own repository.
    pub fn covers(&self, repository: Option<&str>, path: &str) -> bool {
        self.covers_target(&PreparedPath::new(repository, path))
    }

    /// As [`ClaimSubject::covers`], for one of many subjects.
    pub fn covers_target(&self, target: &PreparedPath<'_>) -> bool {
        self.may_cover(target)
            && match self.kind() {
                Some(SubjectKind::Path {
                    repository,
                    patterns,
                }) => {
                    let fuel = ComparisonBudget::of_pair();
                    *repository == target.repository
                        && patterns
                            .iter()
                            .any(|pattern| pattern.covers(&target.parts, &fuel))
                }
                _ => false,
            }
    }

    /// Compares the text up to the first wildcard with the beginning of the path. Other than ASCII letters have several
    /// spellings, so such a text may cover anything.
    fn may_cover(&self, target: &PreparedPath<'_>) -> bool {
        let path = self
            .text
            .split_once(':')
            .map_or(self.text.as_str(), |(_, path)| path);
        let literal = path
            .find(['*', '?', '[', '{'])
            .map_or(path, |end| &path[..end])
            .trim_end_matches('/');
        let begins = || {
            target
                .path
                .get(..literal.len())
                .is_some_and(|begin| begin.eq_ignore_ascii_case(literal))
        };
        literal == "." || !literal.is_ascii() || !target.path.is_ascii() || begins()
    }

    /// Its normal form: two subjects with the same text are the same subject, letter case of paths aside.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for ClaimSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn bad_claim(what: &str, fix: &str) -> Box<Problem> {
    Box::new(Problem::new("bad_claim", what).fix(fix))
}

/// The name in `task:<name>` or `lane:<name>`, in lower case.
fn subject_name(kind: &str, name: &str) -> Result<String, Box<Problem>> {
    if id::is_name(name) {
        return Ok(name.to_lowercase());
    }
    let what = format!("{} is not the name of a {kind}", quoted(name));
    let fix = "use letters, digits, `.`, `_` and `-`, beginning with a letter or digit";
    Err(bad_claim(&what, fix))
}
