//! The licences of everything that is compiled in: what `cargo deny check licenses` does, without a network.

use crate::files;
use crate::world::{lossy, parse_json};
use std::process::Command;
use std::sync::LazyLock;

/// Licences that may be used; an expression passes if one of its alternatives needs only these.
static ALLOWED: LazyLock<Vec<String>> = LazyLock::new(|| {
    let deny = files::read_text("deny.toml");
    let deny: toml::Table = deny.parse().expect("TOML");
    let list = deny["licenses"]["allow"].clone();
    list.try_into().expect("a list of licences")
});

#[test]
fn every_dependency_has_a_licence_that_may_be_used() {
    let host = run("rustc", &["-vV"]);
    let host = host
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .expect("rustc says its host");
    let metadata = run(
        env!("CARGO"),
        &[
            "metadata",
            "--offline",
            "--locked",
            "--format-version=1",
            "--filter-platform",
            host,
        ],
    );
    let metadata = parse_json(&metadata);
    let packages = metadata["packages"].as_array().expect("a list");
    assert!(packages.len() > 20, "only {} packages", packages.len());
    let refused: Vec<String> = packages
        .iter()
        .filter(|package| !package["license"].as_str().is_some_and(is_allowed))
        .map(|package| {
            format!(
                "{} {}: {}",
                package["name"], package["version"], package["license"]
            )
        })
        .collect();
    assert!(
        refused.is_empty(),
        "licences that are not on the list:\n{}",
        refused.join("\n")
    );
}

#[test]
fn the_packages_have_the_text_of_every_licence() {
    let Ok(printed) = Command::new("python3").arg("packaging/licences").output() else {
        return crate::world::skip("there is no python3");
    };
    assert!(printed.status.success(), "{}", lossy(&printed.stderr));
    let text = String::from_utf8(printed.stdout).expect("it prints UTF-8");
    for part in [
        "serde_json 1.",
        "the standard library of Rust",
        "Permission is hereby granted",
        "Apache License",
        "Meta Platforms",
    ] {
        assert!(text.contains(part), "{part} is missing");
    }
    assert!(
        !text.contains("GNU GENERAL PUBLIC LICENSE"),
        "a licence that is not used"
    );
}

#[test]
fn expressions_are_read_as_spdx_has_them() {
    for allowed in [
        "MIT",
        "MIT/Apache-2.0",
        "GPL-3.0 OR MIT",
        "(MIT OR GPL-3.0) AND Unicode-3.0",
        "MIT AND ISC",
    ] {
        assert!(is_allowed(allowed), "{allowed}");
    }
    let llvm = "Apache-2.0 WITH LLVM-exception OR GPL-2.0";
    assert!(is_allowed(llvm));
    for refused in [
        "",
        "GPL-3.0",
        "MIT AND GPL-3.0",
        "(MIT OR ISC) AND GPL-3.0",
        "MIT WITH odd-exception",
        "MIT OR",
    ] {
        assert!(!is_allowed(refused), "{refused}");
    }
}

fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .expect("it starts");
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {}",
        lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("it prints UTF-8")
}

fn is_allowed(expression: &str) -> bool {
    let spaced = expression
        .replace('/', " OR ")
        .replace('(', " ( ")
        .replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    any_of(&mut rest) == Some(true) && rest.is_empty()
}

fn any_of(rest: &mut &[&str]) -> Option<bool> {
    let mut allowed = all_of(rest)?;
    while take(rest, "OR") {
        allowed |= all_of(rest)?;
    }
    Some(allowed)
}

fn all_of(rest: &mut &[&str]) -> Option<bool> {
    let mut allowed = one(rest)?;
    while take(rest, "AND") {
        allowed &= one(rest)?;
    }
    Some(allowed)
}

fn one(rest: &mut &[&str]) -> Option<bool> {
    if take(rest, "(") {
        let allowed = any_of(rest)?;
        return take(rest, ")").then_some(allowed);
    }
    let (name, after) = rest.split_first()?;
    *rest = after;
    if take(rest, "WITH") {
        let (exception, after) = rest.split_first()?;
        *rest = after;
        return Some(ALLOWED.contains(&format!("{name} WITH {exception}")));
    }
    Some(ALLOWED.iter().any(|allowed| allowed == name))
}

fn take(rest: &mut &[&str], word: &str) -> bool {
    match rest.split_first() {
        Some((first, after)) if *first == word => {
            *rest = after;
            true
        }
        _ => false,
    }
}
