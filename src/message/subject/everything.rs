//! Claims of all files: they need an explicit form, because a mistyped claim would stop every other agent.

use super::ClaimSubject;
use crate::base::error::Problem;
use crate::base::text::quoted;

/// The explicit form of a claim of all files, after the name of another repository if there is one.
const ALL_FILES: &str = "./**";
/// The first characters of the names that are tried.
const FIRST: &str = "abcdefghijklmnopqrstuvwxyz._";

/// Returns true if these subjects together cover most paths of any repository.
pub fn cover_everything<'s>(subjects: impl IntoIterator<Item = &'s ClaimSubject>) -> bool {
    let wide: Vec<&ClaimSubject> = subjects
        .into_iter()
        .filter(|subject| subject.is_wide())
        .collect();
    wide.iter().any(|one| {
        let repository = one.repository().flatten();
        let covered =
            FIRST
                .chars()
                .zip(FIRST.chars().cycle().skip(11))
                .filter(|(first, second)| {
                    // The names, the extension and the depth are unusual, so that a claim such as `**/*.rs` does not cover them.
                    let path = format!(
                        "{first}{second}7/{second}{first}8/{first}{second}9.{second}{first}"
                    );
                    wide.iter().any(|subject| subject.covers(repository, &path))
                });
        covered.count() > FIRST.len() * 3 / 4
    })
}

impl ClaimSubject {
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
    fn several_claims_can_cover_all_files_together() {
        let (one, two) = (subject("[a-m]*"), subject("[n-z]*"));
        assert!(!cover_everything([&one]) && cover_everything([&one, &two]));
        assert!(
            !cover_everything([&subject("web:[a-m]*"), &two]),
            "of two repositories"
        );
    }
}
