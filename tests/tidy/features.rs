//! The order of the features: the core knows none, and a feature reads only the features that are listed for it.

use super::floors::{Module, Tree, is_core};
use crate::files;
use regex::Regex;

/// The names of `src/features/mod.rs` that the core may use.
const SEAM: [&str; 4] = ["ALL", "Facts", "States", "Settings"];

/// The features that a feature may read. All others stand on their own.
const MAY_READ: [(&str, &str); 5] = [
    ("presence", "claims"),
    ("worklog", "claims"),
    ("worklog", "presence"),
    ("mailbox", "claims"),
    ("mailbox", "approvals"),
];

/// Names of features that a file of the core still uses, each with the reason. The list may only become shorter.
const STILL_NAMED: &[(&str, &str, &str)] = &[];

/// Parts of features that are still in the core. They move with the judges, because a batch is judged over copies of
/// their state. The list may only become shorter.
const NOT_MOVED: &[(&str, &[&str])] = &[
    (
        "links",
        &[
            "disk/layout/links",
            "log/state/links",
            "message/carried",
            "room/carriers",
            "room/links",
            "room/settings/links",
            "room/settings/nats",
            "room/settings/ssh",
            "router/parts/links",
            "router/steps/items",
            "router/steps/numbering",
            "router/steps/streams",
        ],
    ),
    ("archive", &["disk/layout/packs"]),
];

/// The imports of these parts by other files of the core. The number may only fall.
const USES: usize = 9;

/// The list in `src/features/mod.rs`.
fn features() -> Vec<String> {
    let text = files::read_text("src/features/mod.rs");
    let list = Regex::new(r"(?m)^features! \{([^}]*)\}").expect("a valid pattern");
    let list = list.captures(&text).expect("the list of features");
    let names = list[1].split(',').map(str::trim);
    names
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

#[test]
fn each_feature_is_a_folder_and_a_word_in_the_list() {
    let mut folders: Vec<String> = std::fs::read_dir("src/features")
        .expect("src/features")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_dir())
        .map(|path| path.file_name().expect("a name").to_string_lossy().into())
        .collect();
    let mut listed = features();
    folders.sort();
    listed.sort();
    assert_eq!(listed, folders);
}

/// The parts of a feature that are still in the core. They may name their feature.
fn parts_of(feature: &str) -> impl Iterator<Item = Module> {
    let parts = NOT_MOVED.iter().filter(move |(name, _)| *name == feature);
    parts.flat_map(|(_, parts)| {
        parts
            .iter()
            .map(|part| part.split('/').map(str::to_owned).collect())
    })
}

#[test]
fn the_core_names_no_feature() {
    let name = Regex::new(r"\bfeatures::\{?\s*((?:\w+[,\s]*)+)").expect("a valid pattern");
    let mut wrong = Vec::new();
    for (module, source) in &Tree::read().modules {
        if !is_core(module) {
            continue;
        }
        let code = source.text_of_code();
        for names in name.captures_iter(&code) {
            let names = names[1].split(|c: char| !(c.is_alphanumeric() || c == '_'));
            let names = names.filter(|name| !name.is_empty() && !SEAM.contains(name));
            let names = names.filter(|name| {
                let is_own = parts_of(name).any(|part| module.starts_with(&part));
                let still = STILL_NAMED
                    .iter()
                    .map(|(file, feature, _)| (*file, *feature));
                !is_own && !still.into_iter().any(|one| one == (&source.path, name))
            });
            wrong.extend(names.map(|name| format!("{} names features::{name}", source.path)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_feature_reads_only_what_it_may_read() {
    let (tree, features) = (Tree::read(), features());
    let field = Regex::new(r"\b(?:states|features)\s*\.(\w+)").expect("a valid pattern");
    let place = |name: &str| features.iter().position(|one| one == name);
    let mut wrong = Vec::new();
    for (module, source) in &tree.modules {
        if module[0] != "features" || module.len() == 1 || !features.contains(&module[1]) {
            continue;
        }
        let own = module[1].as_str();
        let used = tree.used_by(module, source).into_iter();
        let mut used: Vec<String> = used
            .filter(|used| used[0] == "features" && used.len() > 1)
            .map(|used| used[1].clone())
            .collect();
        let code = source.text_of_code();
        used.extend(field.captures_iter(&code).map(|field| field[1].to_owned()));
        for used in used.iter().filter(|used| *used != own) {
            let is_allowed = MAY_READ.contains(&(own, used)) && place(used) < place(own);
            if !is_allowed && place(used).is_some() {
                wrong.push(format!("{} reads {used}", source.path));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_parts_of_features_in_the_core_become_fewer() {
    let tree = Tree::read();
    let parts = NOT_MOVED.iter().flat_map(|(_, parts)| parts.iter());
    let parts: Vec<Module> = parts
        .map(|part| part.split('/').map(str::to_owned).collect())
        .collect();
    let moved: Vec<_> = parts
        .iter()
        .filter(|part| !tree.modules.contains_key(*part))
        .collect();
    assert!(moved.is_empty(), "remove from the list: {moved:?}");
    let is_part = |module: &Module| parts.iter().any(|part| module.starts_with(part));
    let mut uses = Vec::new();
    for (module, source) in &tree.modules {
        if !is_core(module) || is_part(module) {
            continue;
        }
        let used = tree.used_by(module, source).into_iter().filter(is_part);
        uses.extend(used.map(|used| format!("{} uses {}", source.path, used.join("::"))));
    }
    let (count, uses) = (uses.len(), uses.join("\n"));
    assert!(count <= USES, "{count} uses, {USES} allowed:\n{uses}");
}

#[test]
fn each_exception_is_used() {
    for (file, feature, _) in STILL_NAMED {
        let text = files::read_text(file);
        assert!(text.contains(&format!("features::{feature}")), "{file}");
    }
}
