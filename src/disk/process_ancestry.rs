//! The parent processes of this process, up to init: their programs, arguments, groups and variables.

use super::fs::Meta;
use super::machine;
use super::paths;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The most parent processes that are read. Further parents count as hidden.
const LINEAGE: usize = 256;

/// The number of the process that starts all others.
const INIT: u32 = 1;

/// The bit of a program that runs as its owner.
const SET_USER_ID: u32 = 0o4000;

/// A parent process, as far as the system reports it to this user.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ParentProcess {
    /// The process number.
    pub pid: u32,
    /// The number of its process group.
    pub group: u32,
    /// The program's name. A script has its own name, and not its interpreter's.
    pub name: String,
    /// The file of the program. A name alone on systems without `/proc`.
    pub program: PathBuf,
    /// The program and its arguments.
    pub arguments: Vec<String>,
    /// Returns true if it runs as root although this user did not: `login`, `su`, `sudo`.
    pub is_set_user_id_root: bool,
    /// The names of the environment variables at the program's start.
    pub variables: Vec<String>,
}

/// This process, its terminal and its parents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProcessAncestry {
    /// The process group of this process.
    pub group: u32,
    /// The process that began the session of this process.
    pub session_leader: u32,
    /// The process group in the foreground of its terminal. `None` without a terminal.
    pub foreground: Option<u32>,
    /// The parents, nearest first. The last one is init if nothing is hidden.
    pub parents: Vec<ParentProcess>,
    /// The reason why further parents are hidden. `None` if the parents are known up to init.
    pub hidden: Option<String>,
}

impl ProcessAncestry {
    /// The parents of this process: from `/proc` on Linux, from `ps` elsewhere.
    pub fn of_this_process() -> ProcessAncestry {
        if cfg!(target_os = "linux") {
            ProcessAncestry::from_proc()
        } else {
            ProcessAncestry::from_ps(&std::process::id().to_string())
        }
    }

    fn from_proc() -> ProcessAncestry {
        if !machine::numbers_are_ours() || machine::namespace().is_some() {
            return ProcessAncestry::hidden_by(
                "this process is in a container or another PID namespace",
            );
        }
        let Some(mut child) = machine::stat_of(std::process::id()) else {
            return ProcessAncestry::hidden_by("/proc does not show this process");
        };
        let mut lineage = ProcessAncestry {
            group: child.group,
            session_leader: child.session,
            foreground: child.foreground,
            ..ProcessAncestry::default()
        };
        while child.process.pid != INIT {
            let parent = if lineage.parents.len() < LINEAGE {
                machine::stat_of(child.parent)
            } else {
                None
            };
            let Some(parent) = parent else {
                lineage.hide_parent_of(&child.process.pid.to_string());
                return lineage;
            };
            lineage.parents.push(read_parent(&parent));
            child = parent;
        }
        lineage
    }

    fn hidden_by(reason: &str) -> ProcessAncestry {
        ProcessAncestry {
            hidden: Some(reason.to_owned()),
            ..ProcessAncestry::default()
        }
    }

    fn hide_parent_of(&mut self, pid: &str) {
        self.hidden = Some(format!("the parent of process {pid} cannot be read"));
    }

