//! The page in a real browser: Debian's chromium, driven by playwright-core, judged by axe-core.

use super::Page;
use crate::world::{World, lossy, skip};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The package that controls the browser: installed by `.ci/run`, from npm.
fn modules() -> Option<PathBuf> {
    let program = assert_cmd::cargo::cargo_bin!("mailbag");
    let target = program.ancestors().nth(2)?;
    let modules = target.join("node/node_modules");
    ["playwright-core", "axe-core"]
        .iter()
        .all(|name| modules.join(name).is_dir())
        .then_some(modules)
}

#[test]
fn a_person_does_everything_in_a_browser() {
    run_in_chromium("browser.mjs");
}

#[test]
fn other_servers_and_other_agents_reach_nothing_through_the_persons_browser() {
    run_in_chromium("attacks.mjs");
}

#[test]
fn an_answer_reaches_the_message_that_it_was_written_for() {
    run_in_chromium("conversation.mjs");
}

#[test]
fn typed_text_decides_nothing_and_stays() {
    run_in_chromium("typing.mjs");
}

fn run_in_chromium(script: &str) {
    let Some(modules) = modules() else {
        return skip("playwright-core and axe-core are not installed in target/node");
    };
    let Some(browser) = ["/usr/bin/chromium", "/usr/bin/chromium-browser"]
        .into_iter()
        .find(|path| Path::new(path).exists())
    else {
        return skip("there is no chromium");
    };
    let world = World::alice_and_bob().settings("tag = \"webshop\"\n");
    let page = Page::of(&world);
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/web")
        .join(script);
    let mut command = Command::new("node");
    command
        .arg(script)
        .current_dir(world.path())
        .env("NODE_PATH", &modules);
    // The script runs the program as this test does.
    let bare = world.bare("");
    command.envs(
        bare.get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    command
        .env("PAGE_URL", &page.url)
        .env("PAGE_PROCESS", page.process().to_string())
        .env("CHROMIUM", browser);
    command.env("MAILBAG", assert_cmd::cargo::cargo_bin!("mailbag"));
    command.env_remove("MAILBAG_AGENT");
    let pictures = std::env::var_os("MAILBAG_TEST_PICTURES");
    command.envs(pictures.map(|directory| ("PICTURES", directory)));
    let ran = command.output().expect("node runs");
    let (out, err) = (lossy(&ran.stdout), lossy(&ran.stderr));
    println!("{out}");
    assert!(ran.status.success(), "{out}\n{err}");
}
