//! Replacements between check and use: the test replaces a file just before a call of the router.

use crate::files;
use crate::sim::CallName;
use crate::town::{Town, exchange, tool};
use mailbag::router::daemon;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;

/// One pass of the router, with `act` before the first call that `is_it`. Returns the result of `act`.
fn pass_with<T: Send + 'static>(
    town: &Town,
    is_it: fn(CallName, &[PathBuf]) -> bool,
    act: impl FnOnce() -> T + Send + 'static,
) -> T {
    let (tell, told) = channel();
    let mut act = Some(act);
    let hook = move |call, paths: &[PathBuf]| {
        if is_it(call, paths)
            && let Some(act) = act.take()
        {
            tell.send(act()).expect("the test listens");
        }
        Ok(())
    };
    town.watched(hook, daemon::pass).expect("the pass is made");
    told.try_recv().expect("the call came")
}

fn renames_into(call: CallName, paths: &[PathBuf], directory: &str) -> bool {
    call == CallName::Rename && paths[1].to_string_lossy().contains(directory)
}

fn claims(call: CallName, paths: &[PathBuf]) -> bool {
    renames_into(call, paths, "spool/claim/")
}

fn delivers_to_bob(call: CallName, paths: &[PathBuf]) -> bool {
    renames_into(call, paths, "inbox/bob/")
}

const GOOD: &str = r#"{"to": "bob", "body": "as it was looked at"}"#;

/// alice drops a good file, and it is something else by the time of the claim.
fn swapped(town: &Town, other: impl FnOnce(&Path)) {
    let path = town.drop_file("alice", "x.json", GOOD);
    let outside = town.path().join("other");
    other(&outside);
    pass_with(town, claims, move || files::rename(&outside, &path));
}

fn codes(town: &Town) -> Vec<String> {
    town.refusals("alice")
        .iter()
        .map(|refusal| refusal["code"].as_str().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn a_file_swapped_for_another_delivers_what_was_claimed_and_never_what_was_not() {
    let town = Town::alice_and_bob();
    swapped(&town, |other| {
        files::write(other, r#"{"to": "bob", "body": "another"}"#)
    });
    assert_eq!(town.bodies("bob"), ["another"]);
    let kept = &town.names("sent/alice")[0];
    assert_eq!(town.read(&format!("sent/alice/{kept}"))["body"], "another");
    town.verify();
}

#[test]
fn a_file_swapped_for_a_symlink_is_refused_and_the_secret_stays_one() {
    let town = Town::alice_and_bob();
    let secret = town.path().join("secret");
    files::write(&secret, r#"{"to": "alice", "body": "the secret"}"#);
    swapped(&town, |other| symlink(&secret, other).expect("the world"));
    assert_eq!(
        (codes(&town), town.count("bob")),
        (vec!["symlink".to_owned()], 0)
    );
    assert!(
        !town
            .inbox("alice")
            .iter()
            .any(|mail| mail.to_string().contains("the secret"))
    );
}

#[test]
fn a_file_swapped_for_a_fifo_or_a_directory_is_refused_and_hangs_nothing() {
    let makers: [fn(&Path); 1] = [|other| tool("mkfifo", [other.as_os_str()])];
    for make in makers {
        let town = Town::alice_and_bob();
        swapped(&town, make);
        assert_eq!(
            (codes(&town), town.count("bob")),
            (vec!["not_a_file".to_owned()], 0)
        );
    }
    let town = Town::alice_and_bob();
    let path = town.drop_file("alice", "x.json", GOOD);
    let directory = town.path().join("directory");
    files::make_dir(&directory);
    pass_with(&town, claims, move || exchange(&directory, &path));
    assert_eq!(
        (codes(&town), town.count("bob")),
        (vec!["not_a_file".to_owned()], 0)
    );
}

#[test]
fn an_outbox_swapped_for_a_symlink_at_the_pickup_delivers_no_file_of_its_target() {
    let town = Town::alice_and_bob();
    town.drop_file("alice", "x.json", GOOD);
    let (elsewhere, link) = (town.path().join("elsewhere"), town.path().join("link"));
    files::make_dir(&elsewhere);
    files::write(
        elsewhere.join("x.json"),
        r#"{"to": "bob", "body": "not mine"}"#,
    );
    symlink(&elsewhere, &link).expect("the world");
    let outbox = town.room("outbox/alice");
    pass_with(&town, claims, move || exchange(&link, &outbox));
    assert_eq!(town.bodies("bob"), ["as it was looked at"]);
    assert!(elsewhere.join("x.json").is_file());
}

#[test]
fn an_inbox_swapped_for_a_symlink_at_the_delivery_writes_no_file_to_its_target() {
    let town = Town::alice_and_bob();
    town.drop_file("alice", "x.json", GOOD);
    let (elsewhere, link) = (town.path().join("elsewhere"), town.path().join("link"));
    files::make_dir(&elsewhere);
    symlink(&elsewhere, &link).expect("the world");
    let inbox = town.room("inbox/bob");
    let swap = move || exchange(&link, &inbox);
    pass_with(&town, delivers_to_bob, swap.clone());
    assert_eq!(fs::read_dir(&elsewhere).expect("it stays").count(), 0);
    swap();
    town.pass();
    assert_eq!(town.bodies("bob"), ["as it was looked at"]);
}

#[test]
fn a_writer_that_opened_the_file_before_the_claim_and_writes_after_the_commit_changes_no_copy() {
    let town = Town::alice_and_bob();
    let path = town.drop_file("alice", "x.json", GOOD);
    // Opened when the router has looked; written when the first copy is about to be delivered.
    let mut held: Option<File> = None;
    let (tell, told) = channel();
    let hook = move |call, paths: &[PathBuf]| {
        if claims(call, paths) {
            let file = OpenOptions::new().write(true).open(&path);
            held = Some(file.expect("its own file"));
        }
        if delivers_to_bob(call, paths) {
            let mut file = held.take().expect("it was opened");
            let written = file.write_all(&[b'x'; 100]);
            tell.send(written).expect("the test listens");
        }
        Ok(())
    };
    town.watched(hook, daemon::pass).expect("the pass is made");
    let written = told.try_recv().expect("both moments came");
    written.expect("its own file");
    assert_eq!(town.bodies("bob"), ["as it was looked at"]);
    town.verify();
}

#[test]
fn a_file_written_between_check_and_pickup_is_read_again_after_it_is_closed() {
    let town = Town::alice_and_bob();
    let path = town.drop_file("alice", "x.json", GOOD);
    let mut file = pass_with(&town, claims, move || {
        let mut file = OpenOptions::new()
            .write(true)
            .truncate(true)
            .open(&path)
            .expect("its own file");
        file.write_all(br#"{"to": "bob", "body": "half of"#)
            .expect("its own file");
        file
    });
    assert_eq!(
        (town.count("bob"), codes(&town).len()),
        (0, 0),
        "it waits for its writer"
    );
    file.write_all(br#" the new one and the rest"}"#)
        .expect("its own file");
    drop(file);
    town.pass();
    assert_eq!(town.bodies("bob"), ["half of the new one and the rest"]);
}
