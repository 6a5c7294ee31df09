//! Agents' texts are stored unchanged, and reach a terminal only as plain text.

use crate::files;
use crate::finding::{EVIL, is_tame};
use crate::town::{Town, copy_program, is_root, tool};
use crate::world::World;
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

#[test]
fn escapes_in_messages_and_names_are_kept_in_files_and_neutralised_on_every_line() {
    let town = Town::of("mallory bob");
    let good = json!({"id": "m1", "to": "bob", "subject": EVIL, "body": EVIL, "thread_id": "t", "mood": EVIL});
    town.mail("mallory", "good.json", good);
    town.mail(
        "mallory",
        &format!("{EVIL}.json"),
        json!({"to": EVIL, "type": EVIL, "body": "x"}),
    );
    town.drop_file(
        "mallory",
        &format!("not{EVIL}.json"),
        format!("{{\"to\": {EVIL}"),
    );
    files::make_dir(town.room(&format!("outbox/dir{EVIL}")));
    let routed = World::run(&town, &["run", "--once", "-v"]);
    assert!(is_tame(&routed.out) && is_tame(&routed.err), "{routed:?}");
    assert_eq!(town.inbox("bob")[0]["body"], EVIL, "kept as it came");
    assert_eq!(town.items("inbox bob")[0]["subject"], EVIL, "data is data");
    let looks: [&[&str]; 8] = [
        &["inbox", "bob"],
        &["inbox", "mallory"],
        &["status"],
        &["rejected", "list"],
        &["send", "--dry-run", EVIL, ""],
        &["agent", "show", EVIL],
        &["send", EVIL, EVIL, "--as", "mallory"],
        &["read", "--as", "bob", "--all"],
    ];
    for look in looks {
        let ran = World::run(&town, look);
        assert!(
            is_tame(&ran.out) && is_tame(&ran.err),
            "{look:?} shows {:?} {:?}",
            ran.out,
            ran.err
        );
    }
    let ran = World::run(&town, &["read", "--as", "mallory", "--all"]);
    assert!(is_tame(&ran.out) && is_tame(&ran.err), "{ran:?}");
    let file = town.write(&format!("context/{EVIL}.json"), format!("{{{EVIL}"));
    let ran = World::run(
        &town,
        &["send", "--dry-run", "--file", &file.to_string_lossy()],
    );
    assert!(is_tame(&ran.out) && is_tame(&ran.err), "{ran:?}");
}

#[test]
fn the_router_s_own_words_show_no_escapes_of_a_file_s_name() {
    if !is_root("a file that the router can't take") {
        return;
    }
    let mut town = Town::of("mallory bob");
    tool(
        "chown",
        [
            "-R".as_ref(),
            "65534:65534".as_ref(),
            town.path().as_os_str(),
            town.trust().as_os_str(),
        ],
    );
    fs::set_permissions(town.path(), fs::Permissions::from_mode(0o755)).expect("its own directory");
    town.mail(
        "mallory",
        &format!("{EVIL}.json"),
        json!({"to": "bob", "body": "x"}),
    );
    tool(
        "chown",
        ["0:0".as_ref(), town.room("outbox/mallory").as_os_str()],
    );
    let run = town.bare("run -v");
    let program = town.path().join("mailbag");
    copy_program(run.get_program(), &program);
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(program)
        .args(run.get_args());
    command.current_dir(town.path()).env("NO_COLOR", "1");
    town.start_by(command);
    town.wait("it says what is pending", || {
        town.words().contains("pending:")
    });
    assert!(is_tame(&town.words()), "{:?}", town.words());
    town.ok("trust --yes");
    town.wait_for_reason("ermission denied");
    let status = town.ok("status");
    assert!(is_tame(&status), "{status:?}");
}
