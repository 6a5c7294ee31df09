//! A helper in its own language, with the driver that the tests talk to.

use crate::files;
use crate::town::{PATIENCE, Town, so_within};
use crate::world::{lossy, skip};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

/// A language.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Tongue {
    Python,
    TypeScript,
    Shell,
}

/// Why what failed failed, in a word that all languages have.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Rejected,
    Timeout,
    Other,
}

impl Tongue {
    /// Returns true if this machine can run the language. Otherwise the test is skipped.
    pub(super) fn is_here(self) -> bool {
        match node() {
            Err(reason) if self == Tongue::TypeScript => {
                skip(reason);
                false
            }
            _ => true,
        }
    }

    /// Runs a verb of the driver as an agent, in the room of this town.
    pub(super) fn command(self, town: &Town, agent: &str, words: &[&str]) -> Command {
        let program = Path::new(env!("CARGO_BIN_EXE_mailbag"))
            .parent()
            .expect("a directory");
        let mut command = match self {
            Tongue::Python => {
                let mut command = Command::new("python3");
                command
                    .args(["-B", "-W", "error"])
                    .arg(self.place(town).join("driver.py"));
                command
            }
            Tongue::TypeScript => {
                let (words, driver) = node().expect("asked before");
                let mut command = Command::new("node");
                command.args(words).arg(driver);
                command
            }
            Tongue::Shell => {
                let mut command = Command::new("sh");
                command.arg(self.place(town).join("driver.sh"));
                command
            }
        };
        let path = std::env::var("PATH").unwrap_or_default();
        command
            .args(words)
            .current_dir(town.path())
            .stdin(Stdio::null());
        for name in [
            "MAILBAG_ROOM",
            "MAOS_MESSAGE_DIR",
            "MAOS_AGENT_ID",
            "MAOS_AGENT_ROLE",
            "MAOS_SESSION_ID",
        ] {
            command.env_remove(name);
        }
        command
            .env_remove("MAOS_SHARED_CONTEXT")
            .env("MAILBAG_AGENT", agent);
        command.env("PATH", format!("{}:{path}", program.display()));
        command
    }

    /// Runs a verb, which must succeed, and returns its lines.
    #[track_caller]
    pub(super) fn ok(self, town: &Town, agent: &str, words: &[&str]) -> Vec<String> {
        let output = self
            .command(town, agent, words)
            .output()
            .expect("it starts");
        let said = lossy(&output.stderr);
        assert!(
            output.status.success(),
            "{words:?} ended with {}: {said}",
            output.status
        );
        lines(&output)
    }

    /// Runs a verb, which must fail, and returns the fault and the output.
    #[track_caller]
    pub(super) fn fails(self, mut command: Command) -> (Fault, String) {
        let output = command.output().expect("it starts");
        let said = lossy(&output.stderr);
        assert!(!output.status.success(), "{command:?} did well: {said}");
        let fault = match self {
            Tongue::Shell if output.status.code() == Some(65) => Fault::Rejected,
            Tongue::Shell if output.status.code() == Some(4) => Fault::Timeout,
            Tongue::Shell => Fault::Other,
            _ if said.starts_with("Rejected") => Fault::Rejected,
            _ if said.starts_with("Timeout") => Fault::Timeout,
            _ => {
                assert!(said.starts_with("MailbagError: "), "{said}");
                Fault::Other
            }
        };
        (fault, said)
    }

    /// Helper and driver beside each other.
    fn place(self, town: &Town) -> PathBuf {
        let place = town.path().join("helper");
        let (language, helper, driver, text) = match self {
            Tongue::Python => (
                "python",
                "mailbag.py",
                "driver.py",
                include_str!("driver.py"),
            ),
            Tongue::TypeScript => (
                "typescript",
                "mailbag.ts",
                "driver.ts",
                include_str!("driver.ts"),
            ),
            Tongue::Shell => (
                "shell",
                "mailbag.sh",
                "driver.sh",
                include_str!("driver.sh"),
            ),
        };
        if !place.join(driver).exists() {
            files::make_dir(&place);
            let helper = place.join(helper).display().to_string();
            town.ok(&["generate", "helper", language, "-o", &helper]);
            files::write(place.join(driver), text);
        }
        place
    }
}

