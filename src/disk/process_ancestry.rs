//! The parent processes of this process, up to init: their programs, arguments, directories and variables.

use super::machine::{self, Process};
use super::paths;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The most parent processes that are read. Further parents count as hidden.
const LINEAGE: usize = 256;

/// A parent process, as far as the system reports it to this user.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ParentProcess {
    /// The process number.
    pub pid: u32,
    /// The process with its start time. `None` on systems without `/proc`.
    pub process: Option<Process>,
    /// The program's name. A script has its own name, and not its interpreter's.
    pub name: String,
    /// The program and its arguments.
    pub arguments: Vec<String>,
    /// The working directory.
    pub directory: Option<PathBuf>,
    /// The names of the environment variables at the program's start.
    pub variables: Vec<String>,
}

/// The parent processes of this process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProcessAncestry {
    /// The parents, nearest first. The last one is init if nothing is hidden.
    pub parents: Vec<ParentProcess>,
    /// The reason why further parents are hidden. `None` if the parents are known up to init.
    pub hidden: Option<String>,
}

impl ProcessAncestry {
    /// The parents of this process: from `/proc` on Linux, from `ps` elsewhere.
    pub fn of_this_process() -> ProcessAncestry {
        if !cfg!(target_os = "linux") {
            return ProcessAncestry::from_ps(&std::process::id().to_string());
        }
        if !machine::numbers_are_ours() || machine::namespace().is_some() {
            return ProcessAncestry::hidden_by(
                "this process is in a container or another PID namespace",
            );
        }
        let mut lineage = ProcessAncestry::default();
        let Some(mut child) = machine::stat_of(std::process::id()) else {
            return ProcessAncestry::hidden_by("/proc does not show this process");
        };
        while child.process.pid != INIT {
            let parent = if lineage.parents.len() < LINEAGE {
                machine::stat_of(child.parent)
            } else {
                None
            };
            let Some(parent) = parent else {
                lineage.hidden = Some(format!(
                    "the parent of process {} cannot be read",
                    child.process.pid
                ));
                return lineage;
            };
            lineage.parents.push(read_parent(&parent));
            child = parent;
        }
        lineage
    }

    fn hidden_by(reason: &str) -> ProcessAncestry {
        ProcessAncestry {
            parents: Vec::new(),
            hidden: Some(reason.to_owned()),
        }
    }

    fn from_ps(own: &str) -> ProcessAncestry {
        let output = Command::new("/bin/ps")
            .args(["-A", "-o", "pid=,ppid=,args="])
            .env_clear()
            .output();
        match output {
            Ok(output) => parse_ps(&String::from_utf8_lossy(&output.stdout), own),
            Err(e) => ProcessAncestry::hidden_by(&format!("/bin/ps cannot be started: {e}")),
        }
    }
}

/// The number of the process that starts all others.
const INIT: u32 = 1;

fn read_parent(stat: &machine::ProcessStat) -> ParentProcess {
    let files = machine::proc().join(stat.process.pid.to_string());
    // Another user's environment and directory cannot be read.
    let variables = read_texts(&files.join("environ"));
    let variables = variables
        .iter()
        .filter_map(|entry| Some(entry.split_once('=')?.0.to_owned()));
    ParentProcess {
        pid: stat.process.pid,
        process: Some(stat.process),
        name: stat.name.clone(),
        arguments: read_texts(&files.join("cmdline")),
        directory: paths::read_link(&files.join("cwd")).ok(),
        variables: variables.collect(),
    }
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
        let (pid, parent) = (words.next()?, words.next()?);
        Some((pid, (parent, words.map(str::to_owned).collect::<Vec<_>>())))
    });
    let rows: BTreeMap<&str, (&str, Vec<String>)> = rows.collect();
    let mut lineage = ProcessAncestry::default();
    let mut pid = own;
    while pid.parse() != Ok(INIT) {
        let parent = if lineage.parents.len() < LINEAGE {
            rows.get(pid)
                .and_then(|(parent, _)| rows.get_key_value(*parent))
        } else {
            None
        };
        let Some((parent, (_, arguments))) = parent else {
            lineage.hidden = Some(format!("the parent of process {pid} cannot be read"));
            return lineage;
        };
        let program = arguments.first().map(String::as_str).unwrap_or_default();
        lineage.parents.push(ParentProcess {
            pid: parent.parse().unwrap_or_default(),
            name: program
                .rsplit('/')
                .next()
                .unwrap_or_default()
                .trim_start_matches('-')
                .to_owned(),
            arguments: arguments.clone(),
            ..ParentProcess::default()
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
        let listing = "  1     0 /sbin/launchd\n 70     1 /usr/bin/login -pf u\n 71    70 -zsh\n 90    71 mailbag decide 1 yes\n";
        let lineage = parse_ps(listing, "90");
        let names: Vec<&str> = lineage
            .parents
            .iter()
            .map(|parent| parent.name.as_str())
            .collect();
        assert_eq!(
            (names, lineage.hidden),
            (vec!["zsh", "login", "launchd"], None)
        );
        assert_eq!(
            parse_ps("90 71 mailbag\n", "90").hidden.as_deref(),
            Some("the parent of process 90 cannot be read")
        );
        // A process that is its own parent, as in a damaged list.
        assert!(parse_ps("5 5 x\n", "5").hidden.is_some());
    }
}
