//! The table of abilities in the docs. A test compares it with the docs.

use super::{AbilityKind, AbilitySupport, Client};

/// One row for each client: for each ability, whether it has it.
pub fn summary() -> String {
    let head: Vec<&str> = AbilityKind::ALL.map(AbilityKind::short).to_vec();
    let mut table = format!(
        "| client | {} |\n|{}\n",
        head.join(" | "),
        "---|".repeat(head.len() + 1)
    );
    for client in Client::ALL {
        let words = client
            .facts()
            .abilities
            .each_ref()
            .map(|ability| match ability.can {
                AbilitySupport::Yes => "yes",
                AbilitySupport::Partly(_) => "partly",
                AbilitySupport::No(_) => "no",
            });
        table.push_str(&format!("| {} | {} |\n", client.name(), words.join(" | ")));
    }
    table
}

/// One row for each ability that a client lacks or has in part, with the reason.
pub fn limits() -> String {
    let mut table = String::from("| client | what | why |\n|---|---|---|\n");
    for client in Client::ALL {
        for ability in &client.facts().abilities {
            let (word, why) = match ability.can {
                AbilitySupport::Yes => continue,
                AbilitySupport::Partly(why) => ("partly", why),
                AbilitySupport::No(why) => ("no", why),
            };
            table.push_str(&format!(
                "| {} | {}: {word} | {why} |\n",
                client.name(),
                ability.what.short()
            ));
        }
    }
    table
}
