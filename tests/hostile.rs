//! Hostile neighbours: a process that can write into one outbox cannot harm other agents.
//! `docs/security.md` names a test for each row of its table; a test here checks that those tests
//! exist.

mod budgets;
mod contexts;
mod broken;
mod crowding;
mod forging;
mod found;
mod isolation;
mod leaving;
mod locks;
mod many;
mod neighbours;
mod placed;
#[cfg(target_os = "linux")]
mod places;
mod showing;
#[cfg(target_os = "linux")]
mod swaps;
mod words;

use crate::files;
use std::fs;
use std::path::Path;

#[test]
fn every_test_that_the_table_of_security_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let table = files::read_text(root.join("docs/security.md"));
    let mut named = 0;
    for row in table.lines().filter(|line| line.starts_with('|')) {
        for word in row.split('`').filter(|word| is_test(word)) {
            let (path, name) = word
                .trim_start_matches(':')
                .rsplit_once("::")
                .expect("a file and a test");
            // A test of the library is below `tests` of its module.
            let (directory, path) = path
                .strip_suffix("::tests")
                .map_or(("tests", path), |path| ("src", path));
            let module = root.join(directory).join(path.replace("::", "/"));
            let file = Some(module.join("mod.rs"))
                .filter(|file| file.is_file())
                .unwrap_or(module.with_extension("rs"));
            let mut text =
                fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
            text.extend(fs::read_to_string(module.join("tests.rs")));
            assert_contains!(text, &format!("fn {name}("); "there is no test {word}");
            named += 1;
        }
    }
    assert!(named > 20, "{named}");
    let attacks = table
        .split("\n## ")
        .find(|part| part.starts_with("Attacks"))
        .expect("the table");
    let rows = attacks.lines().filter(|line| line.starts_with('|')).skip(2);
    let untested: Vec<&str> = rows.filter(|row| !row.split('`').any(is_test)).collect();
    assert!(untested.is_empty(), "rows without a test: {untested:#?}");
}

fn is_test(word: &str) -> bool {
    word.starts_with("::") || word.contains("::tests::")
}
