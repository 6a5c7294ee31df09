//! Clients that are slow, many, or large.

use super::stream::Stream;
use super::{FORM, Page};
use crate::town::so_within;
use crate::world::{World, lossy};
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// The longest wait for the person while the page is under attack, on a busy machine.
const SOON: Duration = Duration::from_secs(10);

impl Page {
    /// Connections that each send this, and read nothing.
    fn crowd(&self, count: usize, sent: &[u8]) -> Vec<TcpStream> {
        let mut all: Vec<_> = (0..count).map(|_| self.connect()).collect();
        for stream in &mut all {
            let _ = stream.set_write_timeout(Some(Duration::from_millis(200)));
            let _ = stream.write_all(sent);
        }
        all
    }

    fn serves_soon(&self) -> bool {
        let begun = Instant::now();
        self.get("/room").status == 200 && begun.elapsed() < SOON
    }
}

#[test]
fn connections_that_say_nothing_never_end_or_never_read_keep_the_person_out_at_no_time() {
    let world = World::with("alice");
    let page = Page::of(&world);
    let ask = format!("GET /page.js HTTP/1.1\r\nHost: {}\r\n\r\n", page.at);
    for sent in [
        "",
        "GET / HTTP/1.1\r\nHost:",
        "POST /write HTTP/1.1\r\nContent-Length: 100\r\n\r\n",
        &ask.repeat(1000),
    ] {
        let crowd = page.crowd(200, sent.as_bytes());
        assert!(page.serves_soon(), "{sent:.40?}");
        assert!(page.memory() < 150_000, "{} kB", page.memory());
        drop(crowd);
    }
}

#[test]
fn a_connection_that_never_reads_ends() {
    let world = World::with("alice");
    let page = Page::of(&world);
    let ask = format!("GET /page.js HTTP/1.1\r\nHost: {}\r\n\r\n", page.at);
    let mut stream = page.connect();
    stream.set_nonblocking(true).expect("a stream");
    assert!(so_within(Duration::from_secs(60), || stream
        .write_all(ask.repeat(50).as_bytes())
        .is_err_and(|e| e.kind() != std::io::ErrorKind::WouldBlock)));
}

#[test]
fn a_body_is_read_only_after_the_credentials_are_checked() {
    let world = World::with("alice");
    let page = Page::of(&world);
    let before = page.memory();
    let part = vec![b'x'; 8 << 20];
    for (path, length) in [
        ("/enter", 64 << 20),
        ("/write", 64 << 20),
        ("/answer", 64 << 20),
        ("/", 64 << 20),
    ] {
        let crowd: Vec<TcpStream> = (0..10)
            .map(|_| {
                let mut stream = page.connect();
                let _ = stream.set_write_timeout(Some(Duration::from_millis(200)));
                let head = format!(
                    "POST {path} HTTP/1.1\r\nHost: {0}\r\nOrigin: http://{0}\r\n{FORM}Content-Length: {length}\r\n\r\n",
                    page.at
                );
                let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&part));
                stream
            })
            .collect();
        for mut stream in crowd {
            let mut status = [0; 12];
            let _ = stream.read_exact(&mut status);
            let status = lossy(status);
            assert!(
                ["HTTP/1.1 401", "HTTP/1.1 413", "\0\0\0\0\0\0\0\0\0\0\0\0"].contains(&&*status),
                "{path}: {status:?}"
            );
        }
    }
    let chunked = format!(
        "POST /enter HTTP/1.1\r\nHost: {0}\r\nOrigin: http://{0}\r\n{FORM}Transfer-Encoding: chunked\r\n\r\n800000\r\n",
        page.at
    );
    let crowd = page.crowd(10, &[chunked.as_bytes(), &part].concat());
    assert!(page.serves_soon());
    assert!(
        page.memory() < before + 40_000,
        "{before} kB, then {} kB",
        page.memory()
    );
    drop(crowd);
}

#[test]
fn slow_readers_of_events_share_a_bounded_memory() {
    let world = World::alice_and_bob();
    let body = "word ".repeat(200_000);
    for n in 0..12 {
        world.mail(
            "alice",
            &format!("{n}.json"),
            json!({"to": "bob", "body": body}),
        );
    }
    world.pass();
    let page = Page::of(&world);
    let slow: Vec<_> = (0..16)
        .map(|_| Stream::open(&page, "?since=0", ""))
        .collect();
    assert_eq!(Stream::open(&page, "?since=0", "").entries(12).len(), 12);
    assert!(page.memory() < 150_000, "{} kB", page.memory());
    drop(slow);
}

#[test]
fn heads_and_forms_that_are_too_large_are_rejected() {
    let world = World::with("alice");
    let page = Page::of(&world);
    let long = "x".repeat(1 << 20);
    let head = format!("GET /{long} HTTP/1.1\r\nHost: {}\r\n\r\n", page.at);
    assert!(!page.raw(head.as_bytes()).contains(" 200 "));
    let mut stream = page.connect();
    let head = format!(
        "POST /write HTTP/1.1\r\nHost: {0}\r\nOrigin: http://{0}\r\nX-Mailbag-Secret: {1}\r\n{FORM}Content-Length: 999999999\r\n\r\n",
        page.at,
        page.secret()
    );
    stream.write_all(head.as_bytes()).expect("it is sent");
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    assert_contains!(answer, " 413 ");
    assert_eq!(page.get("/").status, 200);
}
