//! The shell helper in the shells that people have: bash, dash and zsh.

use crate::town::Town;
use crate::world::{World, lossy, skip};
use std::process::{Command, Output};

const SHELLS: [&str; 3] = ["bash", "dash", "zsh"];

/// A room with the helper beside it.
fn town() -> Town {
    let town = Town::with(&[
        serde_json::json!({"id": "alice"}),
        serde_json::json!({"id": "bob", "role": "tester"}),
    ]);
    town.ok(&[
        "generate",
        "helper",
        "shell",
        "-o",
        &town.path().join("mailbag.sh").display().to_string(),
    ]);
    town
}

/// Runs a script in a shell. Without that shell it returns `None`, and this part of the test is
/// skipped.
fn run(world: &World, shell: &str, args: &[&str]) -> Option<Output> {
    let mut command = Command::new(shell);
    command
        .args(args)
        .current_dir(world.path())
        .env("MAILBAG_AGENT", "alice")
        .env_remove("MAILBAG_ROOM");
    command
        .env_remove("MAOS_MESSAGE_DIR")
        .env_remove("MAOS_SESSION_ID");
    command
        .output()
        .map_err(|e| skip(format_args!("{shell} does not start: {e}")))
        .ok()
}

fn text(bytes: &[u8]) -> String {
    lossy(bytes)
}

#[test]
fn an_argument_is_never_run() {
    let town = town();
    for shell in SHELLS {
        for seconds in ["x[$(touch run)]", "a=1,$(touch run)", "1 + 1", "-1", "1s"] {
            let script = format!(
                ". ./mailbag.sh; mailbag_request_from_role tester Help hello '{seconds}'; echo ended $?"
            );
            let Some(output) = run(&town, shell, &["-c", &script]) else {
                break;
            };
            assert!(!town.path().join("run").exists(), "{shell} ran {seconds:?}");
            let said = text(&output.stderr);
            let refused = said.contains("is not a number of seconds")
                && text(&output.stdout).contains("ended 2");
            assert!(refused, "{shell} {seconds:?}: {said}");
            assert_eq!(
                town.names("outbox/alice").len(),
                0,
                "{shell} {seconds:?}: nothing is sent first"
            );
        }
    }
}

#[test]
fn a_number_of_seconds_is_read_as_people_write_it() {
    let town = town();
    for shell in SHELLS {
        for seconds in ["0", "00"] {
            let script =
                format!(". ./mailbag.sh; mailbag_wait {seconds} from=nobody; echo ended $?");
            let Some(output) = run(&town, shell, &["-c", &script]) else {
                break;
            };
            assert_contains!(text(&output.stdout), "ended 4"; "{shell} {seconds}: {output:?}");
        }
        let Some(output) = run(
            &town,
            shell,
            &["-c", ". ./mailbag.sh; mailbag_seconds 0012"],
        ) else {
            continue;
        };
        assert_eq!(text(&output.stdout), "12\n", "{shell}: {output:?}");
    }
}

#[test]
fn sourcing_the_shell_helper_changes_no_shell_option_and_defines_its_functions() {
    let town = town();
    for shell in SHELLS {
        for source in ["./mailbag.sh", "\"$PWD/mailbag.sh\""] {
            let body = "two words * and ünï \\\\ code";
            let script = format!(
                ". {source}; echo still here; mailbag_send bob '{body}' type=question; list='a b'; \
                 for word in $list; do echo \"[$word]\"; done"
            );
            let Some(output) = run(&town, shell, &["-c", &script]) else {
                break;
            };
            let (out, err) = (text(&output.stdout), text(&output.stderr));
            assert!(
                output.status.success() && out.contains("still here") && err.is_empty(),
                "{shell}: {out} {err}"
            );
            // zsh splits no words, also afterwards.
            assert_eq!(out.contains("[a b]"), shell == "zsh", "{shell}: {out}");
            town.pass();
            let mail = town.inbox("bob").pop().expect("mail");
            assert_eq!(
                (mail["body"].as_str(), mail["type"].as_str()),
                (Some(body), Some("question")),
                "{shell}"
            );
        }
    }
}

#[test]
fn the_shell_helper_also_works_as_a_program() {
    let town = town();
    for shell in SHELLS {
        let Some(output) = run(&town, shell, &["mailbag.sh", "send", "bob", shell]) else {
            continue;
        };
        assert!(output.status.success(), "{shell}: {output:?}");
        town.pass();
        assert_eq!(town.bodies("bob").pop().as_deref(), Some(shell));
        let wrong = run(&town, shell, &["mailbag.sh", "sing"]).expect("it was there");
        assert_eq!(wrong.status.code(), Some(2), "{shell}: {wrong:?}");
    }
}
