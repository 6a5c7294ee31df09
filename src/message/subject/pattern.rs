//! Paths and globs as patterns: which paths one covers, and whether two could cover the same path.
//!
//! `*` and `?` match within a component, `[a-f]` one character, `{a,b}` either text, and `**` as a
//! whole component any number of components. A pattern covers matching paths and everything below
//! them.

use std::cell::Cell;
use std::collections::HashSet;
use unicode_normalization::UnicodeNormalization;

/// The most alternatives that the braces of one claim may stand for, multiplied out.
const SUBJECT_CHOICES: usize = 64;
/// The largest number of steps in a comparison of two subjects.
const SUBJECT_STEPS: u32 = 8192;
/// The largest number of steps in all comparisons for one message: about 10 ms.
const MESSAGE_STEPS: u32 = 1 << 18;

/// A path or glob without alternatives, in comparable form.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct PathPattern(Vec<PatternComponent>);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum PatternComponent {
    /// `**`: any number of components.
    Any,
    /// A name without wildcards.
    Name(String),
    One(Vec<PatternToken>),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum PatternToken {
    Letter(char),
    /// `?`
    AnyLetter,
    /// `*`
    AnyText,
    /// `[a-f]`, `[!a-f]`
    Class {
        ranges: Vec<(char, char)>,
        negated: bool,
    },
}

impl PathPattern {
    /// The names before the first wildcard, each followed by a slash.
    pub(super) fn beginning(&self) -> String {
        let names = self.0.iter().map_while(|component| match component {
            PatternComponent::Name(name) => Some(format!("{name}/")),
            PatternComponent::Any | PatternComponent::One(_) => None,
        });
        names.collect()
    }
}

/// The components of a path, in comparable form.
pub(super) struct PathComponents(Vec<PatternComponent>);

impl PathComponents {
    pub(super) fn of(path: &str) -> PathComponents {
        let path = comparable(path);
        let parts = path.split('/').filter(|part| !matches!(*part, "" | "."));
        PathComponents(
            parts
                .map(|part| PatternComponent::Name(part.to_owned()))
                .collect(),
        )
    }
}

