//! The recipes of `docs/recipes.md`, run unchanged: a line notifies the human, and cron sends the
//! events.

use super::echo;
use crate::beside::Beside;
use crate::files;
use crate::town::Town;
use crate::world::{World, lossy, skip, wait};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};

/// The line of the recipes with this text.
fn line(text: &str) -> String {
    let recipes = files::read_text("docs/recipes.md");
    recipes
        .lines()
        .find(|line| line.contains(text))
        .unwrap_or_else(|| panic!("no line with {text}"))
        .to_owned()
}

/// The `PATH` with the program, and with stand-ins that write down their arguments and their input.
fn path(world: &World, stand_ins: &[&str]) -> String {
    let place = world.path().join("bin");
    files::make_dir(&place);
    for name in stand_ins {
        let note = world.path().join(format!("{name}.note"));
        let script = format!(
            "#!/bin/sh\nprintf '%s\\n' \"$@\" >> {0}\n[ -t 0 ] || cat >> {0}\n",
            note.display()
        );
        files::write(place.join(name), script);
        fs::set_permissions(place.join(name), fs::Permissions::from_mode(0o755))
            .expect("it can be run");
    }
    let program = Path::new(env!("CARGO_BIN_EXE_mailbag"))
        .parent()
        .expect("a directory");
    format!("{}:{}:/usr/bin:/bin", place.display(), program.display())
}

/// Runs a line in a shell with this `PATH`, as the human.
#[track_caller]
fn run(world: &World, path: &str, line: &str) {
    let mut command = Command::new("sh");
    command
        .args(["-c", line])
        .current_dir(world.path())
        .env_clear();
    command
        .env("PATH", path)
        .env("HOME", world.path())
        .env("USER", "me")
        .env("MAILBAG_TRUST_DIR", world.trust())
        .env("MAILBAG_TEST_ANCESTRY", "person");
    let output = command.output().expect("a shell");
    assert!(output.status.success(), "{line}: {output:?}");
}

/// A room, and this line that runs in it.
fn followed(stand_ins: &[&str], line: &str) -> (Town, Beside) {
    let town = Town::of("alice").run();
    let mut command = Command::new("sh");
    command
        .args(["-c", line])
        .current_dir(town.path())
        .env_clear()
        .process_group(0);
    command
        .env("PATH", path(&town, stand_ins))
        .env("HOME", town.path())
        .env("MAILBAG_TRUST_DIR", town.trust())
        .env("MAILBAG_TEST_ANCESTRY", "person");
    let line = Beside::by(&town, command);
    town.wait("it follows", || {
        let all = town.json("who")["agents"].clone();
        all.as_array().is_some_and(|all| {
            all.iter()
                .any(|agent| agent["id"] == "human" && agent["presence"] == "online")
        })
    });
    (town, line)
}

/// A server that accepts posts, as ntfy does: the first line and the headers, and the body.
fn server() -> (u16, Receiver<(String, String)>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("it is bound").port();
    let (tell, heard) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(stream);
            let (mut head, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line).unwrap_or(0) == 0 || line.trim().is_empty() {
                    break;
                }
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap_or(0);
                }
                head += &line;
            }
            let mut body = vec![0; length];
            let _ = reader.read_exact(&mut body);
            let _ = reader
                .get_mut()
                .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            let _ = tell.send((head, lossy(&body)));
        }
    });
    (port, heard)
}

#[test]
fn the_desktop_shows_mail_for_the_human() {
    let (town, followed) = followed(&["notify-send"], &line("notify-send --app-name"));
    echo(
        &town,
        "alice",
        r#"{"to":"human","type":"approval","body":"Deploy $(touch hacked) `id`?"}"#,
    );
    let note = town.path().join("notify-send.note");
    town.wait("the notification", || {
        fs::read_to_string(&note).is_ok_and(|note| note.contains("Deploy"))
    });
    let note = files::read_text(&note);
    assert!(
        note.starts_with(
            "--app-name=mailbag
--
"
        ),
        "{note}"
    );
    assert!(
        note.contains("$(touch hacked)") && !town.path().join("hacked").exists(),
        "no shell reads the text"
    );
    assert_eq!(town.inbox("human").len(), 1, "nothing is marked as read");
    followed.end_group();
}

#[test]
fn a_phone_gets_mail_for_the_human_by_a_server_of_one_s_own() {
    if Command::new("curl").arg("--version").output().is_err() {
        return skip("no curl");
    }
    let (port, heard) = server();
    let recipe = line("curl -fsS -m 10 --data-raw").replace("8080", &port.to_string());
    let (town, followed) = followed(&[], &recipe);
    echo(
        &town,
        "alice",
        r#"{"to":"human","body":"@/etc/passwd is not read"}"#,
    );
    let (head, body) = heard
        .recv_timeout(crate::town::PATIENCE)
        .expect("it was posted");
    assert!(head.starts_with("POST /my-topic HTTP/"), "{head}");
    assert_contains!(body, "alice", "@/etc/passwd is not");
    followed.end_group();
}

#[test]
fn the_lines_for_cron_send_the_events() {
    let world = World::with("alice");
    echo(
        &world,
        "alice",
        r#"{"type":"milestone","body":"Half of it"}"#,
    );
    world.pass();
    std::os::unix::fs::symlink(world.path(), world.path().join("project")).expect("a link");
    let (port, heard) = server();
    let path = path(&world, &["mail"]);
    let command = |text: &str| {
        let line = line(text);
        let (times, command) =
            line.split_at(line.match_indices(' ').nth(4).expect("five fields").0);
        assert_eq!(times, "0 18 * * 1-5");
        assert!(!command.contains('%'), "cron would end the line there");
        command.trim().to_owned()
    };
    run(&world, &path, &command("| mail -s"));
    let note = || fs::read_to_string(world.path().join("mail.note")).unwrap_or_default();
    wait("it was mailed", || note().contains("milestone"));
    assert!(
        note().starts_with("-s\nEvents\nme\n")
            && note().contains("alice  milestone  #2  Half of it"),
        "{}",
        note()
    );
    if Command::new("curl").arg("--version").output().is_err() {
        return skip("no curl");
    }
    run(
        &world,
        &path,
        &command("--data-binary @-").replace("8080", &port.to_string()),
    );
    let (_, body) = heard
        .recv_timeout(crate::town::PATIENCE)
        .expect("it was posted");
    assert!(body.contains("alice  milestone  #2  Half of it"), "{body}");
}
