//! The facts about each client are complete, and the docs show them.

use super::{AbilityKind, AbilitySupport, Client, ClientFacts, InstallPart};
use crate::room::sessions::KNOWN;

#[test]
fn each_client_is_found_by_its_word_and_its_program_and_has_instructions() {
    for client in Client::ALL {
        let facts = client.facts();
        assert_eq!(Client::parse(facts.word), Ok(client));
        let known = KNOWN.iter().find(|known| known.name == client.as_str());
        assert!(
            known.is_some_and(|known| known.programs.contains(&facts.program)),
            "{}",
            client.name()
        );
        assert!(
            facts
                .project
                .iter()
                .any(|file| file.parts.contains(&InstallPart::Section))
        );
    }
    assert!(Client::parse("git").is_err());
}

fn can(facts: &ClientFacts, ability: AbilityKind) -> bool {
    !matches!(ability.in_client(facts), AbilitySupport::No(_))
}

#[test]
fn what_needs_a_hook_has_one() {
    for client in Client::ALL {
        let facts = client.facts();
        assert_eq!(
            can(facts, AbilityKind::Permission),
            facts.approval.is_some(),
            "{}",
            client.name()
        );
        assert_eq!(
            can(facts, AbilityKind::Guard),
            facts.events.iter().any(|hook| hook.matcher.is_some()),
            "{}",
            client.name()
        );
    }
}

/// The README and the guide show for each ability whether a client has it, and the reason if it lacks a part.
#[test]
fn the_tables_of_client_features_in_the_docs_match_the_source() {
    let mut head = String::from("| client |");
    for ability in AbilityKind::ALL {
        head += &format!(" {} |", short(ability));
    }
    let mut summary = format!(
        "{head}\n|{}\n",
        "---|".repeat(head.matches('|').count() - 1)
    );
    let mut limits = String::from("| client | what | why |\n|---|---|---|\n");
    for client in Client::ALL {
        summary += &format!("| {} |", client.name());
        for ability in AbilityKind::ALL {
            let (word, why) = match ability.in_client(client.facts()) {
                AbilitySupport::Yes => ("yes", None),
                AbilitySupport::Partly(why) => ("partly", Some(why)),
                AbilitySupport::No(why) => ("no", Some(why)),
            };
            summary += &format!(" {word} |");
            if let Some(why) = why {
                let (name, what) = (client.name(), short(ability));
                limits += &format!("| {name} | {what}: {word} | {why} |\n");
            }
        }
        summary += "\n";
    }
    for (page, name, table) in [
        ("README.md", "abilities", &summary),
        ("docs/agents.md", "abilities", &summary),
        ("docs/agents.md", "limits", &limits),
    ] {
        let text = std::fs::read_to_string(page).expect(page);
        assert!(
            text.contains(&format!("<!-- {name} -->\n{table}<!-- {name} end -->")),
            "{page} must have these {name}:\n{table}"
        );
    }
}

/// The head of a column.
fn short(what: AbilityKind) -> String {
    match what {
        AbilityKind::Server => "MCP".to_owned(),
        other => format!("{other:?}").to_lowercase(),
    }
}
