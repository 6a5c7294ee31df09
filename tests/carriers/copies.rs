//! Two copies of a room that both connect to another one.

use super::{Pair, Running};
use crate::links::copy_all;
use crate::world::{World, wait};
use std::time::{Duration, Instant};

#[test]
fn if_two_copies_of_a_room_connect_the_older_one_stops_and_the_other_continues() {
    // P205 P225
    let pair = Pair::new();
    pair.fit.send("alice", "po:sintra", "before");
    pair.once().ok();
    let copy = World::empty();
    copy_all(&pair.fit.room(""), &copy.room(""));
    copy.ok("trust --yes");
    copy.send("alice", "po:sintra", "from the copy");
    pair.fit.send("alice", "po:sintra", "from the original");
    pair.once().ok();
    let mut command = copy.bare("link run");
    command.env("PATH", pair.path());
    let carriers = Running::start(command, copy.path());
    let status = |world: &World| world.run("link status").out;
    wait("the copy stops", || {
        status(&copy).contains("item 2 in the room po differs from the item that this room sent")
    });
    wait("the other room says why", || {
        status(&pair.po).contains("the room fit has 1 items, and had 2: it is an older copy")
    });
    wait("it says that it is a copy", || {
        carriers.log().contains("this room is a copy of")
    });
    drop(carriers);
    let begun = Instant::now();
    let once = copy.run_env("link run --once", "PATH", pair.path());
    let said = once.fails(75);
    assert_contains!(
        said,
        "the link po has stopped: item 2 in the room po differs from the item"
    );
    assert_eq!(
        said.matches("mailbag link remove po --bounce").count(),
        1,
        "the fix is said once: {said}"
    );
    assert!(
        begun.elapsed() < Duration::from_secs(30),
        "it waits for nothing: {:?}",
        begun.elapsed()
    );
    assert_eq!(pair.po.bodies("sintra"), ["before", "from the original"]);
    // The state of the original fits again.
    pair.fit.send("alice", "po:sintra", "again");
    pair.once().ok();
    assert_eq!(
        pair.po.bodies("sintra"),
        ["before", "from the original", "again"]
    );
    assert!(!status(&pair.po).contains("problem") && !status(&pair.fit).contains("problem"));
}
