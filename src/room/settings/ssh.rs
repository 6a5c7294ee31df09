//! The address of a room on another machine: `[user@]host:/path/to/room`.

/// A room on another machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SshAddress {
    /// `host` or `user@host`, as the SSH client takes it.
    pub host: String,
    /// The absolute path of the room there.
    pub path: String,
}

impl SshAddress {
    /// Reads an address. The shell of the other machine reads the path, and the client of this one the host, so both
    /// have only characters that mean nothing to them. `None` for another text.
    pub fn parse(text: &str) -> Option<SshAddress> {
        let (host, path) = text.split_once(':')?;
        let is_plain = |text: &str, more: &str| {
            !text.is_empty()
                && !text.starts_with('-')
                && text
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || more.contains(c))
        };
        let (user, name) = host
            .split_once('@')
            .map_or((None, host), |(user, name)| (Some(user), name));
        let is_host = user.is_none_or(|user| is_plain(user, "._-")) && is_plain(name, "._-");
        let is_path = path.starts_with('/') && path.len() <= PATH_MOST && is_plain(path, "/._-+@,");
        (is_host && is_path).then(|| SshAddress {
            host: host.to_owned(),
            path: path.to_owned(),
        })
    }
}

const PATH_MOST: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_a_host_and_an_absolute_path() {
        for (text, host, path) in [
            ("po:/srv/po/.mailbag", "po", "/srv/po/.mailbag"),
            (
                "ann@po.example:/home/ann/po+1/.mailbag",
                "ann@po.example",
                "/home/ann/po+1/.mailbag",
            ),
        ] {
            assert_eq!(
                SshAddress::parse(text),
                Some(SshAddress {
                    host: host.into(),
                    path: path.into()
                }),
                "{text}"
            );
        }
    }

    #[test]
    fn nothing_in_an_address_is_an_option_or_read_by_a_shell() {
        for text in [
            "",
            "po",
            ":/x",
            "po:",
            "po:x",
            "-oProxyCommand=id:/x",
            "@po:/x",
            "ann@-po:/x",
            "-ann@po:/x",
            "a@b@c:/x",
            "po:/x y",
            "po:/$(id)",
            "po:/x;id",
            "po:/x`id`",
            "po:/x\n",
            "po:/x'y",
            "po:/x\"y",
            "po:/x\\y",
            "po:/x*",
            "po:/~",
            "po:/x|y",
            "po:/x&",
            "po:/x>y",
            "po:/é",
            "p o:/x",
            "po\u{1b}:/x",
            "po:/x#y",
            "po:/{a,b}",
            "po:/!x",
        ] {
            assert_eq!(SshAddress::parse(text), None, "{text:?}");
        }
    }
}
