//! Rooms that prove by a key who they are: a bare NKey that the servers know, or one with a JWT that its account has signed.

use super::consent::give;
use super::servers::Cluster;
use super::{Rooms, drop_mail, once};
use crate::world::wait;
use data_encoding::BASE64URL_NOPAD;
use nkeys::KeyPair;
use serde_json::{Value, json};

/// The permissions of a room in the docs.
fn permissions(own: &str) -> (Value, Value) {
    let publish = json!([
        format!("mailbag.*.{own}.>"),
        format!("$JS.API.STREAM.CREATE.mailbag_{own}"),
        format!("$JS.API.CONSUMER.*.mailbag_{own}.>"),
        format!("$JS.API.CONSUMER.MSG.NEXT.mailbag_{own}.>"),
        format!("$JS.ACK.mailbag_{own}.>")
    ]);
    (publish, json!([format!("_INBOX_mailbag_{own}.>")]))
}

/// A token about `of`, signed by `by`.
fn token(by: &KeyPair, of: &KeyPair, nats: &Value) -> String {
    let part = |value: Value| BASE64URL_NOPAD.encode(value.to_string().as_bytes());
    let claims = json!({"jti": "x", "iat": 1_700_000_000, "iss": by.public_key(), "sub": of.public_key(), "name": "x", "nats": nats});
    let text = format!(
        "{}.{}",
        part(json!({"typ": "JWT", "alg": "ed25519-nkey"})),
        part(claims)
    );
    let signature = by.sign(text.as_bytes()).expect("a key");
    format!("{text}.{}", BASE64URL_NOPAD.encode(&signature))
}

/// Mail is delivered with these credentials, but not with a stranger's.
fn mail_crosses(servers: &str, [fit, po, stranger]: [String; 3]) {
    let Some(cluster) = Cluster::start(1, servers) else {
        return;
    };
    let rooms = Rooms::untrusted(&cluster.address(), "");
    give(&rooms.fit, "credentials", &stranger);
    rooms.trust();
    assert_contains!(once(&rooms.fit).fails(75), "authorization violation");
    give(&rooms.fit, "credentials", &fit);
    give(&rooms.po, "credentials", &po);
    rooms.trust();
    let _carriers = rooms.run();
    drop_mail(&rooms.fit, "alice", "po:sintra", "hello");
    wait("it arrives", || rooms.po.bodies("sintra") == ["hello"]);
    drop_mail(&rooms.po, "sintra", "fit:alice", "hi");
    wait("it comes back", || rooms.fit.bodies("alice") == ["hi"]);
}

#[test]
fn a_room_is_known_by_its_nkey() {
    // P211
    let [fit, po, stranger] = [(); 3].map(|()| KeyPair::new_user());
    let user = |key: &KeyPair, own: &str| {
        let (publish, subscribe) = permissions(own);
        let allowed = json!({"publish": publish, "subscribe": subscribe});
        format!("{{ nkey: {}, permissions: {allowed} }}", key.public_key())
    };
    let servers = format!(
        "authorization {{ users: [ {}, {} ] }}",
        user(&fit, "fit"),
        user(&po, "po")
    );
    mail_crosses(
        &servers,
        [fit, po, stranger].map(|key| key.seed().expect("a seed") + "\n"),
    );
}

#[test]
fn a_room_is_known_by_a_token_of_its_account() {
    // P211
    let (operator, account, system, other) = (
        KeyPair::new_operator(),
        KeyPair::new_account(),
        KeyPair::new_account(),
        KeyPair::new_account(),
    );
    let limits = json!({"subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true, "conn": -1,
                        "leaf": -1, "mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1});
    let mut no_streams = limits.clone();
    no_streams
        .as_object_mut()
        .expect("an object")
        .retain(|name, _| !name.contains("storage") && name != "streams" && name != "consumer");
    let of = |key: &KeyPair, limits: &Value| {
        let token = token(
            &operator,
            key,
            &json!({"type": "account", "version": 2, "limits": limits}),
        );
        format!("{}: {token}", key.public_key())
    };
    let servers = format!(
        "operator: {}\nsystem_account: {}\nresolver: MEMORY\nresolver_preload: {{\n{}\n{}\n}}",
        token(
            &operator,
            &operator,
            &json!({"type": "operator", "version": 2})
        ),
        system.public_key(),
        of(&system, &no_streams),
        of(&account, &limits)
    );
    let file = |by: &KeyPair, own: &str| {
        let (key, (publish, subscribe)) = (KeyPair::new_user(), permissions(own));
        let nats = json!({"type": "user", "version": 2, "subs": -1, "data": -1, "payload": -1,
                          "pub": {"allow": publish}, "sub": {"allow": subscribe}});
        format!(
            "-----BEGIN NATS USER JWT-----\n{}\n------END NATS USER JWT------\n\n\
             -----BEGIN USER NKEY SEED-----\n{}\n------END USER NKEY SEED------\n",
            token(by, &key, &nats),
            key.seed().expect("a seed")
        )
    };
    mail_crosses(
        &servers,
        [
            file(&account, "fit"),
            file(&account, "po"),
            file(&other, "fit"),
        ],
    );
}
