//! Access to the page: names, origins, tokens and secrets.

use super::{Answer, FORM, Page};
use crate::files;
use crate::world::{World, mode, parse_json, wait};
use std::os::unix::fs::PermissionsExt;

/// Files without content of the room.
const ASSETS: [&str; 5] = [
    "/style.css",
    "/page.js",
    "/browser.js",
    "/needs.js",
    "/icon.svg",
];
/// Every other address that anything answers at.
const PAGES: [&str; 11] = [
    "/",
    "/message/1",
    "/thread/1",
    "/rejected",
    "/rejected/1",
    "/search?q=x",
    "/room",
    "/write",
    "/part/needs",
    "/events",
    "/enter",
];

fn with_host(page: &Page, path: &str, host: &str) -> Answer {
    let known = page.known();
    let head = format!("GET {path} HTTP/1.1\r\n{host}Connection: close\r\n{known}\r\n");
    Answer::read(&page.raw(head.as_bytes()))
}

#[test]
fn another_name_for_this_machine_gets_nothing_anywhere() {
    let world = World::with("alice");
    world.send("alice", "human", "a secret");
    let page = Page::of(&world);
    assert_eq!(page.at.ip(), std::net::Ipv4Addr::LOCALHOST);
    let port = page.at.port();
    let names = [
        "evil.example".to_owned(),
        format!("evil.example:{port}"),
        "127.0.0.1".into(),
        format!("127.0.0.1:{}", port ^ 1),
    ];
    for path in PAGES.into_iter().chain(ASSETS) {
        for host in &names {
            let answer = with_host(&page, path, &format!("Host: {host}\r\n"));
            assert_eq!(answer.status, 421, "{path} {host}");
            assert!(!answer.body.contains("secret"), "{path} {host}");
        }
        let twice = format!("Host: {}\r\nHost: evil.example\r\n", page.at);
        assert_ne!(with_host(&page, path, &twice).status, 200, "{path}");
        assert_ne!(with_host(&page, path, "").status, 200, "{path}");
    }
    assert_eq!(
        with_host(&page, "/room", &format!("Host: LOCALHOST:{port}\r\n")).status,
        200
    );
}

#[test]
fn only_requests_of_the_page_itself_can_change_the_room() {
    let world = World::with("alice");
    let page = Page::of(&world);
    let secret = page.known() + FORM;
    let origins = [
        "",
        "Origin: null\r\n",
        "Origin: http://evil.example\r\n",
        "Origin: http://127.0.0.1\r\n",
    ];
    let own = format!("Origin: http://{}\r\n", page.at);
    let more = [
        format!("{own}Origin: http://evil.example\r\n"),
        format!("{own}Sec-Fetch-Site: cross-site\r\n"),
    ];
    for origin in origins.into_iter().map(str::to_owned).chain(more) {
        for path in ["/write", "/answer", "/rejected/1", "/enter"] {
            let answer = page.plain(
                "POST",
                path,
                &format!("{secret}{origin}"),
                "to=alice&body=forged",
            );
            assert_eq!(answer.status, 403, "{path} with {origin:?}");
        }
    }
    assert_eq!(world.ok("inbox alice"), "");
    page.submit("/write", &[("to", "alice"), ("body", "meant")]);
    assert_contains!(world.ok("inbox alice"), "meant");
}

#[test]
fn without_the_secret_a_browser_gets_a_page_without_content_and_a_program_nothing() {
    let world = World::with("alice");
    world.send("alice", "human", "a secret word");
    let page = Page::of(&world);
    let wrong = |secret: &str| format!("X-Mailbag-Secret: {secret}\r\n");
    let cookie = format!("Cookie: mailbag-{}={}\r\n", page.at.port(), page.secret());
    for path in PAGES {
        let is_page = !["/part/", "/events"]
            .iter()
            .any(|above| path.starts_with(above));
        for headers in ["", cookie.as_str()] {
            let answer = page.plain("GET", path, headers, "");
            assert_eq!(
                answer.status,
                if is_page { 200 } else { 401 },
                "{path} with {headers:?}"
            );
            assert!(
                !answer.body.contains("alice") && !answer.body.contains("word"),
                "{path}: {}",
                answer.body
            );
        }
        for secret in [
            "",
            "x",
            &page.secret()[1..],
            &page.secret().to_uppercase(),
            page.entry(),
        ] {
            assert_eq!(
                page.plain("GET", path, &wrong(secret), "").status,
                401,
                "{path} with {secret}"
            );
        }
    }
    assert_contains!(page.get("/all").body, "a secret word");
}

