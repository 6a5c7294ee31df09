//! The section in the instructions for agents.

use super::Desk;
use crate::files;
use std::collections::BTreeSet;

const BEGIN: &str = "<!-- mailbag:begin -->";

#[test]
fn the_section_is_short_and_names_only_existing_commands() {
    let desk = Desk::new();
    desk.ok("install codex");
    let section = desk.text("AGENTS.md");
    assert!(section.len() <= 500, "{} bytes", section.len());
    for needed in [
        "`mailbag read`",
        "`mailbag reply ID 'text'`",
        "`mailbag send NAME - <<'EOF'`",
    ] {
        assert!(section.contains(needed), "{needed}: {section}");
    }
    let skill = desk.text(".agents/skills/mailbag/SKILL.md");
    assert!(skill.len() < 2048, "{} bytes", skill.len());
    assert!(
        skill.starts_with("---\nname: mailbag\ndescription: ") && !skill.contains("allowed-tools")
    );
    names_commands_that_there_are(&section, 3);
    names_commands_that_there_are(&skill, 6);
}

fn names_commands_that_there_are(text: &str, at_least: usize) {
    let known = mailbag::cli::command();
    let codes = text.split('`').skip(1).step_by(2);
    let words: BTreeSet<&str> = codes
        .filter_map(|code| code.strip_prefix("mailbag ")?.split(' ').next())
        .filter(|word| !word.starts_with('-'))
        .collect();
    assert!(words.len() >= at_least, "{words:?}");
    for word in words {
        assert!(known.find_subcommand(word).is_some(), "mailbag {word}");
    }
}

#[test]
fn the_section_is_appended_to_the_file_and_removed_again() {
    let desk = Desk::new();
    for text in [
        "# Rules\n\nBe kind.\n",
        "# Rules",
        "# Rules\r\n\r\nBe kind.\r\n",
        "\n",
        "# Rules\n\n\n",
        "",
    ] {
        desk.write("AGENTS.md", text);
        desk.write("CLAUDE.md", text);
        let before = desk.files();
        desk.ok("install claude");
        let now = desk.text("AGENTS.md");
        assert!(
            now.starts_with(text) && now.matches(BEGIN).count() == 1,
            "{now:?}"
        );
        assert_eq!(
            now.matches("\r\n").count() == now.matches('\n').count(),
            text.contains("\r\n"),
            "{now:?}"
        );
        assert_contains!(desk.text("CLAUDE.md"), "@AGENTS.md");
        desk.ok("uninstall claude");
        assert!(desk.files() == before, "{text:?}");
    }
}

#[test]
fn an_older_section_is_made_what_it_is_now_where_it_stands() {
    let desk = Desk::new();
    let around = |section: &str| format!("# Before\n\n{section}\nBehind.\n");
    desk.ok("install codex");
    desk.write(
        "AGENTS.md",
        around("<!-- mailbag:begin -->\nold\n<!-- mailbag:end -->\n"),
    );
    desk.ok("install codex");
    let now = desk.text("AGENTS.md");
    assert!(
        now.starts_with("# Before\n\n<!-- mailbag:begin -->\n## Mail")
            && now.ends_with("-->\n\nBehind.\n"),
        "{now}"
    );
    desk.ok("uninstall codex");
    assert_eq!(desk.text("AGENTS.md"), "# Before\n\nBehind.\n");
}

#[test]
fn half_a_section_is_refused() {
    let desk = Desk::new();
    for text in [
        "a\n<!-- mailbag:begin -->\n",
        "a\n<!-- mailbag:end -->\n<!-- mailbag:begin -->\n",
    ] {
        desk.write("AGENTS.md", text);
        let said = desk.fails(1, "install codex");
        assert!(
            said.contains("AGENTS.md line 2") || said.contains("AGENTS.md line 3"),
            "{said}"
        );
        assert_eq!(desk.text("AGENTS.md"), text);
    }
}

#[test]
fn a_file_that_already_includes_agents_md_is_not_changed() {
    let desk = Desk::new();
    for text in ["@AGENTS.md\n", "# Here\n\nSee @./AGENTS.md\n"] {
        desk.write("CLAUDE.md", text);
        desk.ok("install claude");
        assert_eq!(desk.text("CLAUDE.md"), text);
        assert_eq!(desk.status("claude")["section"], true);
    }
}

#[test]
fn one_file_with_two_names_gets_one_section_and_no_self_include() {
    for (link, real) in [("CLAUDE.md", "AGENTS.md"), ("AGENTS.md", "CLAUDE.md")] {
        let desk = Desk::new();
        desk.write(real, "# Rules\n");
        files::link(real, desk.path(link));
        desk.ok("install claude");
        let text = desk.text(real);
        assert!(
            text.matches(BEGIN).count() == 1 && !text.contains("@AGENTS.md"),
            "{text}"
        );
        desk.ok("uninstall claude");
        assert_eq!(desk.text(real), "# Rules\n");
        assert!(
            desk.path(link)
                .symlink_metadata()
                .expect("a link")
                .is_symlink()
        );
    }
}

#[test]
fn gemini_settings_that_name_agents_md_need_no_gemini_md() {
    let desk = Desk::with("gemini-old-name.json");
    desk.ok("install gemini");
    assert!(!desk.is_there("GEMINI.md"));
    assert!(desk.text("AGENTS.md").contains(BEGIN));
    let desk = Desk::with("gemini-comments.json");
    desk.ok("install gemini");
    assert_contains!(desk.text("GEMINI.md"), "@AGENTS.md");
}

#[test]
fn the_section_stays_while_another_client_needs_it() {
    let desk = Desk::new();
    let before = desk.files();
    for client in ["claude", "codex", "gemini"] {
        desk.ok(&["install", client]);
    }
    let left = desk.json("uninstall claude");
    assert_contains!(left["notes"][0].as_str().expect("a note"), "keeps the mailbag section"; "{left}");
    assert!(!desk.is_there("CLAUDE.md") && desk.text("AGENTS.md").contains(BEGIN));
    desk.ok("uninstall gemini");
    assert!(desk.is_there("AGENTS.md"));
    desk.ok("uninstall codex");
    assert!(desk.files() == before);
}
