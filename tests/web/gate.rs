//! Who may ask: names, origins, tokens, cookies, and clients that are slow or many.

use super::{Answer, Page};
use crate::town::so_within;
use crate::world::{World, wait};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

/// Every address that anything answers at.
const ALL: [&str; 20] = [
    "/",
    "/message/1",
    "/thread/1",
    "/rejected",
    "/rejected/1",
    "/search?q=x",
    "/claims",
    "/worklog",
    "/links",
    "/health",
    "/write",
    "/part/needs",
    "/events",
    "/api/pending",
    "/api/list",
    "/api/doctor",
    "/style.css",
    "/page.js",
    "/icon.svg",
    "/enter?token=x",
];

fn with_host(page: &Page, path: &str, host: &str) -> Answer {
    let head =
        format!("GET {path} HTTP/1.1\r\n{host}Connection: close\r\nAuthorization: Bearer {}\r\n\r\n", page.token);
    Answer::read(&page.raw(head.as_bytes()))
}

#[test]
fn another_name_for_this_machine_gets_nothing_anywhere() {
    let world = World::with(&["alice"]);
    world.ok(&["send", "human", "a secret", "--as", "alice"]);
    let page = Page::of(&world);
    let port = page.at.port();
    let names = [
        "evil.example".to_owned(),
        format!("evil.example:{port}"),
        "127.0.0.1".into(),
        format!("127.0.0.1:{}", port ^ 1),
    ];
    for path in ALL {
        for host in &names {
            let answer = with_host(&page, path, &format!("Host: {host}\r\n"));
            assert_eq!(answer.status, 421, "{path} {host}");
            assert!(!answer.body.contains("secret"), "{path} {host}");
        }
        let twice = format!("Host: {}\r\nHost: evil.example\r\n", page.at);
        assert_ne!(with_host(&page, path, &twice).status, 200, "{path}");
        assert_ne!(with_host(&page, path, "").status, 200, "{path}");
    }
    assert_eq!(with_host(&page, "/claims", &format!("Host: LOCALHOST:{port}\r\n")).status, 200);
}

#[test]
fn what_changes_the_room_must_come_from_the_page_itself() {
    let world = World::with(&["alice"]);
    let page = Page::of(&world);
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    let origins = ["", "Origin: null\r\n", "Origin: http://evil.example\r\n", "Origin: http://127.0.0.1\r\n"];
    let own = format!("Origin: http://{}\r\n", page.at);
    let more = [format!("{own}Origin: http://evil.example\r\n"), format!("{own}Sec-Fetch-Site: cross-site\r\n")];
    for origin in origins.into_iter().map(str::to_owned).chain(more) {
        for path in ["/write", "/answer", "/rejected/1", "/enter"] {
            let answer = page.ask("POST", path, &format!("{form}{origin}"), "to=alice&body=forged");
            assert_eq!(answer.status, 403, "{path} with {origin:?}");
        }
    }
    assert_eq!(world.ok(&["inbox", "alice"]), "");
    assert_eq!(page.post("/write", &[("to", "alice"), ("body", "meant")]).status, 303);
    assert!(world.ok(&["inbox", "alice"]).contains("meant"));
}

#[test]
fn a_browser_enters_with_the_token_and_gets_a_cookie_that_no_script_reads() {
    let world = World::with(&["alice"]);
    let page = Page::of(&world);
    let plain = |path: &str, headers: &str| {
        let head = format!("GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{headers}\r\n", page.at);
        Answer::read(&page.raw(head.as_bytes()))
    };
    for path in ALL.into_iter().filter(|path| !["/style.css", "/page.js", "/icon.svg"].contains(path)) {
        assert_eq!(plain(path, "").status, 401, "{path}");
    }
    for token in ["", "x", &page.token[1..], &format!("{}0", page.token), &page.token.to_uppercase()] {
        let answer = plain(&format!("/enter?token={token}"), "");
        assert_eq!(answer.status, 401, "{token}");
        assert!(!answer.head.to_lowercase().contains("set-cookie"), "{token}");
        assert_eq!(plain("/", &format!("Authorization: Bearer {token}\r\n")).status, 401, "{token}");
    }
    let entered = plain(&format!("/enter?token={}", page.token), "");
    let cookie = entered.header("set-cookie").to_owned();
    assert!(cookie.contains("; HttpOnly") && cookie.contains("; SameSite=Strict"), "{cookie}");
    assert!(!cookie.contains(&page.token), "the token itself stays out of the browser's requests");
    let cookie = cookie.split(';').next().expect("a cookie");
    assert_eq!(plain("/", &format!("Cookie: other=1; {cookie}\r\n")).status, 200);
    assert_eq!(plain("/", &format!("Cookie: {}0\r\n", cookie)).status, 401);
    // The cookie of another launch on this host is another one.
    let other = Page::of(&world);
    let head = format!("GET / HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nCookie: {cookie}\r\n\r\n", other.at);
    assert_eq!(Answer::read(&other.raw(head.as_bytes())).status, 401);
}