/// The lines that a program printed.
pub(super) fn lines(output: &Output) -> Vec<String> {
    lossy(&output.stdout).lines().map(str::to_owned).collect()
}

/// Waits for a process that runs beside the test, and returns its lines; it must succeed.
#[track_caller]
pub(super) fn ended(mut child: std::process::Child) -> Vec<String> {
    if !so_within(PATIENCE, || child.try_wait().expect("a child").is_some()) {
        let _ = child.kill();
        panic!("it never ended");
    }
    let output = child.wait_with_output().expect("it ended");
    let said = lossy(&output.stderr);
    assert!(
        output.status.success(),
        "it ended with {}: {said}",
        output.status
    );
    lines(&output)
}

type Node = Result<(Vec<String>, PathBuf), String>;

/// The arguments of node, and a driver that it can run; or the reason for skipping. Newer versions
/// strip the types themselves. For Node 20, `.ci/run` installs the compiler into the target
/// directory.
fn node() -> Node {
    static NODE: OnceLock<Node> = OnceLock::new();
    NODE.get_or_init(prepare_node).clone()
}

fn prepare_node() -> Node {
    let version = Command::new("node")
        .arg("--version")
        .output()
        .map_err(|e| format!("no node: {e}"))?;
    let version = lossy(&version.stdout).trim().to_owned();
    let mut numbers = version
        .trim_start_matches('v')
        .split('.')
        .map(|part| part.parse::<u32>().unwrap_or_default());
    let version_is = (
        numbers.next().unwrap_or_default(),
        numbers.next().unwrap_or_default(),
    );
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let place = temporary.join(format!("helpers-{}", std::process::id()));
    fs::create_dir_all(&place).map_err(|e| e.to_string())?;
    fs::write(place.join("package.json"), r#"{"type": "module"}"#).map_err(|e| e.to_string())?;
    for (name, text) in [
        ("driver.ts", include_str!("driver.ts")),
        (
            "mailbag.ts",
            include_str!("../../src/clients/bindings/mailbag.ts"),
        ),
    ] {
        fs::write(place.join(name), text).map_err(|e| e.to_string())?;
    }
    match version_is {
        (22, 18..) | (23, 6..) | (24.., _) => return Ok((Vec::new(), place.join("driver.ts"))),
        (22, 6..) | (23, _) => {
            return Ok((
                vec!["--experimental-strip-types".into()],
                place.join("driver.ts"),
            ));
        }
        (20..=22, _) => {}
        _ => return Err(format!("the helper needs Node 20, and this is {version}")),
    }
    let Some(compiler) = compiler() else {
        return Err(format!(
            "node {version} can't take types away, and there is no typescript; .ci/run installs it"
        ));
    };
    let script = "const [ts, dir] = [require(process.argv[1]), process.argv[2]];
        for (const name of ['mailbag', 'driver']) {
            const wanted = {target: 'es2022', module: 'esnext', rewriteRelativeImportExtensions: true};
            const compilerOptions = ts.convertCompilerOptionsFromJson(wanted, dir).options;
            const text = require('fs').readFileSync(`${dir}/${name}.ts`, 'utf8');
            const plain = ts.transpileModule(text, {compilerOptions}).outputText;
            require('fs').writeFileSync(`${dir}/${name}.js`, plain);
        }";
    let output = Command::new("node")
        .args(["-e", script])
        .arg(compiler)
        .arg(&place)
        .output();
    let output = output.map_err(|e| e.to_string())?;
    assert!(output.status.success(), "{}", lossy(&output.stderr));
    Ok((Vec::new(), place.join("driver.js")))
}

/// Where the TypeScript compiler is, if it is installed.
pub(super) fn compiler() -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent()?;
    Some(target.join("node/node_modules/typescript"))
        .filter(|compiler| compiler.join("bin/tsc").exists())
}

/// The checker of Python's types: installed by `.ci/run`, or found on the `PATH`.
pub(super) fn type_checker() -> Option<String> {
    let installed = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()?
        .join("mypy/bin/mypy")
        .display()
        .to_string();
    let candidates = [installed, "mypy".to_owned()];
    candidates
        .into_iter()
        .find(|mypy| Command::new(mypy).arg("--version").output().is_ok())
}
