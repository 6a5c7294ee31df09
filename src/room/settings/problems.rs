//! The problems of a `settings.toml`: each with its line and a correction.

use super::Settings;
use super::values::to_toml;
use crate::base::error::{Problem, did_you_mean};
use crate::base::limits;
use crate::message::address::quoted;
use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer, Error};

/// Longest default value that is shown with an error, in bytes.
const DEFAULT_SHOWN: usize = 100;

/// Returns the problems of all keys. Each key is read alone, because serde stops at the first error.
pub(super) fn problems_of(
    text: &str,
    table: &Spanned<DeTable<'_>>,
    syntax: &[Error],
) -> Vec<Problem> {
    let mut problems: Vec<Problem> = syntax.iter().map(|error| not_toml(text, error)).collect();
    for (name, value) in table.get_ref() {
        let one = DeTable::from_iter([(name.clone(), value.clone())]);
        let alone = Deserializer::from(Spanned::new(table.span(), one));
        if let Err(error) = Settings::deserialize(alone) {
            let at = error.span().map_or(name.span().start, |span| span.start);
            let mut path = vec![name.get_ref().to_string()];
            add_inner_keys(value, at, &mut path);
            problems.push(problem(&path, error.message()).at(line(text, at)));
        }
    }
    problems.truncate(limits::PROBLEMS);
    problems
}

/// Adds the keys of the tables in `value` that lead to this offset.
fn add_inner_keys(value: &Spanned<DeValue<'_>>, at: usize, path: &mut Vec<String>) {
    let inner = value
        .get_ref()
        .as_table()
        .into_iter()
        .flatten()
        .find(|(_, value)| value.span().contains(&at));
    if let Some((name, value)) = inner {
        path.push(name.get_ref().to_string());
        add_inner_keys(value, at, path);
    }
}

fn problem(path: &[String], message: &str) -> Problem {
    if let Some(rest) = message.strip_prefix("unknown field `")
        && let Some((name, known)) = rest.split_once("`, expected ")
    {
        return unknown(name, known);
    }
    let wanted = message
        .rsplit_once("expected ")
        .map_or(message, |(_, wanted)| wanted);
    let wanted = if message.starts_with("unknown variant") {
        wanted.replace('`', "\"")
    } else {
        wanted.replace("a boolean", "true or false")
    };
    let default = default_value(path);
    let or_default = if default.is_empty() || default.len() > DEFAULT_SHOWN {
        String::new()
    } else {
        format!(", such as the default {default}")
    };
    let what = format!("{} has an invalid value", path.join("."));
    Problem::new("bad_setting", what).fix(format!("give {wanted}{or_default}"))
}

fn default_value(path: &[String]) -> String {
    let defaults = serde_json::to_value(Settings::default()).unwrap_or_default();
    let value = path
        .iter()
        .try_fold(&defaults, |value, key| value.get(key))
        .filter(|value| !matches!(value, Value::Object(fields) if fields.is_empty()));
    value.map(to_toml).unwrap_or_default()
}

/// The problem of an unknown key. `known` has the known keys in backticks.
fn unknown(name: &str, known: &str) -> Problem {
    let known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
    let fix = did_you_mean(name, known.iter().copied())
        .unwrap_or_else(|| format!("use one of {}", known.join(", ")));
    let what = format!("unknown setting {}", quoted(name));
    Problem::new("unknown_setting", what).fix(fix)
}

fn not_toml(text: &str, error: &Error) -> Problem {
    let place = error
        .span()
        .map(|span| line(text, span.start))
        .unwrap_or_default();
    let message = error.message().lines().next().unwrap_or_default();
    Problem::new(
        "not_toml",
        format!("settings.toml is not TOML here: {message}"),
    )
    .at(place)
    .fix("write `key = value`, with strings in quotes; `mailbag settings` lists the keys")
}

fn line(text: &str, offset: usize) -> String {
    let ends = text.bytes().take(offset).filter(|byte| *byte == b'\n');
    format!("line {}", 1 + ends.count())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::room::settings::KEYS;

    fn only_problem(text: &str) -> Problem {
        let mut problems = Settings::parse(text).expect_err(text);
        assert_eq!(problems.len(), 1, "{text}: {problems:?}");
        problems.remove(0)
    }

    #[test]
    fn every_key_is_found_by_a_near_name() {
        for key in KEYS {
            let problem = only_problem(&format!("\n{}x = 1\n", key.key));
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
                "give a whole number from 0 (no limit) to 1000000, such as the default 6000",
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
                "give one of \"off\", \"warn\", \"deny\", such as the default \"deny\"",
            ),
            (
                "mailbox = \"yes\"\n",
                "line 1",
                "mailbox has an invalid value",
                "give true or false, such as the default false",
            ),
            (
                "[links.po]\ncarier = \"ssh\"\n",
                "line 2",
                "unknown setting \"carier\"",
                "did you mean carrier?",
            ),
        ] {
            let problem = only_problem(text);
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
