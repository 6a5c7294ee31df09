//! An SSH server of the benchmark's own, on a free port of this machine, and a client that knows it.

use super::{done, until};
use crate::harness::child::{Programs, Running};
use anyhow::{Context, Result};
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The server runs until the benchmark ends.
pub(super) struct Server {
    dir: PathBuf,
    _running: Running,
}

impl Server {
    pub(super) fn start(dir: &Path, programs: &Programs) -> Result<Server> {
        fs::create_dir_all(dir.join("bin"))?;
        fs::create_dir_all(dir.join("trust"))?;
        fs::create_dir_all("/run/sshd").context("sshd needs /run/sshd")?;
        symlink(&programs.mailbag, dir.join("bin/mailbag"))?;
        let at = |name: &str| dir.join(name).display().to_string();
        for key in ["host", "own"] {
            done(Command::new("ssh-keygen").args([
                "-q",
                "-t",
                "ed25519",
                "-N",
                "",
                "-f",
                &at(key),
            ]))?;
        }
        fs::copy(at("own.pub"), at("authorized"))?;
        let port = TcpListener::bind("127.0.0.1:0")
            .and_then(|free| free.local_addr())?
            .port();
        fs::write(
            at("known"),
            format!("[127.0.0.1]:{port} {}", fs::read_to_string(at("host.pub"))?),
        )?;
        let path = format!("{}:{}", at("bin"), std::env::var("PATH")?);
        let server = format!(
            "ListenAddress 127.0.0.1:{port}\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nStrictModes no\nUsePAM no\n\
             PermitRootLogin yes\nSetEnv PATH={path} MAILBAG_TRUST_DIR={}\n",
            at("host"),
            at("authorized"),
            at("trust")
        );
        fs::write(at("sshd_config"), server)?;
        let client = format!(
            "Host po.example\n HostName 127.0.0.1\n Port {port}\n IdentityFile {}\n IdentitiesOnly yes\n \
             UserKnownHostsFile {}\n StrictHostKeyChecking yes\n",
            at("own"),
            at("known")
        );
        fs::write(at("ssh_config"), client)?;
        let ssh = format!(
            "#!/bin/sh\nPATH={}\nexec ssh -F {} \"$@\"\n",
            std::env::var("PATH")?,
            at("ssh_config")
        );
        fs::write(dir.join("bin/ssh"), ssh)?;
        fs::set_permissions(dir.join("bin/ssh"), fs::Permissions::from_mode(0o755))?;
        let mut command = Command::new("/usr/sbin/sshd");
        command.args(["-D", "-e", "-f", &at("sshd_config")]);
        let running = programs.start(command)?;
        until("the server listens", || {
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        })?;
        Ok(Server {
            dir: dir.to_path_buf(),
            _running: running,
        })
    }

    /// The client, which knows the server as `po.example`.
    pub(super) fn client(&self) -> PathBuf {
        self.dir.join("bin/ssh")
    }

    /// The search path with the client before all else.
    pub(super) fn path(&self) -> String {
        format!(
            "{}:{}",
            self.dir.join("bin").display(),
            std::env::var("PATH").unwrap_or_default()
        )
    }

    /// The file with the person's consent.
    pub(super) fn trust(&self) -> PathBuf {
        self.dir.join("trust")
    }
}
