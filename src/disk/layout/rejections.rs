//! Names of rejected files, and of their explanations.

use super::{rejected, split_suffix};
use std::path::PathBuf;

/// The suffix of an explanation's name.
pub const EXPLAINED: &str = ".error.json";

/// The name of the explanation beside a rejected message.
pub fn explanation(seq: u64, original: &str) -> String {
    format!("{seq}~{}", explaining(original))
}

/// The name of the explanation of one line, for a file with one message per line.
pub fn explanation_of_line(seq: u64, original: &str, line: u32) -> String {
    format!("{seq}~{}", explained_line(original, line))
}

/// As [`explanation_of_line`], without the number.
pub fn explained_line(original: &str, line: u32) -> String {
    format!("{}.line{line}{EXPLAINED}", split_suffix(original).0)
}

/// Returns true for the name of an explanation of one line.
pub fn is_explanation_of_line(name: &str) -> bool {
    name.strip_suffix(EXPLAINED)
        .and_then(|stem| stem.rsplit_once(".line"))
        .is_some_and(|(_, line)| line.parse::<u32>().is_ok())
}

/// The path of a rejected line, which is kept with its explanation.
pub fn refused_line(agent: &str, seq: u64, original: &str, line: u32) -> PathBuf {
    rejected(agent).join(explanation_of_line(seq, original, line))
}

/// The name of the explanation beside a file.
pub fn explaining(name: &str) -> String {
    format!("{}{EXPLAINED}", split_suffix(name).0)
}
