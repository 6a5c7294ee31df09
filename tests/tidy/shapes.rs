//! The shapes of types, functions and conditions: unique type names, no tuples as parameters, and no condition in a filter
//! that ignores its value. The budgets may only fall.

use super::sources;
use regex::Regex;
use std::collections::BTreeMap;

/// The most functions with a tuple as a parameter.
const TUPLE_PARAMETERS: usize = 5;

#[test]
fn type_names_are_unique() {
    let pattern = Regex::new(
        r"^(?:\s*(?:pub(?:\([^)]*\))? )?(?:struct|enum|trait)|(?:pub(?:\([^)]*\))? )?type) (\w+)",
    )
    .expect("a valid pattern");
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in sources("src") {
        let is_feature = source.path.starts_with("src/features/");
        for (line, text) in &source.code {
            if let Some(name) = pattern.captures(text) {
                // Each feature has one of each.
                if is_feature && ["Fact", "State", "Settings"].contains(&&name[1]) {
                    continue;
                }
                let place = format!("{}:{line}", source.path);
                places.entry(name[1].to_owned()).or_default().push(place);
            }
        }
    }
    // Each command has its arguments, each level of a program its `Result`, and a build has one of the two NATS clients.
    for name in ["Args", "Result", "NatsClient"] {
        places.remove(name);
    }
    places.retain(|_, places| places.len() > 1);
    assert!(places.is_empty(), "repeated type names: {places:#?}");
}

#[test]
fn functions_take_no_tuples() {
    let pattern =
        Regex::new(r"fn (\w+)(?:<[^({;]*>)?\([^{;]*?: &?\([^)]").expect("a valid pattern");
    let mut found = Vec::new();
    for source in sources("src") {
        let code: Vec<&str> = source.code.iter().map(|(_, line)| line.as_str()).collect();
        for function in pattern.captures_iter(&code.join("\n")) {
            found.push(format!("{}: {}", source.path, &function[1]));
        }
    }
    assert!(
        found.len() <= TUPLE_PARAMETERS,
        "{} functions with a tuple parameter, {TUPLE_PARAMETERS} allowed: {found:#?}",
        found.len()
    );
}

#[test]
fn conditions_are_plain() {
    let mut found = Vec::new();
    for source in sources("src") {
        let filters = source
            .code
            .iter()
            .filter(|(_, text)| text.contains(".filter(|_|"));
        found.extend(filters.map(|(line, _)| format!("{}:{line}", source.path)));
    }
    assert!(
        found.is_empty(),
        "write `if`, or a guard of `match`: {found:?}"
    );
}

#[test]
fn paths_in_reports_are_written_as_text() {
    let field = Regex::new(
        r"^    (?:pub(?:\([^)]*\))? )?\w+: (?:Option<|Vec<)?(?:std::path::)?PathBuf>?,$",
    )
    .expect("a valid pattern");
    let mut found = Vec::new();
    for source in sources("src") {
        let (mut is_report, mut before) = (false, "");
        for (line, text) in &source.code {
            if text.starts_with("#[derive(") {
                is_report = text.contains("Serialize") && !text.contains("Deserialize");
            } else if text == "}" {
                is_report = false;
            }
            let is_written = before.contains("write_path") || before.contains("serde(skip)");
            if is_report && field.is_match(text) && !is_written {
                found.push(format!("{}:{line}", source.path));
            }
            before = text;
        }
    }
    assert!(
        found.is_empty(),
        "a path that is not UTF-8 would end the program; add `#[serde(serialize_with = \"write_path\")]`: {found:?}"
    );
}
