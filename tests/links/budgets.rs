//! The budgets of a link: mail over the budget waits, and delays no other mail.

use super::hostile::Prey;
use super::{Rooms, link, records, set};
use crate::world::World;
use serde_json::json;

fn bodies(world: &World, agent: &str, of: &str) -> usize {
    let mail = world.inbox(agent).into_iter();
    mail.filter(|mail| {
        mail["from"]
            .as_str()
            .is_some_and(|from| from.starts_with(of))
    })
    .count()
}

#[test]
fn a_room_that_floods_costs_only_its_own_link() {
    // P232
    let rooms = Rooms::new();
    let west = World::new().agent("wanda", "");
    west.write("settings.toml", link("po", &rooms.po, "\"agents\""));
    let flooding = format!(
        "{}budget.messages = 3\n",
        link("fit", &rooms.fit, "\"agents\"")
    );
    rooms.po.write(
        "settings.toml",
        format!(
            "budget.window = \"1h\"\n{flooding}{}",
            link("west", &west, "\"agents\"")
        ),
    );
    let router = rooms.po.router("");
    rooms.alice_drops_many(20);
    rooms.fit.pass();
    rooms
        .po
        .wait("three arrive", || bodies(&rooms.po, "sintra", "fit:") == 3);
    for n in 0..5 {
        west.send("wanda", "po:sintra", &n.to_string());
        rooms.po.send("bob", "sintra", &n.to_string());
    }
    rooms.po.wait("others are not delayed", || {
        bodies(&rooms.po, "sintra", "west:") == 5 && bodies(&rooms.po, "sintra", "bob") == 5
    });
    assert_contains!(
        rooms.po.ok("status"),
        "links/fit/in: over its budget of 3 messages an hour; next at "
    );
    assert_eq!(bodies(&rooms.po, "sintra", "fit:"), 3);
    // No mail is lost: a larger budget takes effect immediately.
    let settings = rooms.po.text("settings.toml");
    let without = settings.replace("budget.messages = 3", "budget.messages = 0");
    rooms.po.write("settings.toml", without);
    rooms
        .po
        .wait("all arrive", || bodies(&rooms.po, "sintra", "fit:") == 20);
    drop(router);
}

#[test]
fn a_link_has_a_budget_of_copies() {
    // P232
    let mut prey = Prey::new();
    let settings = prey.po().text("settings.toml") + "budget.copies = 4\n";
    prey.po().write("settings.toml", settings);
    set(prey.po(), "budget.window = \"1h\"");
    let router = prey.po().router("");
    for n in 1..=3 {
        let message = json!({"id": format!("m-{n}"), "type": "message", "body": "x"});
        let item =
            prey.item(json!({"from": "mallory", "to": ["sintra", "bob"], "message": message}));
        prey.po()
            .place(&format!("links/fit/in/{n:012}.json"), &item);
        prey.follows(&item);
    }
    prey.po()
        .wait("two messages arrive", || prey.po().bodies("bob").len() == 2);
    prey.po().wait("the third waits", || {
        let status = prey.po().ok("status");
        status.contains("over its budget of 4 copies")
    });
    let mut arrived = records(prey.po());
    arrived.retain(|record| record["arrived"].is_object());
    assert_eq!(arrived.len(), 2);
    drop(router);
}

#[test]
fn an_invalid_budget_of_a_link_is_an_error() {
    let rooms = Rooms::new();
    for wrong in [
        "budget.messages = -1",
        "budget.messages = \"3\"",
        "budget.copies = 4294967296",
    ] {
        let settings = format!("{}{wrong}\n", link("po", &rooms.po, "\"agents\""));
        rooms.fit.write("settings.toml", settings);
        assert_contains!(rooms.fit.fails(65, "settings"), "links"; "{wrong}");
    }
    let there = rooms.po.path().canonicalize().expect("it is there");
    let table = "[links.po] # theirs\nbudget.messages = 9\n";
    rooms.fit.write(
        "settings.toml",
        format!("{table}address = \"{}/.mailbag\"\n", there.display()),
    );
    rooms
        .fit
        .ok(&format!("link add po {} --accept human", there.display()));
    assert_eq!(
        rooms.fit.items("link list")[0]["budget"]["messages"],
        9,
        "the command keeps it"
    );
}
