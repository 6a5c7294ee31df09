//! Tests of the unordered power cut with small programs: synced data always stays, other data is sometimes lost.

use super::letters::Random;
use super::tracer::{Plan, Tracer};
use super::weak::Unsynced;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

type Done = Result<(), Box<dyn std::error::Error>>;

/// The possible contents of a room after a shell script and a cut: names with contents.
fn after(script: &str) -> Result<BTreeSet<String>, Box<dyn std::error::Error>> {
    let mut seen = BTreeSet::new();
    for seed in 0..48 {
        let room = TempDir::new()?;
        let top = room.path().canonicalize()?;
        fs::create_dir(top.join("d"))?;
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir(&top);
        let unsynced = RefCell::new(Unsynced::default());
        let outcome =
            Tracer::new(&top)?.at_call(|call| unsynced.borrow_mut().about_to(call)).run(command, Plan::Count)?;
        let mut unsynced = unsynced.into_inner();
        unsynced.ended(&outcome);
        unsynced.undo(&mut Random(seed))?;
        let mut names = listed(&top, "")?;
        names.extend(listed(&top.join("d"), "d/")?);
        seen.insert(names.join(" "));
    }
    Ok(seen)
}

fn listed(directory: &Path, prefix: &str) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let mut listed = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            let content = fs::read_to_string(entry.path())?.replace('\0', "0");
            listed.push(format!("{prefix}{}={content}", entry.file_name().to_string_lossy()));
        }
    }
    listed.sort();
    Ok(listed)
}

fn set(texts: &[&str]) -> BTreeSet<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn synced_data_stays() -> Done {
    assert_eq!(after("printf one > a; sync a .; printf two > b; sync")?, set(&["a=one b=two"]));
    assert_eq!(after("printf one > a; sync a; mv a d/b; sync . d")?, set(&["d/b=one"]));
    Ok(())
}

#[test]
fn names_without_their_directories_and_bytes_without_their_files_may_go() -> Done {
    let names = after("printf one > a; sync a .; mv a d/b; sync d")?;
    assert_eq!(names, set(&["a=one", "d/b=one"]), "a move stands once both directories were synced");
    let bytes = after("printf one > a; sync .")?;
    assert!(bytes.contains("a=") && bytes.contains("a=one") && bytes.contains("a=000"), "{bytes:?}");
    assert!(!bytes.contains(""), "{bytes:?}");
    let order = after("printf 1 > a; sync a; mv a b; mv b d/c")?;
    assert_eq!(order, set(&["", "a=1", "b=1", "d/c=1"]), "a file is at one place");
    Ok(())
}