#[test]
fn no_answer_sets_a_cookie_and_a_request_with_nothing_but_cookies_changes_nothing() {
    let world = World::with("alice");
    let page = Page::of(&world);
    let entered = page.enter(page.entry());
    let secret = entered.json()["secret"]
        .as_str()
        .expect("a secret")
        .to_owned();
    let known = format!("X-Mailbag-Secret: {secret}\r\n");
    let get = |path: &str| page.plain("GET", path, &known, "");
    let answers = ["/", "/page.js", "/part/needs", "/none"].map(get);
    for answer in answers.into_iter().chain([entered]) {
        let head = answer.head.to_lowercase();
        assert!(!head.contains("set-cookie"), "{head}");
    }
    let origin = format!("{FORM}Origin: http://{}\r\n", page.at);
    for word in [&secret, page.entry()] {
        for name in [
            format!("mailbag-{}", page.at.port()),
            "mailbag-secret".into(),
            "x-mailbag-secret".into(),
        ] {
            for path in ["/write", "/answer", "/rejected/1"] {
                let cookie = format!("{origin}Cookie: {name}={word}\r\n");
                let answer = page.plain("POST", path, &cookie, "to=alice&body=forged");
                assert_eq!(answer.status, 401, "{path} with {name}");
            }
        }
    }
    assert_eq!(world.ok("inbox alice"), "");
}

#[test]
fn the_token_of_the_url_is_in_its_fragment_and_lets_one_browser_in() {
    let world = World::with("alice");
    let page = Page::of(&world);
    assert!(
        page.url.starts_with(&format!("http://{}/#enter=", page.at)),
        "{}",
        page.url
    );
    for token in [
        "",
        "x",
        &page.entry()[1..],
        &format!("{}0", page.entry()),
        &page.entry().to_uppercase(),
    ] {
        assert_eq!(page.enter(token).status, 401, "{token}");
    }
    assert_eq!(page.enter(page.entry()).status, 200);
    let again = page.enter(page.entry());
    assert!(
        again.status == 401 && again.body.contains("was used already"),
        "{again:?}"
    );
}

#[test]
fn an_address_that_another_site_opens_lets_no_browser_in_and_uses_no_token() {
    let world = World::with("alice");
    let page = Page::of(&world);
    for path in ["/enter?token=", "/?token=", "/?enter="] {
        let answer = page.plain(
            "GET",
            &format!("{path}{}", page.entry()),
            "Sec-Fetch-Site: cross-site\r\n",
            "",
        );
        assert!(
            !answer.body.contains("secret\":") && !answer.body.contains("alice"),
            "{path}: {answer:?}"
        );
    }
    assert_eq!(
        page.enter(page.entry()).status,
        200,
        "the token was not used"
    );
}

#[test]
fn a_browser_stays_known_when_the_page_starts_again_and_until_its_file_is_removed() {
    let world = World::with("alice");
    let mut first = Page::of(&world);
    let (at, secret) = (first.at, first.secret().to_owned());
    first.kill();
    let page = Page::of(&world);
    assert_eq!(page.at, at, "the same origin");
    let header = format!("X-Mailbag-Secret: {secret}\r\n");
    let known = |page: &Page| page.plain("GET", "/part/needs", &header, "").status;
    assert_eq!(known(&page), 200);
    let state = world.trust().join("mailbag");
    for entry in std::fs::read_dir(&state).expect("the state of the page") {
        let path = entry.expect("a file").path();
        assert_eq!(mode(&path), 0o600, "{path:?}");
        assert!(!files::read_text(&path).contains(&secret), "{path:?}");
    }
    files::remove_dir(&state);
    assert_eq!(known(&page), 401, "at once, also while the page runs");
}

