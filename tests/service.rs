//! The service files of the docs: the service managers accept them, and they start a router.

use crate::files;
use crate::world::{World, lossy, skip};
use std::process::Command;

/// The block of the page in this language that contains this text.
fn block(language: &str, text: &str) -> String {
    let page = files::read_text("docs/install.md");
    let begin = format!("```{language}\n");
    let parts = page.split(&begin).skip(1);
    let mut blocks = parts.filter_map(|part| part.split("```").next());
    let block = blocks.find(|block| block.contains(text));
    block.expect("the block").to_owned()
}

/// The router starts with the arguments of a service file, delivers, and ends well.
fn routes(line: &str) {
    let world = World::alice_and_bob();
    let room = world.room("").display().to_string();
    let words = line.split_whitespace().skip(1);
    let args: Vec<&str> = words
        .map(|word| {
            if word.ends_with("/.mailbag") {
                &room
            } else {
                word
            }
        })
        .collect();
    let router = world.router_by(world.bare(&args));
    world.drop_file("alice", "m.json", r#"{"to": "bob", "body": "hi"}"#);
    world.wait("it is delivered", || world.bodies("bob") == ["hi"]);
    assert_eq!(router.end(), 0);
}

#[test]
fn systemd_accepts_the_unit_and_it_starts_a_router() {
    let unit = block("ini", "[Service]");
    let mut lines = unit.lines();
    let start = lines.find_map(|line| line.strip_prefix("ExecStart="));
    let start = start.expect("a command");
    routes(start);
    let world = World::empty();
    let program = start.split(' ').next().expect("a program");
    let own = assert_cmd::cargo::cargo_bin!("mailbag")
        .display()
        .to_string();
    let file = world.write("../mailbag-shop.service", unit.replace(program, &own));
    let mut verify = Command::new("systemd-analyze");
    verify
        .args(["verify", "--user", "--man=no"])
        .arg(&file)
        .env("XDG_RUNTIME_DIR", world.path());
    match verify.output() {
        Err(e) => skip(format_args!("systemd-analyze does not start: {e}")),
        Ok(output) => {
            let said = lossy(&output.stderr);
            assert!(
                output.status.success() && !said.contains("mailbag-shop"),
                "{said}"
            );
        }
    }
}

#[test]
fn the_property_list_of_macos_starts_a_router() {
    let list = block("xml", "<plist");
    let read = "import plistlib, sys; p = plistlib.loads(sys.argv[1].encode()); print(p['KeepAlive']['SuccessfulExit'], *p['ProgramArguments'])";
    let output = match Command::new("python3").args(["-c", read, &list]).output() {
        Err(e) => return skip(format_args!("python3 does not start: {e}")),
        Ok(output) => output,
    };
    let said = lossy(&output.stdout);
    let start = said.strip_prefix("False ").expect("the arguments");
    routes(start);
}
