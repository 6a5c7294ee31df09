//! The plugin file of OpenCode: mailbag owns the text between its marks, and a person's text around
//! it stays.

use super::Desk;
use crate::files;

const PLUGIN: &str = ".opencode/plugins/mailbag.js";

#[test]
fn the_plugin_calls_the_program_as_the_agent_and_says_who_wrote_it() {
    let desk = Desk::new();
    desk.ok("install opencode --agent bob");
    let text = desk.text(PLUGIN);
    let command = serde_json::json!([desk.program, "hook", "opencode", "--as", "bob"]);
    assert_contains!(text, &format!("\nconst COMMAND = {command}\n"));
    assert!(
        text.starts_with("// mailbag:begin\n// Written by `mailbag install opencode`;"),
        "{text}"
    );
    assert!(
        desk.ok("install opencode --agent bob")
            .starts_with("no changes for OpenCode")
    );
    desk.ok("install opencode");
    let command = serde_json::json!([desk.program, "hook", "opencode"]);
    assert_contains!(desk.text(PLUGIN), &format!("\nconst COMMAND = {command}\n"));
}

#[test]
fn lines_of_a_person_around_the_plugin_and_files_beside_it_stay_to_the_byte() {
    let desk = Desk::new();
    desk.write(
        ".opencode/plugins/mine.js",
        "export const Mine = async () => ({})\n",
    );
    desk.write(
        "opencode.json",
        "{\n  // Mine.\n  \"theme\": \"system\"\n}\n",
    );
    let before = desk.files();
    desk.ok("install opencode");
    let ours = desk.text(PLUGIN);
    desk.write(PLUGIN, format!("// Mine.\n{ours}\n// And this.\n"));
    desk.ok("install opencode --agent bob");
    assert!(
        desk.text(PLUGIN)
            .starts_with("// Mine.\n// mailbag:begin\n")
            && desk.text(PLUGIN).contains("--as")
    );
    desk.ok("uninstall opencode");
    assert_eq!(desk.text(PLUGIN), "// Mine.\n\n// And this.\n");
    files::remove_file(desk.path(PLUGIN));
    assert!(desk.files() == before);
}

/// OpenCode reads such files.
#[test]
fn commas_behind_last_items_stay_to_the_byte() {
    let desk = Desk::new();
    for settings in [
        "{\n  // Mine.\n  \"theme\": \"system\",\n}\n",
        "{\n  \"mcp\": {\n    \"mine\": {\"type\": \"local\", \"command\": [\"x\",],}, // one\n  },\n}\n",
        "{\"mcp\": {\"mine\": {\"type\": \"local\",},},}",
        "{\n  \"instructions\": [\n    \"a.md\",\n  ],\n  \"permission\": {\"bash\": {\"ls\": \"allow\",},},\n}\n",
    ] {
        desk.write("opencode.json", settings);
        let before = desk.files();
        desk.ok("install opencode");
        assert_contains!(desk.text("opencode.json"), "mailbag"; "{settings}");
        assert!(
            desk.ok("install opencode")
                .starts_with("no changes for OpenCode"),
            "{settings}"
        );
        desk.ok("uninstall opencode");
        assert_eq!(desk.text("opencode.json"), settings);
        assert!(desk.files() == before, "{settings}");
    }
}

#[test]
fn a_foreign_plugin_of_that_name_is_rejected_and_not_changed() {
    let desk = Desk::new();
    desk.write(PLUGIN, "export const Mine = async () => ({})\n");
    let before = desk.files();
    let said = desk.run("install opencode");
    assert!(
        said.code != 0
            && said
                .err
                .contains("is not a plugin of mailbag; rename or remove it"),
        "{said:?}"
    );
    assert!(desk.files() == before);
}
