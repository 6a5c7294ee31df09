//! A helper shares a file as `mailbag share` does: whole, never over another, announced with its digest.

use super::tongue::{Fault, Tongue};
use super::{file, in_each, town};
use crate::files;
use crate::world::sha256;
use serde_json::json;
use std::fs;

in_each!(
    a_file_is_shared_and_announced_with_its_digest,
    the_context_may_be_elsewhere,
    a_content_is_shared_under_a_category_and_a_file_name
);

fn a_content_is_shared_under_a_category_and_a_file_name(tongue: Tongue) {
    let town = town();
    let content = "# \"Ports\"\nserver: 8080";
    let source = file(&town, "source", content);
    let shared = tongue.ok(
        &town,
        "alice",
        &["artifact", "research", "ports.md", &source],
    );
    assert_eq!(shared[0], "research/ports.md");
    assert_eq!(town.text("context/research/ports.md"), content);
    let mail = town.wait_for_mail("bob", 1).remove(0);
    assert_fields!(mail, subject: "research: ports.md", attachments.0.sha256: shared[1]);
    for name in ["../up.md", "..", ""] {
        let (fault, said) =
            tongue.fails(tongue.command(&town, "alice", &["artifact", "research", name, &source]));
        assert!(
            fault == Fault::Other && said.contains("is not a file name"),
            "{name}: {said}"
        );
    }
}

fn a_file_is_shared_and_announced_with_its_digest(tongue: Tongue) {
    let town = town();
    let share = |content: &str, note: &str| {
        let notes = file(&town, "no tes.md", content);
        tongue.ok(&town, "alice", &["share", &notes, "research", "all", note])
    };
    let content = "# \"Ports\"\n".repeat(50_000);
    let digest = sha256(&content);
    let first = share(&content, "please \"read\"");
    assert_eq!(
        (first[0].as_str(), &first[1]),
        ("research/no tes.md", &digest)
    );
    for reader in ["bob", "carol"] {
        let mail = town.wait_for_mail(reader, 1).remove(0);
        let wanted = json!([{"path": first[0], "sha256": digest, "media_type": "text/markdown"}]);
        assert_fields!(mail, attachments: wanted, id: first[2]);
        assert_fields!(mail, type: "announcement", metadata: json!({"category": "research"}));
        assert_fields!(mail, subject: "research: no tes.md", body: "please \"read\"");
    }
    assert_eq!(share(&content, "")[0], "research/no tes.md");
    assert_eq!(share("other", "")[0], "research/no tes-2.md");
    assert_eq!(share("other", "")[0], "research/no tes-2.md");
    // It is as the program itself does it, which finds the same file there.
    let notes = file(&town, "no tes.md", &content);
    let by_program = town.json(&["share", &notes, "--category", "research", "--as", "alice"]);
    assert_fields!(by_program, already_shared: true, path: first[0]);
    let there = town.text("context/research/no tes.md");
    assert!(
        there == content
            && fs::read_dir(town.room("context/research"))
                .expect("a directory")
                .count()
                == 2
    );

    let elsewhere = town.path().join("elsewhere");
    files::make_dir(&elsewhere);
    std::os::unix::fs::symlink(&elsewhere, town.room("context/link")).expect("a link");
    for category in ["../up", "link"] {
        let (fault, said) =
            tongue.fails(tongue.command(&town, "alice", &["share", &notes, category, "all", ""]));
        assert!(
            fault == Fault::Other && said.contains("link") || said.contains("category"),
            "{category}: {said}"
        );
    }
    assert_eq!(fs::read_dir(&elsewhere).expect("a directory").count(), 0);
}

fn the_context_may_be_elsewhere(tongue: Tongue) {
    let town = town();
    let notes = file(&town, "notes.md", "x");
    for name in ["common", "other"] {
        files::make_dir(town.path().join(name));
    }
    let common = town.path().join("common").display().to_string();
    town.place(
        "settings.toml",
        format!("admission = \"registered\"\ncontext = {common:?} # shared\n").as_bytes(),
    );
    tongue.ok(&town, "alice", &["share", &notes, "research", "bob", ""]);
    assert_eq!(
        files::read_text(town.path().join("common/research/notes.md")),
        "x"
    );
    let mut command = tongue.command(&town, "alice", &["share", &notes, "research", "bob", ""]);
    command.env("MAOS_SHARED_CONTEXT", town.path().join("other"));
    assert!(command.output().expect("it starts").status.success());
    assert_eq!(
        files::read_text(town.path().join("other/research/notes.md")),
        "x"
    );
    town.wait_for_mail("bob", 2);
}