/// The problem and its fix.
type PatternProblem = (String, &'static str);

/// Reads a path or glob: one pattern for each way to choose from its alternatives.
pub(super) fn parse(text: &str) -> Result<Vec<PathPattern>, PatternProblem> {
    if text.is_empty() {
        return Err((
            "a claim is empty".into(),
            "name a path, `task:<name>` or `lane:<name>`",
        ));
    }
    if text.starts_with('/') {
        return Err((
            "the path of a claim is absolute".into(),
            "write it relative to the repository",
        ));
    }
    let choices = choices(&comparable(text))?;
    choices
        .iter()
        .map(|choice| components(choice).map(PathPattern))
        .collect()
}

/// The text without `./`, doubled and last slashes.
pub(super) fn tidied(text: &str) -> String {
    let parts: Vec<&str> = text
        .split('/')
        .filter(|part| !matches!(*part, "" | "."))
        .collect();
    if parts.is_empty() {
        ".".into()
    } else {
        parts.join("/")
    }
}

/// The comparable form of a path: lower case, with composed letters.
fn comparable(text: &str) -> String {
    text.nfc().flat_map(char::to_lowercase).nfc().collect()
}

/// Expands `{a,b}`, including nested alternatives.
fn choices(text: &str) -> Result<Vec<String>, PatternProblem> {
    let Some(open) = text.find('{') else {
        if text.contains('}') {
            return Err(("a claim has } without {".into(), "close each { with one }"));
        }
        return Ok(vec![text.to_owned()]);
    };
    let (mut depth, mut parts, mut begin, mut end) = (0, Vec::new(), open + 1, None);
    for (at, c) in text.char_indices().skip_while(|(at, _)| *at < open) {
        match c {
            '{' => depth += 1,
            '}' if depth == 1 => {
                parts.push(&text[begin..at]);
                end = Some(at + 1);
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 1 => {
                parts.push(&text[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    let end = end.ok_or_else(|| {
        (
            "a claim has { without }".to_owned(),
            "close each { with one }",
        )
    })?;
    let mut all = Vec::new();
    for part in parts {
        all.extend(choices(&format!(
            "{}{part}{}",
            &text[..open],
            &text[end..]
        ))?);
        if all.len() > SUBJECT_CHOICES {
            let what = format!(
                "a claim has more than {} alternatives in braces",
                SUBJECT_CHOICES
            );
            return Err((what, "claim the directory above, or write several claims"));
        }
    }
    Ok(all)
}

fn components(text: &str) -> Result<Vec<PatternComponent>, PatternProblem> {
    let mut components = Vec::new();
    for part in text.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                return Err((
                    "a claim leads out of its directory by ..".into(),
                    "write the path without ..",
                ));
            }
            "**" => components.push(PatternComponent::Any),
            _ if !part.contains(['*', '?', '[']) => {
                components.push(PatternComponent::Name(part.to_owned()))
            }
            _ => components.push(PatternComponent::One(tokens(part)?)),
        }
    }
    Ok(components)
}

fn tokens(part: &str) -> Result<Vec<PatternToken>, PatternProblem> {
    let mut tokens = Vec::new();
    let mut rest = part.chars().peekable();
    while let Some(c) = rest.next() {
        tokens.push(match c {
            '?' => PatternToken::AnyLetter,
            '*' if tokens.last() == Some(&PatternToken::AnyText) => continue,
            '*' => PatternToken::AnyText,
            '[' => {
                let inside: String = rest.by_ref().take_while(|c| *c != ']').collect();
                let negated = inside.starts_with(['!', '^']);
                let ranges = ranges(inside.trim_start_matches(['!', '^']));
                if ranges.is_empty() {
                    return Err((
                        "a claim has [ without a character or without ]".into(),
                        "write it as [abc] or [a-f]",
                    ));
                }
                PatternToken::Class { ranges, negated }
            }
            c => PatternToken::Letter(c),
        });
    }
    Ok(tokens)
}

fn ranges(inside: &str) -> Vec<(char, char)> {
    let letters: Vec<char> = inside.chars().collect();
    let (mut ranges, mut at) = (Vec::new(), 0);
    while at < letters.len() {
        match letters.get(at + 1..at + 3) {
            Some(['-', last]) => {
                ranges.push((letters[at], *last));
                at += 3;
            }
            _ => {
                ranges.push((letters[at], letters[at]));
                at += 1;
            }
        }
    }
    ranges
}

/// The number of steps that comparisons may still take. A sender chooses both patterns, so the time must be bounded.
pub struct ComparisonBudget(Cell<u32>);

impl ComparisonBudget {
    /// The steps for all comparisons of a message.
    pub fn of_message() -> ComparisonBudget {
        ComparisonBudget(Cell::new(MESSAGE_STEPS))
    }

    /// The steps for a comparison of two subjects.
    pub(super) fn of_pair() -> ComparisonBudget {
        ComparisonBudget(Cell::new(SUBJECT_STEPS))
    }

    /// Returns true if no step is left.
    pub fn is_spent(&self) -> bool {
        self.0.get() == 0
    }

    /// Takes a step and the steps of a comparison that has ended.
    pub(super) fn add(&self, pair: &ComparisonBudget) {
        self.take(1 + SUBJECT_STEPS - pair.0.get());
    }

    fn take(&self, steps: u32) -> bool {
        self.0.set(self.0.get().saturating_sub(steps));
        !self.is_spent()
    }

    fn burn(&self) -> bool {
        #[cfg(test)]
        STEPS.set(STEPS.get() + 1);
        self.take(1)
    }
}

#[cfg(test)]
thread_local!(static STEPS: Cell<u64> = const { Cell::new(0) });

/// The number of steps that comparisons take during an action.
#[cfg(test)]
pub fn steps_of(action: impl FnOnce()) -> u64 {
    let before = STEPS.get();
    action();
    STEPS.get() - before
}

impl PathPattern {
    /// Returns true if it matches the path or a directory above it, and false if the fuel runs out.
    pub(super) fn covers(&self, path: &PathComponents, fuel: &ComparisonBudget) -> bool {
        // The path itself has nothing below it here, so only the pattern may end first.
        meet(&self.0, &path.0, false, fuel).unwrap_or(false)
    }

    /// Returns true if both could cover one path, and if the fuel runs out.
    pub(super) fn conflicts(&self, other: &PathPattern, fuel: &ComparisonBudget) -> bool {
        meet(&self.0, &other.0, true, fuel).unwrap_or(true)
    }
}

/// Returns true if the first covers a path that the second matches or, with `either`, covers.
/// Visits each pair of positions once. `None` if the fuel runs out.
fn meet(
    mut one: &[PatternComponent],
    mut two: &[PatternComponent],
    either: bool,
    fuel: &ComparisonBudget,
) -> Option<bool> {
    // Most pairs differ in one of their first names.
    while let ([PatternComponent::Name(a), rest @ ..], [PatternComponent::Name(b), others @ ..]) =
        (one, two)
    {
        if a != b {
            return Some(false);
        }
        (one, two) = (rest, others);
    }
    let (mut seen, mut next) = (HashSet::new(), vec![(0, 0)]);
    while let Some((i, j)) = next.pop() {
        if !seen.insert((i, j)) {
            continue;
        }
        if !fuel.burn() {
            return None;
        }
        match (one.get(i), two.get(j)) {
            // A pattern covers everything below a matching path.
            (None, _) => return Some(true),
            (Some(_), None) if either => return Some(true),
            (Some(PatternComponent::Any), None) => next.push((i + 1, j)),
            (Some(_), None) => {}
            (Some(PatternComponent::Any), Some(_)) => next.extend([(i + 1, j), (i, j + 1)]),
            (Some(_), Some(PatternComponent::Any)) => next.extend([(i, j + 1), (i + 1, j)]),
            (Some(a), Some(b)) => {
                if overlap(a, b, fuel)? {
                    next.push((i + 1, j + 1));
                }
            }
        }
    }
    Some(false)
}

/// Returns true if both components match one name.
fn overlap(
    one: &PatternComponent,
    two: &PatternComponent,
    fuel: &ComparisonBudget,
) -> Option<bool> {
    let letters = |name: &str| {
        name.chars()
            .map(PatternToken::Letter)
            .collect::<Vec<PatternToken>>()
    };
    match (one, two) {
        (PatternComponent::Name(a), PatternComponent::Name(b)) => Some(a == b),
        (PatternComponent::Name(name), PatternComponent::One(tokens))
        | (PatternComponent::One(tokens), PatternComponent::Name(name)) => {
            share_a_name(tokens, &letters(name), fuel)
        }
        (PatternComponent::One(a), PatternComponent::One(b)) => share_a_name(a, b, fuel),
        (PatternComponent::Any, _) | (_, PatternComponent::Any) => Some(true),
    }
}

fn share_a_name(
    one: &[PatternToken],
    two: &[PatternToken],
    fuel: &ComparisonBudget,
) -> Option<bool> {
    let (mut seen, mut next) = (HashSet::new(), vec![(0, 0)]);
    while let Some((i, j)) = next.pop() {
        if !seen.insert((i, j)) {
            continue;
        }
        if !fuel.burn() {
            return None;
        }
        match (one.get(i), two.get(j)) {
            (None, None) => return Some(true),
            (Some(PatternToken::AnyText), Some(_)) => next.extend([(i + 1, j), (i, j + 1)]),
            (Some(_), Some(PatternToken::AnyText)) => next.extend([(i, j + 1), (i + 1, j)]),
            (Some(PatternToken::AnyText), None) => next.push((i + 1, j)),
            (None, Some(PatternToken::AnyText)) => next.push((i, j + 1)),
            (Some(a), Some(b)) if a.meets(b) => next.push((i + 1, j + 1)),
            _ => {}
        }
    }
    Some(false)
}

impl PatternToken {
    /// Returns true if both could match one letter.
    fn meets(&self, other: &PatternToken) -> bool {
        match (self, other) {
            (PatternToken::Letter(a), PatternToken::Letter(b)) => a == b,
            (PatternToken::Letter(c), class @ PatternToken::Class { .. })
            | (class @ PatternToken::Class { .. }, PatternToken::Letter(c)) => class.has(*c),
            // Two classes count as overlapping: this may report a false conflict, and never misses
            // one.
            _ => true,
        }
    }

    fn has(&self, c: char) -> bool {
        let PatternToken::Class { ranges, negated } = self else {
            return true;
        };
        ranges
            .iter()
            .any(|(first, last)| (*first..=*last).contains(&c))
            != *negated
    }
}
