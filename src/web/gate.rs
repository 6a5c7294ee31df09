//! Access to the page: its names and the secrets of a launch. `guard` holds every request to these rules.
//!
//! - `Host` is one of the names of this page. A page of another site that makes its own name lead to this machine (DNS
//!   rebinding) sends its own name there.
//! - A request that changes the room has an `Origin`, and it is the page itself.
//! - A browser sends its secret in a header, which only a script of the page's own origin can add. The page sets no cookie,
//!   because browsers send a cookie to all ports of a host.
//!
//! A browser gets its secret for the token in the fragment of the printed URL, once.

use super::browsers::{Browsers, secret};
use crate::base::hash::hash;
use axum::http::{HeaderMap, header};
use std::sync::{Mutex, PoisonError};

/// The header with a browser's secret.
pub(super) const SECRET: &str = "x-mailbag-secret";

/// The sender of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Requester {
    /// A browser that has entered, or a program with its secret.
    Person,
    /// A request without a secret, as the browser sends it for an address of the page.
    Stranger,
    /// A request with a secret that is not valid.
    Impostor,
}

/// The secrets and the names of this launch.
pub(super) struct PageGate {
    /// The token in the printed URL, until it is used.
    entry: Mutex<Option<String>>,
    browsers: Browsers,
    /// The valid values of `Host`, in lower case.
    hosts: [String; 2],
}

impl PageGate {
    pub(super) fn new(port: u16, browsers: Browsers) -> PageGate {
        PageGate {
            entry: Mutex::new(Some(secret())),
            browsers,
            hosts: [format!("127.0.0.1:{port}"), format!("localhost:{port}")],
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

    /// The secret for a browser that has the token of the printed URL. The token is valid once.
    pub(super) fn enter(&self, token: &str) -> Option<String> {
        let mut entry = self.entry.lock().unwrap_or_else(PoisonError::into_inner);
        entry.take_if(|valid| is_same(valid, token))?;
        Some(self.browsers.add())
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
        let Some(secret) = headers.get(SECRET) else {
            return Requester::Stranger;
        };
        let is_known = secret
            .to_str()
            .is_ok_and(|secret| self.browsers.has(secret));
        if is_known {
            Requester::Person
        } else {
            Requester::Impostor
        }
    }
}

/// Compares in a time that does not depend on the place where two texts differ.
fn is_same(one: &str, other: &str) -> bool {
    hash(one) == hash(other)
}
