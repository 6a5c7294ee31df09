//! The first problem of a `settings.toml`, with its line and a correction.

use crate::base::error::{Problem, did_you_mean};
use crate::message::address::quoted;
use crate::room::checked::wanted;
use toml::de::Error;

/// The problem of a value in `settings.toml`.
pub(super) fn bad_setting(text: &str, error: &Error) -> Problem {
    let shown = error.to_string();
    let key = shown.trim_end().rsplit_once("\nin `");
    let key = key.map_or("settings.toml", |(_, key)| key.trim_end_matches('`'));
    let problem = match unknown_field(error.message()) {
        Some((name, fix)) => {
            let what = format!("unknown setting {}", quoted(name));
            Problem::new("unknown_setting", what).fix(fix)
        }
        None => {
            let what = format!("{key} has an invalid value");
            Problem::new("bad_setting", what).fix(format!("give {}", wanted(error.message())))
        }
    };
    problem.at(line_of(text, error))
}

/// The problem of a text that is not TOML.
pub(super) fn not_toml(text: &str, error: &Error) -> Problem {
    let message = error.message().lines().next().unwrap_or_default();
    let what = format!("settings.toml is not TOML here: {message}");
    Problem::new("not_toml", what)
        .at(line_of(text, error))
        .fix("write `key = value`, with strings in quotes; `mailbag settings` lists the keys")
}

/// The name in serde's message about an unknown field, with the correction.
fn unknown_field(message: &str) -> Option<(&str, String)> {
    let rest = message.strip_prefix("unknown field `")?;
    let (name, known) = rest.split_once("`, expected ")?;
    let known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
    let fix = did_you_mean(name, known.iter().copied())
        .unwrap_or_else(|| format!("use one of {}", known.join(", ")));
    Some((name, fix))
}

fn line_of(text: &str, error: &Error) -> String {
    let offset = error.span().map_or(0, |span| span.start);
    let ends = text.bytes().take(offset).filter(|byte| *byte == b'\n');
    format!("line {}", 1 + ends.count())
}

#[cfg(test)]
mod tests {
    use crate::room::settings::{KEYS, Settings};

    #[test]
    fn every_key_is_found_by_a_near_name() {
        for key in KEYS {
            let text = format!("\n{}x = 1\n", key.key);
            let problem = Settings::parse(&text).expect_err(&text);
            assert_eq!(
                (problem.code.as_str(), problem.place.as_str()),
                ("unknown_setting", "line 2")
            );
            assert!(problem.fix.contains(key.key), "{}", problem.fix);
        }
    }

    #[test]
    fn an_error_in_a_table_names_the_inner_key_and_its_line() {
        for (text, line, what, fix) in [
            (
                "[budget]\ncopies = 1\nmessages = -1\n",
                "line 3",
                "budget.messages has an invalid value",
                "give a whole number from 0 (no limit) to 1000000",
            ),
            (
                "[budget]\nmesages = 1\n",
                "line 2",
                "unknown setting \"mesages\"",
                "did you mean messages?",
            ),
            (
                "guard = 1\n",
                "line 1",
                "guard has an invalid value",
                "give one of \"off\", \"warn\", \"deny\"",
            ),
            (
                "mailbox = \"yes\"\n",
                "line 1",
                "mailbox has an invalid value",
                "give true or false",
            ),
            (
                "[links.po]\ncarier = \"ssh\"\n",
                "line 2",
                "unknown setting \"carier\"",
                "did you mean carrier?",
            ),
            (
                "tag = \"po\"\ncontext = \n",
                "line 2",
                "settings.toml is not TOML here: string values must be quoted, expected literal string",
                "write `key = value`, with strings in quotes; `mailbag settings` lists the keys",
            ),
        ] {
            let problem = Settings::parse(text).expect_err(text);
            assert_eq!(
                (
                    problem.place.as_str(),
                    problem.what.as_str(),
                    problem.fix.as_str()
                ),
                (line, what, fix)
            );
        }
    }
}
