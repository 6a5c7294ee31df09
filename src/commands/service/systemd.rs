//! The unit of systemd for the user's own service manager.

use super::{DIRECTORIES, ServiceDefinition};

/// The unit. It is restarted after a failure, but not forever. What would need namespaces, or would break a program that wakes an
/// agent, is not restricted.
pub(super) fn unit(wanted: &ServiceDefinition<'_>) -> String {
    let ServiceDefinition {
        room,
        program,
        environment,
        directories,
        ..
    } = wanted;
    let environment: String = environment
        .iter()
        .map(|(name, value)| format!("Environment={}\n", quoted(&format!("{name}={value}"))))
        .collect();
    format!(
        "\
# Written by `mailbag service install`; `mailbag service uninstall` removes it. Keep changes in a drop-in:
# `systemctl --user edit`. {DIRECTORIES}{directories}
[Unit]
Description=mailbag router of {described}
Documentation=man:mailbag-run(1)
ConditionPathIsDirectory={described}
StartLimitIntervalSec=60
StartLimitBurst=5

[Service]
Type=notify
ExecStart={program} --room {room} run
{environment}Restart=on-failure
RestartSec=2
KillMode=mixed
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
SystemCallArchitectures=native

[Install]
WantedBy=default.target
",
        described = room.replace('%', "%%"),
        program = quoted(program),
        // A variable is replaced in arguments, but not in the name of the program.
        room = quoted(room).replace('$', "$$"),
    )
}

/// One word: without specifiers, and with quotation marks and backslashes escaped.
fn quoted(word: &str) -> String {
    format!(
        "\"{}\"",
        word.replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('%', "%%")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_no_meaning_of_their_own() {
        assert_eq!(quoted(r#"a b%h"\"#), r#""a b%%h\"\\""#);
        let wanted = ServiceDefinition {
            room: "/home/a $HOME 100%/.mailbag",
            program: "/opt/my $bin/mailbag",
            environment: vec![("PATH", "/bin:/a b".into())],
            name: "mailbag-a",
            directories: 2,
        };
        let unit = unit(&wanted);
        let lines: Vec<&str> = unit.lines().collect();
        assert!(lines.contains(
            &r#"ExecStart="/opt/my $bin/mailbag" --room "/home/a $$HOME 100%%/.mailbag" run"#
        ));
        assert!(lines.contains(&"ConditionPathIsDirectory=/home/a $HOME 100%%/.mailbag"));
        assert!(lines.contains(&r#"Environment="PATH=/bin:/a b""#));
    }
}
