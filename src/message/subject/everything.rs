//! Claims of all files: they need an explicit form, because a mistyped claim would stop every other agent.

use super::pattern::{ComparisonBudget, PathComponents};
use super::{ClaimSubject, SubjectKind};
use crate::base::error::Problem;
use crate::base::text::quoted;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The explicit form of a claim of all files, after the name of another repository if there is one.
const ALL_FILES: &str = "./**";
/// The first characters of the names that are tried.
const FIRST: &str = "abcdefghijklmnopqrstuvwxyz._";

/// A path for each first character. The names, the extension and the depth are unusual, so that a claim such as
/// `**/*.rs` does not cover them.
static SAMPLES: LazyLock<Vec<PathComponents>> = LazyLock::new(|| {
    FIRST
        .chars()
        .zip(FIRST.chars().cycle().skip(11))
        .map(|(first, second)| {
            let path =
                format!("{first}{second}7/{second}{first}8/{first}{second}9.{second}{first}");
            PathComponents::of(&path)
        })
        .collect()
});

/// Returns true if these subjects together cover most paths of any repository.
pub fn cover_everything<'s>(subjects: impl IntoIterator<Item = &'s ClaimSubject>) -> bool {
    let mut covered: BTreeMap<Option<&str>, u32> = BTreeMap::new();
    for subject in subjects {
        if let Some(repository) = subject.repository() {
            *covered.entry(repository).or_default() |= subject.samples();
        }
    }
    covered
        .values()
        .any(|samples| samples.count_ones() as usize > FIRST.len() * 3 / 4)
}

impl ClaimSubject {
    /// The sample paths that it covers, a bit for each. A subject that is slow to compare counts as covering all.
    fn samples(&self) -> u32 {
        let Some(SubjectKind::Path { patterns, .. }) = self.kind() else {
            return 0;
        };
        if !self.is_wide() {
            return 0;
        }
        *self.parsed.samples.get_or_init(|| {
            let steps = ComparisonBudget::of_pair();
            let mut covered = 0;
            for (n, path) in SAMPLES.iter().enumerate() {
                let is_covered = patterns.iter().any(|pattern| pattern.covers(path, &steps));
                covered |= u32::from(is_covered) << n;
            }
            if steps.is_spent() { u32::MAX } else { covered }
        })
    }

    /// Returns true if it has no name before its first wildcard, so that it covers paths with many first names.
    pub fn is_wide(&self) -> bool {
        let path = self
            .text
            .split_once(':')
            .map_or(self.text.as_str(), |(_, path)| path);
        let first = path.split('/').next().unwrap_or_default();
        self.repository().is_some() && (first == "." || first.contains(['*', '?', '[', '{']))
    }

    /// Why the text of this subject cannot be claimed: it covers all files without saying so.
    pub fn check_explicit(&self, text: &str) -> Option<Problem> {
        let path = text.split_once(':').map_or(text, |(_, path)| path);
        if path == ALL_FILES || !cover_everything([self]) {
            return None;
        }
        let what = format!(
            "the claim {} covers all files of the repository",
            quoted(text)
        );
        Some(Problem::new("claims_everything", what).fix(format!(
            "claim the files that you change, such as \"src/auth/**\"; to claim all files, write \"{ALL_FILES}\", and the \
             human is notified"
        )))
    }

    /// The text of this subject in a claim.
    pub fn to_claim(&self) -> String {
        match self.repository() {
            Some(None) if cover_everything([self]) => ALL_FILES.to_owned(),
            Some(Some(repository)) if cover_everything([self]) => {
                format!("{repository}:{ALL_FILES}")
            }
            _ => self.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::steps_of;
    use super::*;

    fn subject(text: &str) -> ClaimSubject {
        ClaimSubject::parse(text).unwrap_or_else(|problem| panic!("{text}: {problem:?}"))
    }

    #[test]
    fn a_claim_of_all_files_is_recognised_in_every_form() {
        // P270
        for text in [
            ".",
            "./",
            "*",
            "**",
            "**/**",
            "*/**",
            "?*",
            "**/*",
            "[!q]*",
            "{*,x}",
            "{.,src}",
            "{[a-m],[n-z]}*",
            "././.",
            "web:.",
            "web:**",
        ] {
            let problem = subject(text)
                .check_explicit(text)
                .unwrap_or_else(|| panic!("{text} covers all files"));
            assert_eq!(problem.code, "claims_everything", "{text}");
        }
        for text in [
            "*q*/**",
            "*.*",
            "[!a-m]*",
            "src",
            "src/**",
            "**/*.rs",
            "*.md",
            "s*",
            "docs/[a-z]*",
            "task:all",
            "lane:everything",
            "**/tests/**",
        ] {
            assert_eq!(subject(text).check_explicit(text), None, "{text}");
        }
        for text in ["./**", "web:./**"] {
            assert_eq!(subject(text).check_explicit(text), None, "{text}");
            assert_eq!(subject(text).to_claim(), text);
        }
    }

    #[test]
    fn a_thousand_claims_take_linear_steps() {
        let claims = |count: usize| -> Vec<ClaimSubject> {
            (0..count).map(|n| subject(&format!("**/a{n}"))).collect()
        };
        let steps = |count| {
            let claims = claims(count);
            steps_of(|| assert!(!cover_everything(&claims)))
        };
        assert!(steps(1000) <= 10 * steps(100) + 100);
        // Each copy of a subject has its result.
        let known = claims(100);
        cover_everything(&known);
        assert_eq!(steps_of(|| assert!(!cover_everything(&known.clone()))), 0);
    }

    #[test]
    fn a_slow_claim_of_many_alternatives_takes_bounded_steps() {
        let slow = format!("{{{}}}/**", vec!["*a*b*c*d*e"; 64].join(","));
        let steps = steps_of(|| assert!(subject(&slow).check_explicit(&slow).is_some()));
        assert!(steps <= 8192 + 28 * 64, "{steps}");
    }

    #[test]
    fn several_claims_can_cover_all_files_together() {
        let (one, two) = (subject("[a-m]*"), subject("[n-z]*"));
        assert!(!cover_everything([&one]) && cover_everything([&one, &two]));
        assert!(
            !cover_everything([&subject("web:[a-m]*"), &two]),
            "of two repositories"
        );
    }
}