    fn from_ps(own: &str) -> ProcessAncestry {
        let output = Command::new("/bin/ps")
            .args(["-A", "-o", "pid=,ppid=,pgid=,tpgid=,uid=,args="])
            .env_clear()
            .output();
        let lineage = match output {
            Ok(output) => parse_ps(&String::from_utf8_lossy(&output.stdout), own),
            Err(e) => ProcessAncestry::hidden_by(&format!("/bin/ps cannot be started: {e}")),
        };
        let leader = rustix::process::getsid(None).ok();
        ProcessAncestry {
            session_leader: leader.map_or(0, |pid| pid.as_raw_nonzero().get().unsigned_abs()),
            ..lineage
        }
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn read_parent(stat: &machine::ProcessStat) -> ParentProcess {
    let pid = stat.process.pid;
    let files = machine::proc().join(pid.to_string());
    // Another user's environment and program cannot be read.
    let variables = read_texts(&files.join("environ"));
    let variables = variables
        .iter()
        .filter_map(|entry| Some(entry.split_once('=')?.0.to_owned()));
    let program = paths::read_link(&files.join("exe")).unwrap_or_default();
    // A program that was updated since it started.
    let program = match program
        .to_str()
        .and_then(|name| name.strip_suffix(" (deleted)"))
    {
        Some(updated) => updated.into(),
        None => program,
    };
    let is_of_root = |file: Meta| file.uid == 0 && file.mode & SET_USER_ID != 0;
    let is_set_user_id_root = if program.as_os_str().is_empty() {
        !is_root() && runs_as_root(&files)
    } else {
        paths::meta(&program).is_ok_and(is_of_root)
    };
    ParentProcess {
        pid,
        group: stat.group,
        name: stat.name.clone(),
        program,
        arguments: read_texts(&files.join("cmdline")),
        is_set_user_id_root,
        variables: variables.collect(),
    }
}

/// Returns true if the effective user of a process is root: proc_pid_status(5).
fn runs_as_root(files: &Path) -> bool {
    let status = paths::read_text(&files.join("status")).unwrap_or_default();
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    users.and_then(|users| users.split_whitespace().nth(1)) == Some("0")
}

/// The texts of a file that ends each one with a zero byte. None if the file cannot be read.
fn read_texts(file: &Path) -> Vec<String> {
    let bytes = paths::read(file).unwrap_or_default();
    let texts = bytes
        .split(|&byte| byte == 0)
        .filter(|text| !text.is_empty());
    texts
        .map(|text| String::from_utf8_lossy(text).into_owned())
        .collect()
}

/// The parents of a process in the output of `ps`.
fn parse_ps(listing: &str, own: &str) -> ProcessAncestry {
    let rows = listing.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let pid = words.next()?;
        let numbers = [words.next()?, words.next()?, words.next()?, words.next()?];
        let arguments: Vec<String> = words.map(str::to_owned).collect();
        Some((pid, (numbers, arguments)))
    });
    let rows: BTreeMap<&str, ([&str; 4], Vec<String>)> = rows.collect();
    let mut lineage = ProcessAncestry::default();
    if let Some(([_, group, foreground, _], _)) = rows.get(own) {
        lineage.group = group.parse().unwrap_or_default();
        lineage.foreground = foreground.parse().ok().filter(|group| *group > 0);
    }
    let mut pid = own;
    while pid.parse() != Ok(INIT) {
        let parent = if lineage.parents.len() < LINEAGE {
            rows.get(pid)
                .and_then(|([parent, ..], _)| rows.get_key_value(*parent))
        } else {
            None
        };
        let Some((parent, ([_, group, _, user], arguments))) = parent else {
            lineage.hide_parent_of(pid);
            return lineage;
        };
        let program = arguments.first().map(String::as_str).unwrap_or_default();
        let program = program.trim_start_matches('-');
        lineage.parents.push(ParentProcess {
            pid: parent.parse().unwrap_or_default(),
            group: group.parse().unwrap_or_default(),
            name: program.rsplit('/').next().unwrap_or_default().to_owned(),
            program: program.into(),
            arguments: arguments.clone(),
            is_set_user_id_root: *user == "0" && !is_root(),
            variables: Vec::new(),
        });
        pid = parent;
    }
    lineage
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parents_of_this_process_are_read_up_to_init_or_a_reason_is_given() {
        let lineage = ProcessAncestry::of_this_process();
        let last = lineage.parents.last().map(|parent| parent.pid);
        assert!(
            last == Some(INIT) || lineage.hidden.is_some(),
            "{lineage:?}"
        );
    }

    #[test]
    fn the_list_of_ps_gives_the_parents() {
        let listing = " 1 0 1 0 0 /sbin/launchd\n 70 1 70 90 0 /usr/bin/login -pf u\n 71 70 71 90 501 -zsh\n 90 71 90 90 501 mailbag decide 1 yes\n";
        let lineage = parse_ps(listing, "90");
        let names: Vec<&str> = lineage
            .parents
            .iter()
            .map(|parent| parent.name.as_str())
            .collect();
        assert_eq!(
            (names, lineage.group, lineage.foreground),
            (vec!["zsh", "login", "launchd"], 90, Some(90))
        );
        assert_eq!(
            parse_ps("90 71 90 90 501 mailbag\n", "90")
                .hidden
                .as_deref(),
            Some("the parent of process 90 cannot be read")
        );
        // A process that is its own parent, as in a damaged list.
        assert!(parse_ps("5 5 5 0 0 x\n", "5").hidden.is_some());
    }
}
