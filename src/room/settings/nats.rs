//! The settings of a link over a NATS cluster: its servers, and what proves to each side who the other one is.

use serde::Serialize;

/// The most servers of an address.
const SERVERS_MOST: usize = 16;
/// The most servers that JetStream keeps a stream on.
pub const REPLICAS_MOST: u8 = 5;

/// The settings of a link over NATS, except its address.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct NatsSettings {
    /// The file with this room's credentials for the servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<String>,
    /// The file with the certificates that must have issued the servers' certificates. By default, the system's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<String>,
    /// The number of servers that keep a new stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<u8>,
}

/// Returns true for a path that depends on no working directory.
pub(super) fn is_file(path: &str) -> bool {
    (path.starts_with('/') || path.starts_with("~/")) && !path.contains(char::is_control)
}

/// The servers of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NatsAddress {
    /// Each as `nats://host[:port]` or `tls://host[:port]`.
    pub servers: Vec<String>,
    /// Whether no server is spoken to without TLS.
    pub tls: bool,
}

impl NatsAddress {
    /// Reads servers with commas between them. No name or password is in them: settings are in repositories.
    pub fn parse(text: &str) -> Option<NatsAddress> {
        let servers: Vec<String> = text
            .split(',')
            .map(|server| server.trim_matches(' ').to_owned())
            .collect();
        let tls = servers.iter().any(|server| server.starts_with(TLS));
        let is_valid =
            servers.len() <= SERVERS_MOST && servers.iter().all(|server| is_server(server));
        is_valid.then_some(NatsAddress { servers, tls })
    }
}

const TLS: &str = "tls://";

/// The stream of items for the room with this tag.
pub fn stream_of(tag: &str) -> String {
    format!("mailbag_{}", token(tag))
}

/// A tag as one word of a subject. The character in place of the dot is in no tag.
pub fn token(tag: &str) -> String {
    tag.replace('.', "%2E")
}

fn is_server(text: &str) -> bool {
    let Some(place) = text
        .strip_prefix("nats://")
        .or_else(|| text.strip_prefix(TLS))
    else {
        return false;
    };
    let (host, port) = match place.strip_prefix('[').map(|rest| rest.split_once(']')) {
        Some(Some((host, port))) if host.parse::<std::net::Ipv6Addr>().is_ok() => ("six", port),
        Some(_) => return false,
        None => place.split_at(place.find(':').unwrap_or(place.len())),
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-".contains(c);
    let is_port = |port: &str| {
        port.chars().all(|c| c.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|port| port > 0)
    };
    let is_host = !host.is_empty() && !host.starts_with(['-', '.']) && host.chars().all(is_plain);
    is_host && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_servers() {
        let parse = |text| NatsAddress::parse(text).unwrap_or_else(|| panic!("{text}"));
        assert_eq!(parse("nats://127.0.0.1").servers, ["nats://127.0.0.1"]);
        let three = parse("tls://a.example:4222, tls://b.example:4222,tls://[::1]:4223");
        assert_eq!(
            three.servers,
            [
                "tls://a.example:4222",
                "tls://b.example:4222",
                "tls://[::1]:4223"
            ]
        );
        assert!(three.tls && !parse("nats://a").tls);
        assert!(
            parse("nats://a,tls://b").tls,
            "one that wants TLS is not given away by another one"
        );
    }

    #[test]
    fn nothing_else_is_in_an_address() {
        for text in [
            "",
            "a.example",
            "http://a",
            "ws://a",
            "nats://",
            "nats://:4222",
            "nats://ann@a",
            "nats://ann:secret@a:4222",
            "nats://a:0",
            "nats://a:65536",
            "nats://a:+1",
            "nats://a:4222/x",
            "nats://a?x",
            "nats://a b",
            "nats://a,",
            "nats://-a",
            "nats://[::1",
            "nats://[x]:1",
            "nats://é",
            "nats://a\n",
        ] {
            assert_eq!(NatsAddress::parse(text), None, "{text:?}");
        }
        assert_eq!(NatsAddress::parse(&["nats://a"; 17].join(",")), None);
    }
}
