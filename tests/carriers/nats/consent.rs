//! A room connects over NATS only to the servers, and with the identity, that the person agreed to.

use super::servers::Cluster;
use super::{Rooms, drop_mail, once, run};
use crate::files;
use crate::world::{World, skip, wait};
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// The users of `docs/machines.md`: each room may publish only its own messages, and read only
/// messages for it.
const USERS: &str = r#"
authorization {
  users: [
    { user: fit, password: "fit-secret", permissions: {
        publish: ["mailbag.*.fit.>", "$JS.API.STREAM.CREATE.mailbag_fit", "$JS.API.CONSUMER.*.mailbag_fit.>",
                  "$JS.API.CONSUMER.MSG.NEXT.mailbag_fit.>", "$JS.ACK.mailbag_fit.>"],
        subscribe: ["_INBOX_mailbag_fit.>"] } }
    { user: po, password: "po-secret", permissions: {
        publish: ["mailbag.*.po.>", "$JS.API.STREAM.CREATE.mailbag_po", "$JS.API.CONSUMER.*.mailbag_po.>",
                  "$JS.API.CONSUMER.MSG.NEXT.mailbag_po.>", "$JS.ACK.mailbag_po.>"],
        subscribe: ["_INBOX_mailbag_po.>"] } }
  ]
}
"#;

/// Adds a line to the link of a room, with a file beside the room that it names.
pub(super) fn give(world: &World, key: &str, content: &str) {
    let file = world.path().join(format!("{key}.file"));
    files::write(&file, content);
    let settings = world.text("settings.toml");
    let line = format!("{key} = \"{}\"\n", file.display());
    if !settings.contains(&line) {
        world.write("settings.toml", settings + &line);
    }
}

#[test]
fn a_room_says_who_it_is_and_the_servers_let_it_do_only_what_it_needs() {
    // P211
    let Some(cluster) = Cluster::start(1, USERS) else {
        return;
    };
    let rooms = Rooms::untrusted(&cluster.address(), "");
    rooms.trust();
    assert_contains!(once(&rooms.fit).fails(75), "authorization violation");
    give(&rooms.fit, "credentials", "fit:fit-secret\n");
    give(&rooms.po, "credentials", "po:po-secret\n");
    rooms.trust();
    // No room can make the other one's stream, so the first one waits for the other one.
    let (fit, po) = (run(&rooms.fit), run(&rooms.po));
    drop_mail(&rooms.fit, "alice", "po:sintra", "hello");
    wait("it arrives", || rooms.po.bodies("sintra") == ["hello"]);
    drop_mail(&rooms.po, "sintra", "fit:alice", "hi");
    wait("it comes back", || rooms.fit.bodies("alice") == ["hi"]);
    drop((fit, po));
    // No other user publishes for the room `po`.
    give(&rooms.po, "credentials", "fit:fit-secret\n");
    rooms.po.ok("trust --yes");
    let told = once(&rooms.po).fails(75);
    assert_contains!(told.to_lowercase(), "permissions violation"; "{told}");
    give(&rooms.po, "credentials", "two\nlines\n");
    rooms.po.ok("trust --yes");
    assert_contains!(once(&rooms.po).fails(75), "one line with an NKey");
    drop(cluster.talk(json!({"user": "po", "pass": "po-secret"})));
}

