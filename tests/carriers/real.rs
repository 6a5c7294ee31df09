//! The real SSH client and server: a server of this test's own, on a free port of this machine.

use super::{Pair, Running};
use crate::files;
use crate::world::{skip, wait};
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A server with its own keys, and a client that knows them.
struct Server {
    dir: tempfile::TempDir,
    port: u16,
    running: Running,
}

/// `None` without an SSH server, or if this user may not run one.
fn server(pair: &Pair) -> Option<Server> {
    let find = |name: &str| {
        let places = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/usr/local/sbin";
        let all: Vec<PathBuf> = places
            .split(':')
            .map(|place| Path::new(place).join(name))
            .collect();
        all.into_iter().find(|path| path.is_file())
    };
    let (Some(sshd), Some(ssh), Some(keygen)) = (find("sshd"), find("ssh"), find("ssh-keygen"))
    else {
        skip("there is no sshd, ssh or ssh-keygen");
        return None;
    };
    if rustix::process::geteuid().is_root() && fs::create_dir_all("/run/sshd").is_err() {
        skip("sshd needs /run/sshd");
        return None;
    }
    let dir = tempfile::Builder::new()
        .prefix("mailbag-sshd-")
        .tempdir()
        .expect("a directory");
    let at = |name: &str| dir.path().join(name).display().to_string();
    for key in ["host", "own"] {
        let made = Command::new(&keygen)
            .args(["-q", "-t", "ed25519", "-N", "", "-f", &at(key)])
            .status();
        assert!(made.expect("ssh-keygen runs").success());
    }
    files::copy(at("own.pub"), at("authorized"));
    let port = TcpListener::bind("127.0.0.1:0")
        .and_then(|free| free.local_addr())
        .expect("a free port")
        .port();
    let host = files::read_text(at("host.pub"));
    files::write(at("known"), format!("[127.0.0.1]:{port} {host}"));
    let trust = pair.po.trust().display();
    let environment = format!(
        "SetEnv PATH={} MAILBAG_TRUST_DIR={trust} MAILBAG_TEST_KEEPS=all",
        pair.path()
    );
    let config = format!(
        "ListenAddress 127.0.0.1:{port}\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nStrictModes no\nUsePAM no\n\
         PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\n{environment}\n",
        at("host"),
        at("authorized")
    );
    files::write(at("sshd_config"), config);
    let client = format!(
        "Host po.example\n HostName 127.0.0.1\n Port {port}\n IdentityFile {}\n IdentitiesOnly yes\n \
         UserKnownHostsFile {}\n StrictHostKeyChecking yes\n",
        at("own"),
        at("known")
    );
    files::write(at("ssh_config"), client);
    let wrapper = format!(
        "#!/bin/sh\necho $$ > {}\nexec {} -F {} \"$@\"\n",
        at("client"),
        ssh.display(),
        at("ssh_config")
    );
    pair.script("ssh", &wrapper);
    let mut command = Command::new(sshd);
    command
        .args(["-D", "-e", "-f", &at("sshd_config")])
        .stdin(Stdio::null());
    let mut running = Running::start(command, pair.fit.path());
    wait("the server listens", || {
        assert!(
            matches!(running.child.try_wait(), Ok(None)),
            "sshd ended: {}",
            running.log()
        );
        TcpStream::connect(("127.0.0.1", port)).is_ok()
    });
    Some(Server { dir, port, running })
}

impl Server {
    fn kill_client(&self) {
        let pid = files::read_text(self.dir.path().join("client"));
        let pid = rustix::process::Pid::from_raw(pid.trim().parse().expect("a number"))
            .expect("a process");
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("it runs");
    }
}

#[test]
fn mail_crosses_by_ssh_and_continues_after_a_lost_connection() {
    // P220 P225
    let pair = Pair::new();
    let Some(server) = server(&pair) else { return };
    pair.fit.send("alice", "po:sintra", "0");
    pair.once().ok();
    assert_eq!(
        pair.po.bodies("sintra"),
        ["0"],
        "port {}: {}",
        server.port,
        server.running.log()
    );
    let carriers = pair.carriers();
    carriers.says("connected");
    Pair::drop_mail(&pair.po, "sintra", "fit:alice", "back");
    wait("it comes back", || pair.fit.bodies("alice") == ["back"]);
    for n in 1..4 {
        server.kill_client();
        Pair::drop_mail(&pair.fit, "alice", "po:sintra", &n.to_string());
        wait("it arrives over the next connection", || {
            pair.po.bodies("sintra").len() == n + 1
        });
    }
    assert_eq!(pair.po.bodies("sintra"), ["0", "1", "2", "3"]);
    assert!(
        carriers.log().matches("link po: connected").count() >= 2,
        "{}",
        carriers.log()
    );
    assert_eq!(carriers.end(), 0);
}

#[test]
fn a_forced_command_limits_a_key_to_one_link() {
    // P227
    let pair = Pair::new();
    let Some(server) = server(&pair) else { return };
    let key = files::read_text(server.dir.path().join("own.pub"));
    let room = pair.po.room("").display().to_string();
    let force = |line: &str| {
        let line = format!("command=\"{line}\",restrict {key}");
        files::write(server.dir.path().join("authorized"), line);
    };
    force(&format!("mailbag link serve fit --room {room}"));
    // Whatever this side asks for, the far side chooses the link.
    pair.fit
        .write("settings.toml", pair.settings("fit", "as = \"other\"\n"));
    pair.fit.ok("trust --yes");
    pair.fit.send("alice", "po:sintra", "hello");
    pair.once().ok();
    assert_eq!(pair.po.inbox("sintra")[0]["from"], "fit:alice");
    force("echo welcome");
    assert_contains!(pair.once().fails(75), "does not use the link protocol");
    files::write(server.dir.path().join("authorized"), "");
    assert_contains!(pair.once().fails(75), "Permission denied");
}