#[test]
fn the_token_is_not_among_the_words_of_the_program_that_opens_the_page() {
    let world = World::with(&["alice"]);
    let bin = world.path().join("bin");
    std::fs::create_dir(&bin).expect("a directory");
    for name in ["xdg-open", "open"] {
        let script = "#!/bin/sh\nstat -c %a \"$1\" > mode\ncp \"$1\" opened\necho \"$@\" > words\n";
        std::fs::write(bin.join(name), script).expect("a file");
        std::fs::set_permissions(bin.join(name), std::fs::Permissions::from_mode(0o755)).expect("it can be run");
    }
    let mut command = world.bare(&["web", "--json", "--open"]);
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", bin.display()));
    let page = Page::by(command);
    let read = |name: &str| std::fs::read_to_string(world.path().join(name)).unwrap_or_default();
    wait("the browser is started", || !read("words").is_empty());
    assert!(!read("words").contains(&page.token), "{}", read("words"));
    assert!(read("opened").contains(&page.url), "{}", read("opened"));
    assert_eq!(read("mode").trim(), "600");
}

#[test]
fn every_answer_binds_the_browser() {
    let world = World::with(&["alice"]);
    let page = Page::of(&world);
    for path in ALL.into_iter().filter(|path| *path != "/events").chain(["/none"]) {
        let answer = page.get(path);
        let policy = answer.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{path}: {policy}");
        assert!(policy.contains("frame-ancestors 'none'"), "{path}");
        assert_eq!(answer.header("x-frame-options"), "DENY", "{path}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(answer.header("cache-control"), "no-store", "{path}");
        assert!(!answer.head.to_lowercase().contains("access-control"), "{path}");
        for inline in [" style=", "<style", " onclick=", " onload=", "<script>", "javascript:"] {
            assert!(!answer.body.contains(inline) || path.ends_with(".js"), "{path} has {inline}");
        }
    }
}

#[test]
fn other_machines_need_a_password_or_a_proxy() {
    let world = World::with(&["alice"]);
    let refused = world.run(&["web", "--listen", "0.0.0.0:0"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.err.contains("--password-file"), "{refused:?}");
    std::fs::write(world.path().join("password"), "short\n").expect("a file");
    let short = world.run(&["web", "--listen", "0.0.0.0:0", "--password-file", "password"]);
    assert!(short.err.contains("fewer than 12 characters"), "{short:?}");
    std::fs::write(world.path().join("password"), "correct horse battery\n").expect("a file");
    let page = Page::with(
        &world,
        &["--listen", "127.0.0.1:0", "--password-file", "password", "--public", "https://mail.example.org"],
    );
    let enter = |password: &str| {
        let body = format!("password={}", super::encoded(password));
        let head = format!(
            "POST /enter HTTP/1.1\r\nHost: mail.example.org\r\nOrigin: https://mail.example.org\r\nConnection: close\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        Answer::read(&page.raw(head.as_bytes()))
    };
    assert_eq!(enter("wrong password!").status, 401);
    let entered = enter("correct horse battery");
    assert_eq!(entered.status, 200, "{entered:?}");
    assert!(entered.header("set-cookie").contains("; Secure"), "{entered:?}");
}

#[test]
fn clients_that_are_slow_or_many_keep_nobody_out_for_long() {
    let world = World::with(&["alice"]);
    let page = Page::of(&world);
    // Heads that never end, bodies that never come, and connections that say nothing.
    let mut idle: Vec<_> = (0..200).map(|_| page.connect()).collect();
    for (n, stream) in idle.iter_mut().enumerate() {
        let _ = match n % 3 {
            0 => stream.write_all(b"GET / HTTP/1.1\r\nHost:"),
            1 => stream.write_all(b"POST /write HTTP/1.1\r\nContent-Length: 100\r\n\r\n"),
            _ => Ok(()),
        };
    }
    let served = || {
        let answer = page.get("/claims");
        answer.status == 200
    };
    assert!(so_within(Duration::from_secs(40), served), "the page answers again");
    drop(idle);
}

#[test]
fn what_is_too_large_is_refused_and_harms_nothing() {
    let world = World::with(&["alice"]);
    let page = Page::of(&world);
    let long = "x".repeat(1 << 20);
    let head = format!("GET /{long} HTTP/1.1\r\nHost: {}\r\n\r\n", page.at);
    assert!(!page.raw(head.as_bytes()).contains(" 200 "));
    let mut stream = page.connect();
    let head = format!(
        "POST /write HTTP/1.1\r\nHost: {0}\r\nOrigin: http://{0}\r\nAuthorization: Bearer {1}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 999999999\r\n\r\n",
        page.at, page.token
    );
    stream.write_all(head.as_bytes()).expect("it is sent");
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    assert!(answer.contains(" 413 "), "{answer}");
    assert_eq!(page.get("/").status, 200);
}
