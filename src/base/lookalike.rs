//! Letters that look like ASCII letters, and texts that a person cannot distinguish.

use unicode_normalization::UnicodeNormalization;
use unicode_security::confusable_detection;

/// Letters of other scripts, each with the ASCII letter that it looks like.
const LETTERS: [(&str, &str); 4] = [
    ("асԁеһіјӏорԛѕхуѵԝ", "acdehijlopqsxyvw"),
    ("АВЕЅІЈКМНОРСТХУԚԜҮ", "ABESIJKMHOPCTXYQWY"),
    ("οΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "oABEZHIKMNOPTYX"),
    ("օսհցզʏɑɡո", "ouhgqyagn"),
];

/// The ASCII letter or digit that a character looks like. `None` for ASCII and for all characters with a look of their own.
pub fn ascii_twin(c: char) -> Option<char> {
    if c.is_ascii() {
        return None;
    }
    let known = LETTERS.iter().find_map(|(letters, twins)| {
        Some((letters.chars().position(|letter| letter == c)?, twins))
    });
    if let Some((at, twins)) = known {
        return twins.chars().nth(at);
    }
    // Full-width and mathematical letters, but no accented letter, which has more than one part.
    let mut parts = std::iter::once(c).nfkd();
    parts
        .next()
        .filter(|twin| twin.is_ascii_alphanumeric() && parts.next().is_none())
}

/// A common form of texts that a person cannot distinguish: without invisible marks, letter case and extra spaces, and with
/// ASCII letters for all letters that look like them.
pub fn skeleton(text: &str) -> String {
    let visible = text.chars().filter(|c| !is_mark(*c));
    let plain: String = visible.map(|c| ascii_twin(c).unwrap_or(c)).nfkc().collect();
    plain
        .to_lowercase()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

/// Returns true if a person cannot distinguish the texts, by Unicode's list of characters that look like others (UTS #39).
/// Letter case does not matter.
pub fn is_lookalike(one: &str, other: &str) -> bool {
    let (plain, other_plain) = (skeleton(one), skeleton(other));
    has_same_shapes(one.trim(), other.trim())
        || has_same_shapes(&plain, &other_plain)
        || has_same_shapes(&plain.to_uppercase(), &other_plain.to_uppercase())
}

/// The common form of ASCII names that a person cannot distinguish: `mai1bag` and `mailbag`, `hurnan` and `human`.
pub fn name_skeleton(name: &str) -> String {
    let plain = name.to_ascii_lowercase();
    plain.replace('1', "l").replace('0', "o").replace("rn", "m")
}

fn has_same_shapes(one: &str, other: &str) -> bool {
    confusable_detection::skeleton(one).eq(confusable_detection::skeleton(other))
}

/// Marks that change no letter: joiners, and selectors of a variant.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_other_scripts_have_twins_and_accented_letters_have_none() {
        assert!(
            LETTERS
                .iter()
                .all(|(letters, twins)| letters.chars().count() == twins.chars().count())
        );
        for (twin, original) in [
            ("уеѕ", "yes"),
            ("ｎｏ", "no"),
            ("𝐲𝐞𝐬", "yes"),
            ("nο", "no"),
            ("YES ", "yes"),
            ("1\u{fe0f}", "1"),
        ] {
            assert_eq!(skeleton(twin), original, "{twin}");
        }
        for own in ["да", "нет", "größer", "naïve", "是", "ναι", "नहीं", "👍"]
        {
            assert!(!skeleton(own).is_ascii(), "{own}");
        }
    }

    #[test]
    fn texts_of_the_same_shapes_are_lookalikes_and_other_texts_are_not() {
        for (one, other) in [
            ("1", "l"),
            ("rn", "m"),
            ("ǃno", "!no"),
            ("ꓬꓰꓢ", "yes"),
            ("v1.0 ", "V1.O"),
            ("да", "дa"),
            ("‚no", ",no"),
        ] {
            assert!(is_lookalike(one, other), "{one} {other}");
        }
        for (one, other) in [
            ("yes", "no"),
            ("option 1", "option 2"),
            ("I", "L"),
            ("ano", "año"),
            ("是", "否"),
            ("да", "нет"),
        ] {
            assert!(!is_lookalike(one, other), "{one} {other}");
        }
    }
}
