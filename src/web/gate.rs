//! Who may ask: the names, the token and the cookie of a launch. `guard` holds every request to these rules, assets and
//! events included.
//!
//! - `Host` is one of the names of this page. A page of another site that makes its own name lead to this machine (DNS
//!   rebinding) sends its own name there.
//! - What changes the room has an `Origin`, and it is the page itself.
//! - The browser has the cookie of this launch, which it gets for the token in the printed URL or for the password. A
//!   program sends the token as `Authorization: Bearer`.
//!
//! The same is what Jupyter and the MCP Inspector ask for (CVE-2025-49596).

use crate::base::hash::hash;
use crate::base::limits;
use axum::http::{HeaderMap, HeaderValue, header};
use std::net::SocketAddr;

/// How people reach the page.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// The URL of a reverse proxy in front of the page, such as `https://mail.example.org`.
    pub public: Option<String>,
    /// A password, for people who do not have the printed URL.
    pub password: Option<String>,
}

/// The secrets and the names of this launch.
pub(super) struct Gate {
    token: String,
    /// The value of the cookie, so that the token itself is not in every request.
    session: String,
    cookie: String,
    /// What `Host` may say, in lower case.
    hosts: Vec<String>,
    is_secure: bool,
    password: Option<String>,
    /// Held by one who tries a password.
    guessing: tokio::sync::Mutex<()>,
}

impl Gate {
    pub(super) fn new(at: SocketAddr, access: Access) -> Gate {
        let port = at.port();
        let mut hosts = vec![at.to_string(), format!("localhost:{port}")];
        if at.ip().is_unspecified() {
            hosts.extend([format!("127.0.0.1:{port}"), format!("[::1]:{port}")]);
        }
        let public = access.public.as_deref().and_then(|url| url.split_once("://"));
        hosts.extend(public.map(|(_, host)| host.trim_end_matches('/').to_lowercase()));
        Gate {
            token: secret(),
            session: secret(),
            // Browsers share cookies between the ports of a host.
            cookie: format!("mailbag-{port}"),
            hosts,
            is_secure: public.is_some_and(|(scheme, _)| scheme == "https"),
            password: access.password,
            guessing: tokio::sync::Mutex::default(),
        }
    }

    /// The token of this launch.
    pub(super) fn token(&self) -> &str {
        &self.token
    }

    /// Does the page take a password?
    pub(super) fn has_password(&self) -> bool {
        self.password.is_some()
    }

    /// Is this the token or, after a pause for a wrong one, the password?
    pub(super) async fn admits(&self, word: &str) -> bool {
        if is_same(word, &self.token) {
            return true;
        }
        let Some(password) = &self.password else { return false };
        // One guess a second, by all clients together.
        let _turn = self.guessing.lock().await;
        let admitted = is_same(word, password);
        if !admitted {
            tokio::time::sleep(limits::WRONG_PASSWORD).await;
        }
        admitted
    }

    /// The header that gives a browser the cookie of this launch. No script of the page can read it, and no other site
    /// makes the browser send it.
    pub(super) fn cookie(&self) -> String {
        let secure = if self.is_secure { "; Secure" } else { "" };
        format!("{}={}; Path=/; HttpOnly; SameSite=Strict{secure}", self.cookie, self.session)
    }

    pub(super) fn knows_host(&self, headers: &HeaderMap) -> bool {
        let mut hosts = headers.get_all(header::HOST).iter();
        let (host, other) = (hosts.next().and_then(|host| host.to_str().ok()), hosts.next());
        other.is_none() && host.is_some_and(|host| self.hosts.contains(&host.to_lowercase()))
    }

    pub(super) fn is_own_origin(&self, headers: &HeaderMap) -> bool {
        let mut origins = headers.get_all(header::ORIGIN).iter();
        let (origin, other) = (origins.next().and_then(|origin| origin.to_str().ok()), origins.next());
        let host = origin.and_then(|origin| origin.split_once("://")).map(|(_, host)| host.to_lowercase());
        let site = headers.get("sec-fetch-site").map(|site| site.as_bytes() == b"same-origin");
        other.is_none() && site != Some(false) && host.is_some_and(|host| self.hosts.contains(&host))
    }

    pub(super) fn is_admitted(&self, headers: &HeaderMap) -> bool {
        let texts = |name| headers.get_all(name).iter().filter_map(|value: &HeaderValue| value.to_str().ok());
        let mut cookies = texts(header::COOKIE).flat_map(|cookies| cookies.split(';'));
        let has_cookie = cookies.any(|cookie| {
            cookie
                .trim()
                .split_once('=')
                .is_some_and(|(name, value)| name == self.cookie && is_same(value, &self.session))
        });
        let mut tokens = texts(header::AUTHORIZATION).filter_map(|value| value.strip_prefix("Bearer "));
        has_cookie || tokens.any(|token| is_same(token.trim(), &self.token))
    }
}

/// Compares without telling by its time where two texts differ.
fn is_same(one: &str, other: &str) -> bool {
    hash(one) == hash(other)
}

fn secret() -> String {
    format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple())
}
