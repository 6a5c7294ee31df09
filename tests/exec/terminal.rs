//! A command at a terminal inherits the terminal.

use super::said;
use crate::world::{World, lossy};

#[test]
fn a_command_at_a_terminal_has_it_and_its_output_is_not_searched() {
    let world = World::new();
    let line = r#"{"type":"complete","result":"done"}"#;
    let script = format!(
        "test -t 0 && test -t 1 && test -t 2 && echo all-$((40 + 2)); read word; echo \"got $word\"; echo '{line}'; exit 3"
    );
    let words = ["exec", "--id", "alice", "--", "sh", "-c", &script];
    let output = world.at_terminal(&words, "typed\n");
    let shown = lossy(&output.stdout);
    assert_contains!(shown, "all-42", "got typed", line);
    assert_eq!(output.status.code(), Some(3), "{shown}");
    let last = said(&world, "alice").pop().expect("it ended");
    assert_fields!(last, type: "blocked", metadata.exit_code: 3);
}

#[test]
fn output_to_a_pipe_is_read_for_lines_also_at_a_terminal() {
    let world = World::new();
    let line = r#"{"type":"complete","result":"done"}"#;
    let exec = world.bare("").get_program().to_string_lossy().into_owned();
    let script = format!("'{exec}' exec --id alice -- echo '{line}' | cat; echo end");
    let output = world.at_terminal(&["exec", "--id", "bob", "--", "sh", "-c", &script], "");
    assert!(!lossy(&output.stdout).contains("complete"), "{output:?}");
    let last = said(&world, "alice").pop().expect("it ended");
    assert_fields!(last, type: "completed", metadata.result: "done");
}
