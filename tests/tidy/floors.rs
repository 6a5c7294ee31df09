//! The floors of `src/`: no file imports from a floor after its own in `lib.rs`, and a floor has no
//! import cycles.

use super::{Source, sources};
use crate::files;
use std::collections::{BTreeMap, BTreeSet};

/// A module's path below the crate.
pub(super) type Module = Vec<String>;

/// All modules, and which names each hands on from its parts.
pub(super) struct Tree {
    pub(super) modules: BTreeMap<Module, Source>,
    handed_on: BTreeMap<(Module, String), Module>,
}

#[test]
fn a_file_imports_only_from_its_floor_and_from_those_above_it_in_lib_rs() {
    let tree = Tree::read();
    let floors = floors();
    let level = |module: &Module| {
        floors
            .iter()
            .position(|floor| *floor == module[0])
            .expect("it is in lib.rs")
    };
    let mut wrong = Vec::new();
    for (module, source) in &tree.modules {
        let below = tree
            .used_by(module, source)
            .into_iter()
            .filter(|used| level(used) > level(module));
        wrong.extend(below.map(|used| format!("{} uses crate::{}", source.path, used.join("::"))));
    }
    assert!(
        wrong.is_empty(),
        "against the order in lib.rs:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let tree = Tree::read();
    let edges: BTreeMap<&Module, BTreeSet<Module>> = tree
        .modules
        .iter()
        .map(|(module, source)| {
            // A folder's first file and its parts are one.
            let used = tree.used_by(module, source).into_iter();
            (
                module,
                used.filter(|used| !module.starts_with(used) && !used.starts_with(module))
                    .collect(),
            )
        })
        .collect();
    let circles: Vec<String> = edges
        .iter()
        .flat_map(|(module, used)| used.iter().map(move |one| (*module, one)))
        .filter(|(module, used)| reaches(&edges, used, module))
        .map(|(module, used)| format!("{} uses {}", module.join("::"), used.join("::")))
        .collect();
    assert!(circles.is_empty(), "in a circle:\n{}", circles.join("\n"));
}

#[test]
fn a_face_uses_commands_and_queries_and_not_what_is_below_them() {
    // `mailbag run` is the router.
    const ALLOWED: [(&str, &str); 1] = [("cli::verbs::run", "router::daemon")];
    let tree = Tree::read();
    let is_face = |module: &Module| {
        ["cli", "web"].contains(&module[0].as_str())
            || module.starts_with(&["clients".into(), "mcp".into()])
    };
    let is_below = |used: &Module| match used[0].as_str() {
        "log" | "router" => true,
        "room" => used
            .get(1)
            .is_some_and(|part| ["inbox", "outbox", "spool"].contains(&part.as_str())),
        _ => false,
    };
    let mut wrong = BTreeSet::new();
    for (module, source) in tree.modules.iter().filter(|(module, _)| is_face(module)) {
        let below = tree.used_by(module, source).into_iter().filter(is_below);
        wrong.extend(below.map(|used| (module.join("::"), used.join("::"))));
    }
    let wrong: Vec<_> = wrong
        .iter()
        .map(|(face, used)| (face.as_str(), used.as_str()))
        .collect();
    assert_eq!(wrong, ALLOWED, "a face goes around the commands");
}

/// Returns true if imports lead from one module to another.
fn reaches(edges: &BTreeMap<&Module, BTreeSet<Module>>, from: &Module, to: &Module) -> bool {
    let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(module) = next.pop() {
        if module == to {
            return true;
        }
        if seen.insert(module) {
            next.extend(edges.get(module).into_iter().flatten());
        }
    }
    false
}

#[test]
fn each_floor_says_what_it_is_for_and_what_does_not_belong_there() {
    for floor in floors() {
        let text = files::read_text(format!("src/{floor}/mod.rs"));
        let said: Vec<&str> = text
            .lines()
            .take_while(|line| line.starts_with("//!"))
            .collect();
        assert!(
            (6..=16).contains(&said.len()),
            "{floor} says it in {} lines",
            said.len()
        );
        assert!(
            said.iter()
                .any(|line| line.contains("does not belong here")),
            "{floor}"
        );
    }
}

/// The floors in `lib.rs`, from the ground up.
fn floors() -> Vec<String> {
    let text = files::read_text("src/lib.rs");
    text.lines()
        .filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'))
        .map(str::to_owned)
        .collect()
}

impl Tree {
    pub(super) fn read() -> Tree {
        let modules: BTreeMap<Module, Source> = sources("src")
            .into_iter()
            .filter_map(|source| Some((module(&source.path)?, source)))
            .collect();
        let mut tree = Tree {
            modules,
            handed_on: BTreeMap::new(),
        };
        let mut handed_on = BTreeMap::new();
        for (module, source) in &tree.modules {
            for path in imports(&source.text_of_code(), "pub use ") {
                let path: Module = path.into_iter().skip_while(|word| word == "self").collect();
                let name = path.last().cloned().unwrap_or_default();
                let target = tree.deepest(module.iter().cloned().chain(path).collect());
                if target.len() > module.len() {
                    handed_on.insert((module.clone(), name), target);
                }
            }
        }
        tree.handed_on = handed_on;
        tree
    }

    /// The modules that a file names by `crate::` or `super::`, but for itself. Imports of features by the core are left
    /// out, and held by `tests/tidy/features.rs`.
    pub(super) fn used_by(&self, module: &Module, source: &Source) -> BTreeSet<Module> {
        let code = source.text_of_code();
        let mut used = BTreeSet::new();
        for path in imports(&code, "use ").into_iter().chain(inline(&code)) {
            let absolute: Module = match path[0].as_str() {
                "crate" => path[1..].to_vec(),
                "super" => {
                    let up = path.iter().take_while(|word| *word == "super").count();
                    let base = module.len().saturating_sub(up);
                    module[..base].iter().chain(&path[up..]).cloned().collect()
                }
                _ => continue,
            };
            let target = self.deepest(absolute);
            let is_seam =
                is_core(module) && target.first().is_some_and(|floor| floor == "features");
            if !target.is_empty() && target != *module && !is_seam {
                used.insert(target);
            }
        }
        used
    }

    /// The file that a path leads to, through what folders hand on.
    fn deepest(&self, path: Module) -> Module {
        let mut known: Module = path.clone();
        while !known.is_empty() && !self.modules.contains_key(&known) {
            known.pop();
        }
        match path
            .get(known.len())
            .and_then(|name| self.handed_on.get(&(known.clone(), name.clone())))
        {
            Some(part) => part.clone(),
            None => known,
        }
    }
}

/// `src/room/lock.rs` is `room::lock`, `src/room/mod.rs` is `room`.
fn module(path: &str) -> Option<Module> {
    let below = path.strip_prefix("src/")?.strip_suffix(".rs")?;
    let words: Module = below
        .split('/')
        .filter(|word| *word != "mod")
        .map(str::to_owned)
        .collect();
    (!matches!(words[0].as_str(), "lib" | "main")).then_some(words)
}

/// Returns true for a module of plain mail.
pub(super) fn is_core(module: &Module) -> bool {
    ["base", "disk", "message", "log", "room", "router"].contains(&module[0].as_str())
}

/// Every path of the declarations that begin with these words, with lists written out.
pub(super) fn imports(code: &str, beginning: &str) -> Vec<Module> {
    let mut paths = Vec::new();
    for (at, _) in code.match_indices(beginning) {
        let line = code[..at].rsplit('\n').next().unwrap_or_default();
        let is_declaration = line.trim().is_empty() || line.trim_start().starts_with("pub");
        if let Some(end) = code[at..].find(';').filter(|_| is_declaration) {
            let tree: String = code[at + beginning.len()..at + end]
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ");
            write_out(&tree, &[], &mut paths);
        }
    }
    paths
}

fn write_out(tree: &str, before: &[String], paths: &mut Vec<Module>) {
    let words = |text: &str| -> Module {
        let text = text.split(" as ").next().unwrap_or_default();
        text.split("::")
            .map(|word| word.trim().to_owned())
            .filter(|word| !word.is_empty() && word != "self")
            .collect()
    };
    let (head, list) = match tree.split_once('{') {
        Some((head, list)) => (head, list.rsplit_once('}').map_or(list, |(list, _)| list)),
        None => {
            let path: Module = before.iter().cloned().chain(words(tree)).collect();
            if !path.is_empty() {
                paths.push(path);
            }
            return;
        }
    };
    let before: Module = before.iter().cloned().chain(words(head)).collect();
    let mut depth = 0;
    let parts = list.split(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    for part in parts.filter(|part| !part.trim().is_empty()) {
        write_out(part.trim(), &before, paths);
    }
}

/// Paths that stand in the middle of code.
fn inline(code: &str) -> Vec<Module> {
    let mut paths = Vec::new();
    for root in ["crate::", "super::"] {
        for (at, _) in code.match_indices(root) {
            let is_middle =
                code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
            let path: String = code[at..]
                .chars()
                .take_while(|c| c.is_alphanumeric() || "_:".contains(*c))
                .collect();
            if !is_middle {
                paths.push(
                    path.split("::")
                        .filter(|word| !word.is_empty())
                        .map(str::to_owned)
                        .collect(),
                );
            }
        }
    }
    paths
}
