//! Spellings that people bring from other mail programs are understood.

use crate::world::World;

#[test]
fn the_spellings_that_people_come_with_do_what_mailbag_s_own_do() {
    let world = World::with(&["alice", "bob"]);
    world.ok(&["message", "send", "bob", "hello", "--as", "alice", "--channel", "design"]);
    let pairs: [(&[&str], &[&str]); 3] = [
        (&["message", "inbox", "bob"], &["inbox", "bob"]),
        (&["--json", "message", "list"], &["--json", "list"]),
        (&["--room", ".mailbag", "message", "list"], &["list"]),
    ];
    for (theirs, ours) in pairs {
        assert_eq!(world.ok(theirs), world.ok(ours), "{theirs:?}");
    }
    for roster in [&["roster"][..], &["-q", "channel", "roster", "design"]] {
        let shown = world.ok(roster);
        assert!(shown.contains("alice") && shown.contains("bob"), "{roster:?}: {shown}");
    }
    let missing = world.fails(3, &["channel", "roster", "desing"]);
    assert!(missing.contains("design"), "{missing}");
    world.fails(2, &["message", "sing"]);
    // Where such a word is no command, it stays what it is.
    world.ok(&["send", "bob", "roster", "--as", "alice"]);
    world.ok(&["send", "bob", "--as", "alice", "message"]);
    assert_eq!(world.bodies("bob"), ["hello", "roster", "message"]);
}
