//! The simulated power cuts against real ones: the steps of stories are repeated on an ext4, xfs or btrfs image, the power is
//! cut, and the disk afterwards must be one that the simulation allows.

use super::explore::{Exploration, Size, seed};
use super::story::{Act, ROOM, Story, drops};
use crate::images::device::{Cut, Kind, PowerDevice};
use crate::sim::{Fate, Machine, Node, Random};
use crate::world::skip;
use mailbag::agent::{self, AgentFields};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

type Tree = BTreeMap<PathBuf, Node>;

/// The number of cuts on each file system.
fn cuts() -> usize {
    if Size::of_run() == Size::Sample {
        30
    } else {
        300
    }
}

/// Everything below a real directory, by its path in there.
fn tree_of(root: &Path, at: &Path, tree: &mut Tree) -> std::io::Result<()> {
    for entry in fs::read_dir(at)? {
        let path = entry?.path();
        let kind = path.symlink_metadata()?.file_type();
        let node = if kind.is_dir() {
            tree_of(root, &path, tree)?;
            Node::Directory
        } else if kind.is_symlink() {
            Node::Link(fs::read_link(&path)?)
        } else {
            Node::File(fs::read(&path)?)
        };
        let below = path.strip_prefix(root).expect("it is below");
        tree.insert(Path::new("/").join(below), node);
    }
    Ok(())
}

/// The disks that the simulation allows at one point: the names, and for each name the contents.
struct Allowed {
    names: BTreeSet<Vec<PathBuf>>,
    nodes: BTreeMap<PathBuf, Vec<Node>>,
}

impl Allowed {
    fn at(machine: &Machine, at: usize, fate: Fate) -> Allowed {
        let mut allowed = Allowed {
            names: BTreeSet::new(),
            nodes: BTreeMap::new(),
        };
        for seed in 0..4 {
            for crash in machine.crashes(at, &[fate], &mut Random::new(seed)) {
                let tree = without_boot(crash.machine.tree(Path::new("/")));
                allowed.names.insert(tree.keys().cloned().collect());
                for (path, node) in tree {
                    let nodes = allowed.nodes.entry(path).or_default();
                    if !nodes.contains(&node) {
                        nodes.push(node);
                    }
                }
            }
        }
        allowed
    }

    /// Why a disk is not allowed.
    fn objection(&self, tree: &Tree) -> Option<String> {
        let names: BTreeSet<&PathBuf> = tree.keys().collect();
        let different = |allowed: &Vec<PathBuf>| -> Vec<String> {
            let allowed: BTreeSet<&PathBuf> = allowed.iter().collect();
            let sign = |path: &PathBuf| {
                if allowed.contains(path) {
                    "without"
                } else {
                    "with"
                }
            };
            let paths = names.symmetric_difference(&allowed);
            paths
                .map(|path| format!("{} {}", sign(path), path.display()))
                .collect()
        };
        let nearest = self
            .names
            .iter()
            .map(different)
            .min_by_key(Vec::len)
            .expect("there is a disk");
        if !nearest.is_empty() {
            return Some(format!("the nearest allowed disk, but {nearest:?}"));
        }
        let wrong = tree
            .iter()
            .find(|(path, node)| !self.nodes[*path].contains(node));
        wrong.map(|(path, node)| {
            format!(
                "{} as {node:?}; allowed is {:?}",
                path.display(),
                self.nodes[path]
            )
        })
    }
}

/// The id of the boot differs after each cut.
fn without_boot(mut tree: Tree) -> Tree {
    tree.retain(|path, _| !path.starts_with("/proc"));
    tree
}

fn compare(kind: Kind, fate: Fate, stories: &[Story]) {
    if let Some(why) = kind.unavailable() {
        skip(format_args!("power cuts on {kind}: {why}"));
        return;
    }
    let mut random = Random::new(seed());
    let mut device = PowerDevice::new(kind).expect("a device");
    for number in 0..cuts() {
        let story = random.pick(stories);
        let scenes = Exploration::new(story).scenes();
        let scene = random.pick(&scenes);
        let mut play = scene.play.clone();
        play.play(&story.acts[scene.act])
            .expect("it went well before");
        let at = random.below(play.machine.steps() + 1);
        let name = format!("run-{number}");
        let root = device.path().join(&name);
        play.machine
            .replay(at, &root)
            .expect("the steps can be repeated");
        let cut = *random.pick(&[Cut::Hard, Cut::AfterCommit]);
        device.cut(cut).expect("a cut");
        device.remount().expect("the power is back");
        let (root, mut found) = (device.path().join(&name), Tree::new());
        tree_of(&root, &root, &mut found).expect("it can be read");
        let objection = Allowed::at(&play.machine, at, fate).objection(&without_boot(found));
        let words = play.machine.steps_in_words(at);
        assert_eq!(
            objection,
            None,
            "{kind}, {}, act {}, step {at}, {cut:?}, seed {}\n{}",
            story.name,
            scene.act,
            seed(),
            words.join("\n")
        );
        fs::remove_dir_all(&root).expect("it is ours");
    }
}

fn stories() -> Vec<Story> {
    let agents = ["alice", "bob", "carol"];
    let mail = Story::new("mail that is moved", &agents).then([
        drops("alice", "a1", json!({"to": "all", "body": "to all"})),
        Act::pass(ROOM),
        Act::MoveLoosely("room/inbox/bob"),
        drops("bob", "b1", json!({"to": "alice", "body": "read"})),
        Act::pass(ROOM),
        Act::Do(ROOM, |room| {
            agent::add(room, &["dave".to_owned()], &AgentFields::default()).map(drop)
        }),
        drops("bob", "b2", json!({"to": "dave", "body": "welcome"})),
        Act::pass(ROOM),
    ]);
    let rotation = Story::new("a log that rotates", &agents)
        .with("MAILBAG_TEST_SEGMENT_BYTES", "1000")
        .with("MAILBAG_TEST_SNAPSHOT_BYTES", "500")
        .then((0..4).flat_map(|n| {
            let message = json!({"to": "bob", "body": "more"});
            [drops("alice", &format!("a{n}"), message), Act::pass(ROOM)]
        }));
    vec![mail, rotation]
}

#[test]
fn a_power_cut_on_ext4_leaves_what_the_simulation_allows() {
    compare(Kind::Ext4, Fate::Journal, &stories());
}

#[test]
fn a_power_cut_on_xfs_leaves_what_the_simulation_allows() {
    compare(Kind::Xfs, Fate::Journal, &stories());
}

#[test]
fn a_power_cut_on_btrfs_leaves_what_the_simulation_allows() {
    compare(Kind::Btrfs, Fate::PerDirectory, &stories());
}
