//! Access to the page: its names and the secrets of a launch. `guard` holds every request to these rules.
//!
//! - `Host` is one of the names of this page. A page of another site that makes its own name lead to this machine (DNS
//!   rebinding) sends its own name there.
//! - A request that changes the room has an `Origin`, and it is the page itself.
//! - A browser sends its secret in a header, which only a script of the page's own origin can add. The page sets no cookie,
//!   because browsers send a cookie to all ports of a host.
//! - A program sends the token for reading as `Authorization: Bearer`. It changes nothing.
//!
//! A browser gets its secret for the token in the fragment of the printed URL, once, or for the password.

use super::browsers::{Browsers, secret};
use super::turns::GuessTurns;
use crate::base::hash::hash;
use axum::http::{HeaderMap, header};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// The header with a browser's secret.
pub(super) const SECRET: &str = "x-mailbag-secret";

/// How people reach the page.
#[derive(Debug, Clone, Default)]
pub struct PageAccess {
    /// The URL of a reverse proxy in front of the page, such as `https://mail.example.org`.
    pub public: Option<String>,
    /// A password, for people who do not have the printed URL.
    pub password: Option<String>,
}

/// The sender of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Requester {
    /// A browser that has entered, or a program with its secret.
    Person,
    /// A program with the token for reading.
    Reader,
    /// A request without a secret, as the browser sends it for an address of the page.
    Stranger,
    /// A request with a secret that is not valid.
    Impostor,
}

/// The result of an attempt to enter.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SignInResult {
    /// The secret for the browser.
    Open(String),
    /// Neither the token nor the password.
    Wrong,
    /// Too many guesses of this source are waiting.
    Crowded,
}

/// The secrets and the names of this launch.
pub(super) struct PageGate {
    /// The token in the printed URL, until it is used.
    entry: Mutex<Option<String>>,
    reader: String,
    browsers: Browsers,
    /// The valid values of `Host`, in lower case.
    hosts: Vec<String>,
    is_proxied: bool,
    password: Option<String>,
    turns: GuessTurns,
}

impl PageGate {
    pub(super) fn new(at: SocketAddr, access: PageAccess, browsers: Browsers) -> PageGate {
        let port = at.port();
        let mut hosts = vec![at.to_string(), format!("localhost:{port}")];
        if at.ip().is_unspecified() {
            hosts.extend([format!("127.0.0.1:{port}"), format!("[::1]:{port}")]);
        }
        let public = access
            .public
            .as_deref()
            .and_then(|url| url.split_once("://"));
        hosts.extend(public.map(|(_, host)| host.trim_end_matches('/').to_lowercase()));
        PageGate {
            entry: Mutex::new(Some(secret())),
            reader: secret(),
            browsers,
            hosts,
            is_proxied: public.is_some(),
            password: access.password,
            turns: GuessTurns::default(),
        }
    }

    /// The token of the printed URL. It lets one browser in.
    pub(super) fn entry(&self) -> String {
        self.entry
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
            .unwrap_or_default()
    }

    /// The token for programs that read.
    pub(super) fn reader(&self) -> &str {
        &self.reader
    }

    /// Returns true if the page takes a password.
    pub(super) fn has_password(&self) -> bool {
        self.password.is_some()
    }

    /// Lets a browser in that has the token of the printed URL. The token is valid once.
    pub(super) fn enter_by_token(&self, token: &str) -> SignInResult {
        let mut entry = self.entry.lock().unwrap_or_else(PoisonError::into_inner);
        if !entry.as_ref().is_some_and(|valid| is_same(valid, token)) {
            return SignInResult::Wrong;
        }
        *entry = None;
        SignInResult::Open(self.browsers.add())
    }

    /// Lets a browser in that sends the password, when it is the turn of its source.
    pub(super) async fn enter_by_password(&self, word: &str, source: IpAddr) -> SignInResult {
        let Some(password) = &self.password else {
            return SignInResult::Wrong;
        };
        let Some(turn) = self.turns.take(source, Instant::now()) else {
            return SignInResult::Crowded;
        };
        tokio::time::sleep_until(turn.into()).await;
        if is_same(word, password) {
            SignInResult::Open(self.browsers.add())
        } else {
            SignInResult::Wrong
        }
    }

    /// The address that a guess counts for. Behind a proxy, all connections come from the proxy, which adds the address
    /// of its client at the end of a header.
    pub(super) fn source(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        if !self.is_proxied || !peer.is_loopback() {
            return peer;
        }
        let forwarded = headers.get_all("x-forwarded-for").iter().next_back();
        let last =
            forwarded.and_then(|list| list.to_str().ok()?.rsplit(',').next()?.trim().parse().ok());
        last.unwrap_or(peer)
    }

    pub(super) fn has_host(&self, headers: &HeaderMap) -> bool {
        let mut hosts = headers.get_all(header::HOST).iter();
        let (host, other) = (
            hosts.next().and_then(|host| host.to_str().ok()),
            hosts.next(),
        );
        other.is_none() && host.is_some_and(|host| self.hosts.contains(&host.to_lowercase()))
    }

    pub(super) fn is_own_origin(&self, headers: &HeaderMap) -> bool {
        let mut origins = headers.get_all(header::ORIGIN).iter();
        let (origin, other) = (
            origins.next().and_then(|origin| origin.to_str().ok()),
            origins.next(),
        );
        let host = origin
            .and_then(|origin| origin.split_once("://"))
            .map(|(_, host)| host.to_lowercase());
        let site = headers
            .get("sec-fetch-site")
            .map(|site| site.as_bytes() == b"same-origin");
        other.is_none()
            && site != Some(false)
            && host.is_some_and(|host| self.hosts.contains(&host))
    }

    /// Returns the sender of a request with these headers.
    pub(super) fn caller(&self, headers: &HeaderMap) -> Requester {
        if let Some(secret) = headers.get(SECRET) {
            let is_known = secret
                .to_str()
                .is_ok_and(|secret| self.browsers.has(secret));
            return if is_known {
                Requester::Person
            } else {
                Requester::Impostor
            };
        }
        let tokens = headers
            .get_all(header::AUTHORIZATION)
            .iter()
            .filter_map(|value| value.to_str().ok());
        let tokens: Vec<&str> = tokens
            .filter_map(|value| value.strip_prefix("Bearer "))
            .collect();
        if tokens
            .iter()
            .any(|token| is_same(token.trim(), &self.reader))
        {
            Requester::Reader
        } else if tokens.is_empty() {
            Requester::Stranger
        } else {
            Requester::Impostor
        }
    }
}

/// Compares in a time that does not depend on the place where two texts differ.
fn is_same(one: &str, other: &str) -> bool {
    hash(one) == hash(other)
}
