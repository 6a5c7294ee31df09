//! Settings that come with a repository connect nowhere before the person has agreed.

use super::Pair;
use crate::world::wait;

#[test]
fn foreign_settings_do_not_connect_before_the_person_agrees() {
    // P226
    let pair = Pair::untrusted();
    pair.fit.send("alice", "po:sintra", "hello");
    assert_contains!(pair.once().fails(1), "not agreed", "mailbag trust");
    let carriers = pair.carriers();
    carriers.says("you have not agreed to it");
    assert!(!pair.bin("serving").exists(), "nothing was started");
    assert_contains!(
        pair.fit.ok("trust --yes"),
        "link     po by ssh at po.example:"
    );
    wait("it connects once that is agreed", || {
        pair.po.bodies("sintra") == ["hello"]
    });
    pair.fit.ok("trust --revoke");
    carriers.says("link po: ended");
}

#[test]
fn consent_holds_for_exactly_one_address_and_tag() {
    // P226
    let pair = Pair::new();
    pair.once().ok();
    for changed in [
        pair.settings("fit", "")
            .replace("po.example", "evil.example"),
        pair.settings("fit", "").replace("/.mailbag", "/.other"),
        pair.settings("fit", "as = \"other\"\n"),
        pair.settings("other", ""),
    ] {
        pair.fit.write("settings.toml", &changed);
        assert_contains!(pair.once().fails(1), "not agreed"; "{changed}");
    }
    pair.fit.write(
        "settings.toml",
        pair.settings("fit", "accept = [\"all\"]\n"),
    );
    pair.once().ok();
}

#[test]
fn a_session_agrees_to_no_link_not_even_to_one_that_it_adds() {
    // P226
    let pair = Pair::untrusted();
    let session = |args: &str| pair.fit.run_env(args, "CLAUDE_CODE_SESSION_ID", "s1");
    let told = session("trust --yes").fails(2);
    assert_contains!(told, "only a person can change consent");
    pair.once().fails(1);
    pair.fit.write("settings.toml", "tag = \"fit\"\n");
    let address = format!("po.example:{}", pair.po.path().join(".mailbag").display());
    let added = session(&format!("link add po {address} --carrier ssh"));
    assert_ne!(added.code, 101, "{added:?}");
    pair.fit.write("settings.toml", pair.settings("fit", ""));
    assert_contains!(pair.once().fails(1), "not agreed");
}

#[test]
fn an_address_cannot_contain_ssh_options_or_shell_code() {
    // P227
    let pair = Pair::untrusted();
    for address in [
        "-oProxyCommand=id:/x",
        "po:/x;id",
        "po:/$(id)",
        "po:relative",
        "po",
        "po:/x y",
        "a@-b:/x",
    ] {
        pair.fit.write(
            "settings.toml",
            format!("tag = \"fit\"\n[links.po]\ncarrier = \"ssh\"\naddress = \"{address}\"\n"),
        );
        assert_contains!(pair.fit.fails(65, "settings"), "links"; "{address}");
        assert_contains!(pair.fit.fails(65, "trust"), "links"; "{address}");
        assert_ne!(pair.once().code, 0, "{address}");
    }
    assert!(!pair.bin("serving").exists());
}

#[test]
fn a_link_is_shown_with_all_consent_and_in_json() {
    let pair = Pair::new();
    assert_contains!(pair.fit.ok("trust --list"), ".mailbag");
    let all = pair.fit.json("trust --list");
    assert!(all["rooms"][0]["agreed"].is_string(), "{all:#}");
    let one = pair.fit.json("trust");
    assert_fields!(one["links"][0], as: "fit", trusted: true);
}
