//! The router as a service: the unit file, the calls of the service manager, and the state after
//! removal.

use crate::files;
use crate::world::{Words, World, lossy, skip};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// Replaces systemd: records its arguments and runs nothing.
const SYSTEMCTL: &str = r#"#!/bin/sh
shift
case "$1" in
show) case "$*" in
    *Version*) echo Version=252 ;;
    *) test -e "$HOME/running" && printf 'MainPID=77\nActiveState=active\nUnitFileState=enabled\nStateChangeTimestamp=@1767607200\n' || printf 'MainPID=0\nActiveState=inactive\nUnitFileState=\n' ;;
    esac; exit 0 ;;
start | restart) touch "$HOME/running" ;;
disable) rm -f "$HOME/running" ;;
esac
echo "$*" >> "$HOME/asked"
"#;

/// A home with this `systemctl` on the PATH.
struct Home {
    world: World,
    home: PathBuf,
    path: String,
}

impl Home {
    fn of(world: World, systemctl: &str) -> Home {
        let home = world
            .write("../home/.keep", "")
            .parent()
            .expect("a home")
            .to_path_buf();
        let program = world.write("../bin/systemctl", systemctl);
        fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).expect("a mode");
        let path = format!(
            "{}:/usr/bin:/bin",
            program.parent().expect("a directory").display()
        );
        Home { world, home, path }
    }

    fn run(&self, code: i32, args: &(impl Words + ?Sized)) -> Value {
        let mut command = self
            .world
            .program(&[vec!["service"], args.words(), vec!["--json"]].concat());
        command
            .env("HOME", &self.home)
            .env("PATH", &self.path)
            .env_remove("XDG_CONFIG_HOME");
        let output = command.output().expect("the program runs");
        let text = if code == 0 {
            &output.stdout
        } else {
            &output.stderr
        };
        assert_eq!(
            output.status.code(),
            Some(code),
            "{:?}: {}",
            args.words(),
            lossy(&output.stderr)
        );
        serde_json::from_slice(text).expect("JSON")
    }

    fn asked(&self) -> Vec<String> {
        let text = fs::read_to_string(self.home.join("asked")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

#[test]
fn a_service_is_installed_shown_and_removed_to_the_byte() {
    let home = Home::of(World::new(), SYSTEMCTL);
    let planned = home.run(0, "install --dry-run");
    assert!(
        !home.home.join(".config").exists() && home.asked().is_empty(),
        "a plan changes nothing"
    );
    assert_eq!(home.run(0, "status")["installed"], false);
    let done = home.run(0, "install");
    let file = PathBuf::from(done["file"].as_str().expect("a path"));
    let unit = files::read_text(&file);
    assert_eq!(
        (unit.as_str(), done["changed"].clone()),
        (
            planned["content"].as_str().expect("text"),
            Value::Bool(true)
        )
    );
    let name = done["service"].as_str().expect("a name");
    assert_contains!(unit, "Type=notify\n", "Restart=on-failure\n");
    assert!(
        home.asked().contains(&format!("enable {name}"))
            && home.asked().contains(&format!("restart {name}"))
    );
    let status = home.run(0, "status");
    assert_fields!(status, installed: true, current: true);
    assert_fields!(status["running"], pid: 77, since: "2026-01-05T10:00:00.000000Z");
    assert_eq!(
        home.run(0, "install")["changed"],
        false,
        "a second run changes nothing"
    );
    assert_eq!(home.run(0, "uninstall")["changed"], true);
    assert!(home.asked().contains(&format!("disable --now {name}")));
    assert!(
        !home.home.join(".config").exists(),
        "the directories that it made are gone"
    );
    assert_eq!(home.run(0, "uninstall")["changed"], false);
}

#[test]
fn a_changed_unit_is_kept_and_an_interrupted_installation_is_completed() {
    let home = Home::of(World::new(), SYSTEMCTL);
    files::make_dir(home.home.join(".config/systemd/user"));
    let file = PathBuf::from(home.run(0, "install")["file"].as_str().expect("a path"));
    let unit = files::read_text(&file);
    files::write(&file, unit.clone() + "# mine\n");
    for verb in ["install", "uninstall"] {
        assert!(
            home.run(1, &[verb])["error"]["what"]
                .as_str()
                .is_some_and(|what| what.contains("changed by hand"))
        );
    }
    assert_eq!(files::read_text(&file), unit.clone() + "# mine\n");
    assert_eq!(home.run(0, "status")["current"], false);
    // As if it was killed between the file and the start.
    files::write(&file, unit);
    files::remove_file(home.home.join("running"));
    assert_eq!(home.run(0, "install")["changed"], true);
    home.run(0, "uninstall");
    assert!(
        home.home.join(".config/systemd/user").exists(),
        "a directory that was there stays"
    );
}

#[test]
fn without_systemd_it_says_what_to_do_and_writes_nothing() {
    let home = Home::of(
        World::new(),
        "#!/bin/sh\necho 'Failed to connect to bus: No medium found' >&2; exit 1\n",
    );
    assert_contains!(
        home.run(3, "install")["error"].to_string(),
        "No medium found",
        "nohup mailbag run &"
    );
    assert!(!home.home.join(".config").exists());
    assert!(
        home.run(0, "status")["problem"]
            .as_str()
            .is_some_and(|why| why.contains("No medium found"))
    );
}

#[test]
fn a_session_of_a_client_installs_no_service() {
    let home = Home::of(World::new(), SYSTEMCTL);
    let mut command = home.world.program("service install");
    command
        .env("HOME", &home.home)
        .env("PATH", &home.path)
        .env("CLAUDE_CODE_SESSION_ID", "s1");
    let output = command.output().expect("the program runs");
    assert_eq!((output.status.code(), home.asked().len()), (Some(2), 0));
}

/// A room in a directory with a difficult name.
fn difficult() -> World {
    let world = World::empty();
    let place = world.path().join("my 100% $HOME \"q\" \\ dir");
    world.ok(&["init", place.join(".mailbag").to_str().expect("text")]);
    world
}

fn planned(world: &World, manager: &str) -> Value {
    let room = world.path().join("my 100% $HOME \"q\" \\ dir/.mailbag");
    world.json(&[
        "--room",
        room.to_str().expect("text"),
        "service",
        "install",
        "--dry-run",
        "--manager",
        manager,
    ])
}

#[test]
fn systemd_accepts_the_unit_of_a_room_with_a_difficult_name() {
    let world = difficult();
    let unit = planned(&world, "systemd");
    let name = unit["service"].as_str().expect("a name");
    assert!(
        name.starts_with("mailbag-my-100---HOME--q----dir-") && name.len() < 80,
        "{name}"
    );
    let file = world.write(
        &format!("../{name}"),
        unit["content"].as_str().expect("text"),
    );
    let mut verify = std::process::Command::new("systemd-analyze");
    verify
        .args(["verify", "--user", "--man=no"])
        .arg(&file)
        .env("XDG_RUNTIME_DIR", world.path());
    match verify.output() {
        Err(e) => skip(format_args!("systemd-analyze does not start: {e}")),
        Ok(output) => {
            let said = lossy(&output.stderr);
            assert!(output.status.success() && !said.contains(name), "{said}");
        }
    }
}

#[test]
fn the_property_list_of_macos_has_the_paths_as_they_are() {
    let world = difficult();
    let list = planned(&world, "launchd");
    let read = "import plistlib, sys; p = plistlib.loads(sys.argv[1].encode()); print(p['Label'], p['KeepAlive']['SuccessfulExit']); print(p['ProgramArguments'][2])";
    let mut python = std::process::Command::new("python3");
    let output = match python
        .args(["-c", read, list["content"].as_str().expect("text")])
        .output()
    {
        Err(e) => return skip(format_args!("python3 does not start: {e}")),
        Ok(output) => output,
    };
    let room = list["room"].as_str().expect("a path");
    let said = lossy(&output.stdout);
    assert_eq!(
        said,
        format!(
            "{} False\n{room}\n",
            list["service"].as_str().expect("a name")
        )
    );
}
