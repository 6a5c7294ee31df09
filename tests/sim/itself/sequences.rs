//! Rules that hold after any sequence of calls.

use super::*;

const DIRECTORIES: [&str; 4] = ["/a", "/b", "/a/deep", "/a/other"];
const FILES: usize = 4;

/// One call, chosen at random. Calls that cannot be are errors, and change nothing.
fn act(machine: &Machine, random: &mut Random) -> Result<()> {
    let root = machine.root();
    let (from, to) = (*random.pick(&DIRECTORIES), *random.pick(&DIRECTORIES));
    match random.below(8) {
        0 => root.make_directory(Path::new(to), 0o755),
        1 => root.remove_directory(Path::new(to)),
        2 => root.rename(Path::new(from), &*root, Path::new(to), Existing::Replace),
        3 | 4 => root.open(Path::new(to), Open::Outside)?.sync(Sync::Full),
        _ => {
            let name = random.below(FILES).to_string();
            let (from, to) = (
                root.open(Path::new(from), Open::Outside)?,
                root.open(Path::new(to), Open::Outside)?,
            );
            move_file(&from, &name, &to, &name)
        }
    }
}

/// The number of names of each file, which has its number as its content. Checks the number of links.
fn count_names(machine: &Machine) -> Vec<u64> {
    let mut names = vec![0; FILES];
    let mut links = vec![0; FILES];
    for (path, node) in machine.tree(Path::new("/")) {
        if let Node::File(bytes) = node
            && let Ok(number) = String::from_utf8_lossy(&bytes).parse::<usize>()
        {
            names[number] += 1;
            let meta = machine.root().stat(&path).expect("the tree has it");
            links[number] = meta.links;
        }
    }
    assert_eq!(names, links);
    names
}

#[test]
fn no_crash_loses_a_file_that_is_only_moved() {
    for seed in 0..150 {
        let mut random = Random::new(seed);
        let machine = machine();
        for number in 0..FILES {
            machine.write(format!("/a/{number}"), number.to_string());
        }
        machine.settle();
        while machine.steps() < 12 {
            let _ = act(&machine, &mut random);
        }
        assert_eq!(count_names(&machine), [1; FILES]);
        for at in 0..=machine.steps() {
            for fate in Fate::ALL {
                for crash in machine.crashes(at, &[fate], &mut random) {
                    let names = count_names(&crash.machine);
                    let most = if fate == Fate::PerDirectory { 9 } else { 1 };
                    let is_right = names.iter().all(|names| (1..=most).contains(names));
                    assert!(
                        is_right,
                        "seed {seed}, step {at}, {}: {names:?}",
                        crash.fate
                    );
                }
            }
        }
        machine.root().sync(Sync::All).expect("nothing fails");
        assert_eq!(crashes(&machine, Fate::Unordered).len(), 1);
    }
}