#[test]
fn consent_holds_for_exactly_these_servers_files_and_their_content() {
    // P215
    let rooms = Rooms::untrusted("nats://127.0.0.1:1", "");
    give(&rooms.fit, "credentials", "fit:secret");
    give(&rooms.fit, "ca", "none");
    assert_contains!(once(&rooms.fit).fails(1), "not agreed", "mailbag trust");
    let shown = rooms.fit.ok("trust --yes");
    for part in [
        "po by nats at nats://127.0.0.1:1, as fit",
        "credentials.file (sha256 ",
        "ca.file (sha256 ",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let agreed = || {
        let told = once(&rooms.fit);
        told.code != 1
    };
    assert!(agreed(), "it fails only later");
    let settings = files::read_text(rooms.fit.room("settings.toml"));
    for (from, to) in [
        ("127.0.0.1:1", "127.0.0.1:2"),
        ("ca.file", "other.file"),
        ("tag = \"fit\"", "tag = \"gym\""),
    ] {
        rooms
            .fit
            .write("settings.toml", settings.replacen(from, to, 1));
        assert!(!agreed(), "{from} {to}");
    }
    rooms.fit.write(
        "settings.toml",
        settings.replace("replicas = 1", "replicas = 3"),
    );
    assert!(agreed(), "that decides on no peer");
    rooms.fit.write("settings.toml", &settings);
    for key in ["credentials", "ca"] {
        give(&rooms.fit, key, "changed");
        assert!(!agreed(), "{key}: a repository can bring another file");
        rooms.fit.ok("trust --yes");
        assert!(agreed());
    }
    files::remove_file(rooms.fit.path().join("ca.file"));
    assert!(!agreed());
    rooms.fit.ok("trust --yes");
    assert_contains!(once(&rooms.fit).fails(2), "ca.file is missing");
}

#[test]
fn an_address_names_servers_and_nothing_else() {
    // P215
    let rooms = Rooms::untrusted("nats://127.0.0.1:1", "");
    for line in [
        "address = \"nats://ann:secret@a\"",
        "address = \"http://a\"",
        "address = \"a:4222\"",
        "address = \"nats://a\"\ncredentials = \"fit.creds\"",
        "address = \"nats://a\"\nca = \"../ca.pem\"",
        "address = \"nats://a\"\nreplicas = 0",
        "address = \"nats://a\"\nreplicas = 6",
    ] {
        rooms.fit.write(
            "settings.toml",
            format!("tag = \"fit\"\n[links.po]\ncarrier = \"nats\"\n{line}\n"),
        );
        assert_contains!(rooms.fit.fails(65, "settings"), "links"; "{line}");
        assert_ne!(once(&rooms.fit).code, 0, "{line}");
    }
    rooms.fit.write(
        "settings.toml",
        "tag = \"fit\"\n[links.po]\ncarrier = \"none\"\nreplicas = 1\n",
    );
    rooms.fit.fails(65, "settings");
}

#[test]
fn a_link_over_nats_is_added_with_its_files_and_that_is_consent() {
    let rooms = Rooms::untrusted("nats://127.0.0.1:1", "");
    rooms.fit.write("settings.toml", "tag = \"fit\"\n");
    files::write(rooms.fit.path().join("fit.creds"), "fit:secret");
    let add = [
        "link",
        "add",
        "po",
        "nats://127.0.0.1:1,nats://127.0.0.1:2",
        "--carrier",
        "nats",
    ];
    let with = [&add[..], &["--credentials", "fit.creds", "--replicas", "1"]].concat();
    rooms.fit.ok(&with);
    let settings = files::read_text(rooms.fit.room("settings.toml"));
    let file = rooms.fit.path().join("fit.creds").display().to_string();
    for part in [
        "carrier = \"nats\"",
        "nats://127.0.0.1:1,nats://127.0.0.1:2",
        &file,
        "replicas = 1",
    ] {
        assert!(settings.contains(part), "{part}: {settings}");
    }
    assert_contains!(rooms.fit.ok("trust"), ": trusted");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("its permissions");
    assert_contains!(
        rooms.fit.run("doctor").out,
        "other users can read the credentials of the link po"
    );
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("its permissions");
    assert!(!rooms.fit.run("doctor").out.contains("credentials"));
    files::rename(&file, rooms.fit.path().join("away"));
    assert_contains!(rooms.fit.run("doctor").out, "the link po needs the file");
    files::rename(rooms.fit.path().join("away"), &file);
    assert_contains!(rooms.fit.ok(&add), "unchanged"; "what was set stays");
    assert_contains!(rooms.fit.ok("link add gym nats://127.0.0.1:1,nats://127.0.0.1:2 --carrier nats"), "added"; "the same servers serve many rooms");
    rooms
        .fit
        .fails(2, "link add so so.example:/x --carrier ssh --replicas 1");
    rooms.fit.fails(2, "link add so so.example --carrier nats");
    rooms
        .fit
        .fails(2, "link add so nats://so --carrier nats --replicas 9");
}

#[test]
fn a_server_is_who_its_certificate_says_or_nothing_is_said_to_it() {
    // P215
    let dir = tempfile::tempdir().expect("a directory");
    let at = |name: &str| dir.path().join(name).display().to_string();
    let openssl = |words: &str| {
        let words: Vec<String> = words
            .split(' ')
            .map(|word| word.replace('@', &at("")))
            .collect();
        Command::new("openssl")
            .args(words)
            .current_dir(dir.path())
            .output()
            .is_ok_and(|output| output.status.success())
    };
    files::write(at("names"), "subjectAltName=IP:127.0.0.1\n");
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    let made = ["ca", "other"].iter().all(|ca| {
        openssl(&format!(
            "req -x509 {key} -keyout @{ca}.key -out @{ca}.pem -days 2 -subj /CN={ca}"
        ))
    });
    let made = made
        && openssl(&format!(
            "req {key} -keyout @server.key -out @server.csr -subj /CN=server"
        ))
        && openssl(
            "x509 -req -in @server.csr -CA @ca.pem -CAkey @ca.key -CAcreateserial -out @server.pem -days 2 -extfile @names",
        );
    if !made {
        return skip("there is no openssl");
    }
    let tls = format!(
        "tls {{ cert_file: \"{}\", key_file: \"{}\" }}",
        at("server.pem"),
        at("server.key")
    );
    let Some(cluster) = Cluster::start(1, &tls) else {
        return;
    };
    let rooms = Rooms::untrusted(&cluster.address().replace("nats://", "tls://"), "");
    rooms.trust();
    rooms.fit.send("alice", "po:sintra", "hello");
    assert_contains!(once(&rooms.fit).fails(75), "certificate"; "the system does not know this one");
    give(&rooms.fit, "ca", &files::read_text(at("other.pem")));
    rooms.trust();
    assert_contains!(once(&rooms.fit).fails(75), "certificate"; "nor does this authority");
    let ca = files::read_text(at("ca.pem"));
    [&rooms.fit, &rooms.po]
        .iter()
        .for_each(|world| give(world, "ca", &ca));
    rooms.trust();
    let _carriers = rooms.run();
    wait("it arrives", || rooms.po.bodies("sintra") == ["hello"]);
    // With certificates, a server without TLS is not spoken to.
    let Some(plain) = Cluster::start(1, "") else {
        return;
    };
    let settings = files::read_text(rooms.fit.room("settings.toml"));
    rooms.fit.write(
        "settings.toml",
        settings.replace(&cluster.address().replace("nats", "tls"), &plain.address()),
    );
    rooms.fit.ok("trust --yes");
    once(&rooms.fit).fails(75);
}
