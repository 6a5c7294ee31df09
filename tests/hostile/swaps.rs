//! Replacements between check and use: a tracer stops the router at the entry of the call, and the
//! test replaces the file there.

use crate::files;
use crate::sweep::calls::Call;
use crate::sweep::tracer::{End, Plan, Tracer};
use crate::town::{Town, exchange, tool};
use std::cell::RefCell;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;

/// One pass of the router, with `act` at the entry of the first call that `is_it`.
fn pass_with(town: &Town, is_it: impl Fn(&Call) -> bool, act: impl FnOnce()) {
    let act = RefCell::new(Some(act));
    let outcome = Tracer::new(&town.room(""))
        .expect("the room is there")
        .at_call(|call| {
            if act.borrow().is_some() && is_it(call) {
                act.take().expect("it is there")();
            }
        })
        .run(town.bare("run --once"), Plan::Count)
        .expect("the router can be traced");
    assert_eq!(outcome.end, End::Exited(0), "{}", outcome.stderr);
    assert!(act.borrow().is_none(), "the call never came");
}

fn renames_into(call: &Call, directory: &str) -> bool {
    call.name.starts_with("rename")
        && call.paths.len() == 2
        && call.paths[1].to_string_lossy().contains(directory)
}

fn claims(call: &Call) -> bool {
    renames_into(call, "spool/claim/")
}

const GOOD: &str = r#"{"to": "bob", "body": "as it was looked at"}"#;

/// alice drops a good file, and it is something else by the time of the claim.
fn swapped(town: &Town, other: impl FnOnce(&Path)) {
    let path = town.drop_file("alice", "x.json", GOOD);
    let outside = town.path().join("other");
    other(&outside);
    pass_with(town, claims, || files::rename(&outside, &path));
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
    files::make_dir(town.path().join("directory"));
    pass_with(&town, claims, || {
        exchange(&town.path().join("directory"), &path)
    });
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
    pass_with(&town, claims, || {
        exchange(&link, &town.room("outbox/alice"))
    });
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
    pass_with(
        &town,
        |call| renames_into(call, "inbox/bob/"),
        || exchange(&link, &town.room("inbox/bob")),
    );
    assert_eq!(fs::read_dir(&elsewhere).expect("it stays").count(), 0);
    exchange(&link, &town.room("inbox/bob"));
    town.pass();
    assert_eq!(town.bodies("bob"), ["as it was looked at"]);
}

#[test]
fn a_writer_that_opened_the_file_before_the_claim_and_writes_after_the_commit_changes_no_copy() {
    let town = Town::alice_and_bob();
    let path = town.drop_file("alice", "x.json", GOOD);
    let held: RefCell<Option<File>> = RefCell::new(None);
    // Opened when the router has looked; written when the first copy is about to be delivered.
    let mut opened = false;
    let outcome = Tracer::new(&town.room(""))
        .expect("the room is there")
        .at_call(|call| {
            if claims(call) && !opened {
                opened = true;
                held.replace(Some(
                    OpenOptions::new()
                        .write(true)
                        .open(&path)
                        .expect("its own file"),
                ));
            }
            if renames_into(call, "inbox/bob/") {
                let mut file = held.take().expect("it was opened");
                file.write_all(&[b'x'; 100]).expect("its own file");
            }
        })
        .run(town.bare("run --once"), Plan::Count)
        .expect("the router can be traced");
    assert_eq!(outcome.end, End::Exited(0), "{}", outcome.stderr);
    assert!(opened && held.borrow().is_none(), "both moments came");
    assert_eq!(town.bodies("bob"), ["as it was looked at"]);
    town.verify();
}

#[test]
fn a_file_written_between_check_and_pickup_is_read_again_after_it_is_closed() {
    let town = Town::alice_and_bob();
    let path = town.drop_file("alice", "x.json", GOOD);
    let mut held = None;
    pass_with(&town, claims, || {
        let mut file = OpenOptions::new()
            .write(true)
            .truncate(true)
            .open(&path)
            .expect("its own file");
        file.write_all(br#"{"to": "bob", "body": "half of"#)
            .expect("its own file");
        held = Some(file);
    });
    assert_eq!(
        (town.count("bob"), codes(&town).len()),
        (0, 0),
        "it waits for its writer"
    );
    let mut file = held.take().expect("it was opened");
    file.write_all(br#" the new one and the rest"}"#)
        .expect("its own file");
    drop(file);
    town.pass();
    assert_eq!(town.bodies("bob"), ["half of the new one and the rest"]);
}