#[test]
fn a_page_that_finds_its_port_in_use_takes_another_one_and_warns() {
    let world = World::with("alice");
    let mut first = Page::of(&world);
    let (at, _) = (first.at, first.kill());
    let other = std::net::TcpListener::bind(at).expect("the port is free");
    let log = std::fs::File::create(world.path().join("log")).expect("a file");
    let mut command = world.bare("web --json");
    command.stderr(log);
    let page = Page::by(command);
    assert_ne!(page.at, at);
    assert_contains!(
        files::read_text(world.path().join("log")),
        &format!("port {}", at.port()),
        "run `rm "
    );
    drop((other, page));
    assert_eq!(Page::of(&world).at, at, "the port stays the room's one");
}

#[test]
fn a_browser_that_entered_thirty_days_ago_has_to_enter_again() {
    let world = World::with("alice");
    let page = Page::of(&world);
    page.secret();
    let is_state = |path: &std::path::PathBuf| path.extension().is_some_and(|end| end == "json");
    let files = std::fs::read_dir(world.trust().join("mailbag"))
        .expect("the state")
        .flatten();
    let path = files
        .map(|entry| entry.path())
        .find(is_state)
        .expect("the state of the page");
    let mut state = parse_json(files::read(&path));
    for (days, status) in [(29, 200), (31, 401)] {
        let since = chrono::Utc::now() - chrono::Duration::days(days);
        state["browsers"][0]["since"] = since
            .to_rfc3339_opts(chrono::SecondsFormat::Micros, true)
            .into();
        files::write(&path, state.to_string());
        assert_eq!(page.get("/part/needs").status, status, "after {days} days");
    }
}

#[test]
fn the_token_is_not_among_the_words_of_the_program_that_opens_the_page() {
    let world = World::with("alice");
    let bin = world.path().join("bin");
    files::make_dir(&bin);
    for name in ["xdg-open", "open"] {
        let script = "#!/bin/sh\nstat -c %a \"$1\" > mode\ncp \"$1\" opened\necho \"$@\" > words\n";
        files::write(bin.join(name), script);
        std::fs::set_permissions(bin.join(name), std::fs::Permissions::from_mode(0o755))
            .expect("it can be run");
    }
    let mut command = world.bare("web --json --open");
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", bin.display()));
    let page = Page::by(command);
    let read = |name: &str| std::fs::read_to_string(world.path().join(name)).unwrap_or_default();
    wait("the browser is started", || !read("words").is_empty());
    assert!(!read("words").contains(page.entry()), "{}", read("words"));
    assert!(read("opened").contains(&page.url), "{}", read("opened"));
    assert_eq!(read("mode").trim(), "600");
}

#[test]
fn every_answer_binds_the_browser() {
    let world = World::with("alice");
    let page = Page::of(&world);
    let pages = PAGES.into_iter().filter(|path| *path != "/events");
    for path in pages.chain(ASSETS).chain(["/none"]) {
        let answer = page.get(path);
        let policy = answer.header("content-security-policy");
        assert!(
            policy.starts_with("default-src 'none'") && !policy.contains("unsafe"),
            "{path}: {policy}"
        );
        assert_contains!(policy, "frame-ancestors 'none'"; "{path}");
        assert_eq!(answer.header("x-frame-options"), "DENY", "{path}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(answer.header("cache-control"), "no-store", "{path}");
        assert!(
            !answer.head.to_lowercase().contains("access-control"),
            "{path}"
        );
        for inline in [
            " style=",
            "<style",
            " onclick=",
            " onload=",
            "<script>",
            "javascript:",
        ] {
            assert!(
                !answer.body.contains(inline) || path.ends_with(".js"),
                "{path} has {inline}"
            );
        }
    }
}
