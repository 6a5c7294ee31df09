//! A room with some of everything in it, and every command run there with `--json`.

use super::{Judged, words_of};
use crate::files;
use crate::world::{Words, World};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs::File;
use std::process::Stdio;

/// Runs every command that prints JSON, in an order that gives each one data.
pub(super) fn run_everything(judged: &mut Judged) {
    let mut run = Run {
        world: World::empty(),
        judged,
    };
    registering(&mut run);
    trusting(&mut run);
    writing(&mut run);
    reading(&mut run);
    finding(&mut run);
    refusing(&mut run);
    claiming(&mut run);
    agreeing(&mut run);
    linking(&mut run);
    looking(&mut run);
    following(&mut run);
    packing(&mut run);
}

fn claiming(run: &mut Run<'_>) {
    run.ok("send", "'Half of it works' --type milestone --as alice");
    let claim = run.ok("claim", "src docs task:login --note Passkeys --as alice");
    run.ok("thread", &[claim["id"].as_str().expect("an id")]);
    run.error(1, "claim src/x.rs --as bob");
    run.error(75, "claim src/x.rs --wait --timeout 10ms --as bob");
    run.ok("handoff", "carol docs --as alice");
    run.ok("claims", "");
    run.code(1, "claims", "src/x.rs --as bob");
    run.ok("search", "Passkeys");
    run.ok("handoff", "--accept --as carol");
    run.ok("handoff", "carol task:login --as alice");
    run.ok("handoff", "--decline --as carol");
    // An approval that is decided, and one that its deadline denies.
    run.world.drop_file(
        "alice",
        "gate.json",
        r#"{"id": "gate", "to": "bob", "type": "approval", "body": "Deploy?"}"#,
    );
    run.world.drop_file(
        "bob",
        "question.json",
        r#"{"id": "port", "to": "bob", "type": "question", "body": "Which port?"}"#,
    );
    run.world.drop_file(
        "alice",
        "late.json",
        r#"{"id": "late", "to": "bob", "type": "approval", "body": "Late?", "deadline": "1h"}"#,
    );
    run.ok("pending", "--as bob");
    run.ok("dismiss", "--as bob port");
    let digest = run.world.digest("bob", "gate");
    run.ok(
        "decide",
        &["--as", "bob", "gate", "no", "--digest", &digest],
    );
    let signed = r#"{"id": "signed", "to": "human", "type": "approval", "body": "Sign?", "signature": "required"}"#;
    run.world.drop_file("alice", "signed.json", signed);
    let digest = run.world.digest("human", "signed");
    let output = run.world.at_terminal(
        &["decide", "signed", "no", "--digest", &digest, "--json"],
        "",
    );
    let decided =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output:?}"));
    run.judged.judge("decide", &decided);
    run.ok("trust", "--decision-key");
    run.ok("trace", "gate");
    run.code(1, "ask", "--as alice bob Deploy? --deadline 100ms");
    run.ok("release", "--as bob");
    run.ok("release", "task:login --of alice --as human");
}

fn agreeing(run: &mut Run<'_>) {
    run.error(3, "charter");
    run.ok("charter-init", "");
    run.error(2, "charter init");
    run.world.write(
        "charter.md",
        "## Goals\n- Ship\n## Lanes\n- web: alice (src)\n- ops\n## Settings\n- branch: main\n",
    );
    run.code(65, "charter", "");
    run.ok("context", "--as alice");
    run.ok("context", "--budget 20000 --as alice");
}

fn linking(run: &mut Run<'_>) {
    let (there, gone) = (
        run.world.path().join("there"),
        run.world.path().join("gone"),
    );
    let room = there.join(".mailbag").display().to_string();
    run.world.ok(&["init", &room]);
    run.world.ok(&["--room", &room, "agent", "add", "sintra"]);
    run.ok("link-add", "po there");
    let settings = files::read_text(run.world.room("settings.toml"));
    run.world.write(
        "settings.toml",
        settings + "budget.messages = 6000\nbudget.copies = 60000\n",
    );
    run.ok("link-add", "po there");
    run.world.write("../keys", "fit:secret");
    let over_nats = [
        "--credentials",
        "keys",
        "--ca",
        "keys",
        "--replicas",
        "1",
        "--known-as",
        "fit",
    ];
    run.ok(
        "link-add",
        &[
            &["far", "nats://127.0.0.1:1", "--carrier", "nats"][..],
            &over_nats,
        ]
        .concat(),
    );
    run.ok("trust", "");
    run.ok("trust", "--list");
    run.world.ok(&["--room", &room, "link", "add", "fit", "."]);
    run.world.send("alice", "po:sintra", "hello");
    run.ok("link-test", "po");
    run.ok("link-list", "");
    run.ok("who", "");
    files::rename(&there, &gone);
    run.world.send("alice", "po:sintra", "are you there?");
    run.code(1, "link-status", "");
    run.ok("status", "");
    run.code(75, "link-test", "po --timeout 1ms");
    run.ok("link-rebind", "po --yes");
    run.ok("link-remove", "po --bounce");
    let removed = run.ok("link-remove", "far");
    assert_eq!(
        removed["server_cleanup"],
        "nats --server nats://127.0.0.1:1 stream rm mailbag_fit"
    );
}

struct Run<'a> {
    world: World,
    judged: &'a mut Judged,
}

impl Run<'_> {
    /// Runs a command that must succeed, and judges its output under the schema of that name.
    #[track_caller]
    fn ok(&mut self, name: &str, args: &(impl Words + ?Sized)) -> Value {
        self.code(0, name, args)
    }

    #[track_caller]
    fn code(&mut self, code: i32, name: &str, args: &(impl Words + ?Sized)) -> Value {
        let words: Vec<&str> = words_of(name)
            .into_iter()
            .chain(args.words())
            .chain(["--json"])
            .collect();
        let ran = self.world.run(&words);
        assert_eq!(ran.code, code, "{words:?}: {ran:#?}");
        let output =
            serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{words:?}: {e}\n{ran:#?}"));
        self.judged.judge(name, &output);
        output
    }

    /// A command that prints a line for each thing.
    #[track_caller]
    fn lines(&mut self, name: &str, args: &(impl Words + ?Sized)) {
        let words: Vec<&str> = words_of(name)
            .into_iter()
            .chain(args.words())
            .chain(["--json"])
            .collect();
        let text = self.world.ok(&words);
        self.judge_lines(name, &text);
    }

    #[track_caller]
    fn judge_lines(&mut self, name: &str, text: &str) {
        assert!(!text.is_empty(), "{name} said nothing");
        for line in text.lines() {
            self.judged.judge(
                name,
                &serde_json::from_str(line).unwrap_or_else(|e| panic!("{name}: {e}\n{line}")),
            );
        }
    }

    /// Runs a failing command and checks its error.
    #[track_caller]
    fn error(&mut self, code: i32, args: &(impl Words + ?Sized)) {
        let args = args.words();
        let said = self.world.fails(code, &[&args[..], &["--json"]].concat());
        let error = serde_json::from_str(&said).unwrap_or_else(|e| panic!("{args:?}: {e}\n{said}"));
        self.judged.judge("error", &error);
        assert_eq!(error["error"]["exit"], code, "{args:?}");
    }

    /// A command that runs until it is ended: some lines of its output.
    #[track_caller]
    fn until_it_said(
        &mut self,
        name: &str,
        args: &(impl Words + ?Sized),
        lines: usize,
        meanwhile: impl FnOnce(&World),
    ) {
        let words: Vec<&str> = words_of(name)
            .into_iter()
            .chain(args.words())
            .chain(["--json"])
            .collect();
        let path = self.world.path().join(format!("{name}.out"));
        let out = File::create(&path).expect("a file");
        let mut command = self.world.bare(&words);
        let mut child = command
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        meanwhile(&self.world);
        let said = || std::fs::read_to_string(&path).unwrap_or_default();
        let enough = |text: &str| text.matches('\n').count() >= lines;
        self.world.wait("it has said enough", || enough(&said()));
        kill_process(Pid::from_child(&child), Signal::TERM).expect("it runs");
        child.wait().expect("it ends");
        self.judge_lines(name, &said());
    }
}

/// A program is set, taken back, and agreed to again.
fn trusting(run: &mut Run<'_>) {
    run.ok("agent-add", &["woken", "--wake", r#"["true"]"#]);
    run.ok("agent-show", "woken");
    run.ok("trust", "--list");
    run.ok("trust", "--revoke");
    run.ok("status", "");
    run.ok("trust", "--yes");
    run.ok("link-run", "--once");
    run.ok("service-install", "--dry-run");
    run.ok("service-status", "");
    run.ok("service-uninstall", "");
    run.ok("agent-remove", "woken");
}

fn registering(run: &mut Run<'_>) {
    run.ok("init", "");
    run.ok("init", "");
    let fields = [
        "--role",
        "engineer",
        "--name",
        "auto",
        "--capability",
        "rust",
        "--topic",
        "builds",
        "--supervisor",
        "bob",
    ];
    run.ok("agent-add", "bob");
    run.ok(
        "agent-add",
        &[&["alice", "--description", "writes"][..], &fields].concat(),
    );
    run.ok("agent-add", "carol dave builders");
    run.ok("agent-set", "carol --status busy --role tester");
    run.ok("agent-retire", "dave");
    run.ok("agent-show", "alice");
    run.ok("agent-list", "");
    run.ok("agent-roles", "");
    run.ok("agent-add", "eve");
    run.ok("agent-remove", "eve");
}

fn writing(run: &mut Run<'_>) {
    run.ok(
        "send",
        "bob carol 'where is the port?' --as alice --subject 'a port' --thread ports",
    );
    run.ok(
        "send",
        "bob 'soon over' --as alice --expires 30m --requires-response",
    );
    run.ok(
        "send",
        "@engineer 'look at it' --as bob --priority high --channel design",
    );
    let first = run.ok("list", "")["messages"][0]["seq"].to_string();
    run.ok("reply", &[&first, "8080", "--as", "bob"]);
    run.ok(
        "ack",
        &[
            &first, "--as", "carol", "--status", "actioned", "--note", "seen to",
        ],
    );
    run.ok("trace", &[&first, "--as", "alice"]);
    run.ok("topic-subscribe", "release --as alice");
    run.ok("topic-list", "");
    run.ok("topic-unsubscribe", "release --as alice");
    run.ok("join", "--session s1");
    run.ok("join", "alice --session s1");
    run.ok("who", "");
    files::write(run.world.path().join("notes.txt"), "shared");
    run.ok("share", "notes.txt --category research --as alice");
    run.ok(
        "share",
        "notes.txt --category research --to #none --as alice",
    );
    run.code(3, "send", "#none x --as alice");
    run.ok("thread", &[&first]);
    run.code(65, "send-dry-run", "@engineer bbo * ''");
    run.ok("send-dry-run", "cap:rust");
    run.ok("send-dry-run", "bob hello --as alice");
    run.world.write("draft.json", r#"{"to": "bbo"}"#);
    run.world.write(
        "draft.ndjson",
        "{\"to\": [\"bob\", \"#none\"], \"body\": \"x\"}\n{\n",
    );
    let drafts =
        ["draft.json", "draft.ndjson"].map(|name| run.world.room(name).display().to_string());
    run.code(
        65,
        "send-dry-run",
        &["--file", &drafts[0], &drafts[1], "--as", "alice"],
    );
}

fn reading(run: &mut Run<'_>) {
    run.world.write("inbox/bob/by-hand.json", "no JSON");
    run.ok("inbox", "bob");
    run.ok("read", "--as bob");
    run.ok("read", "--as bob --all");
    run.world.send("alice", "carol", "are you there?");
    run.ok("wait", "--as carol --timeout 30s");
    for text in ["one", "two"] {
        run.world.send("alice", "builders", text);
    }
    run.ok("take", "--as builders --holder first --lease 1s");
    // The first is given back when its lease is over.
    let mut again = None;
    run.world.wait("the lease is over", || {
        let mut command = run
            .world
            .program("take --as builders --holder second --json");
        let taken = command
            .env("MAILBAG_TEST_NOW", "2100-01-01T00:00:00Z")
            .output()
            .expect("it runs");
        again = serde_json::from_slice::<Value>(&taken.stdout).ok();
        again.is_some()
    });
    let again = again.expect("it was taken");
    run.judged.judge("take", &again);
    let id = again["message"]["id"].as_str().expect("an id").to_owned();
    run.ok(
        "take-done",
        &[&id, "--as", "builders", "--holder", "second"],
    );
    let mut ask = run
        .world
        .bare("ask bob really? --as alice --timeout 60s --json");
    let asking = ask
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let question = || run.world.items("list --last 1")[0].clone();
    run.world
        .wait("it was asked", || question()["preview"] == "really?");
    run.world.ok(&[
        "reply",
        question()["id"].as_str().expect("an id"),
        "yes",
        "--as",
        "bob",
    ]);
    let said = asking.wait_with_output().expect("it ends");
    run.judged
        .judge("ask", &serde_json::from_slice(&said.stdout).expect("JSON"));
}

fn finding(run: &mut Run<'_>) {
    run.ok("list", "");
    run.ok("search", "port");
    run.ok("search", "'nothing has this'");
    run.ok("channel-list", "");
    run.lines("channel-show", "main");
    run.lines("channel-show", "design");
}

fn refusing(run: &mut Run<'_>) {
    run.world.drop_file(
        "alice",
        "bad.json",
        r#"{"to": ["bbo", "nobody"], "body": "x", "priority": "soon"}"#,
    );
    run.world.drop_file(
        "alice",
        "lines.ndjson",
        "{\"to\": \"bob\", \"body\": \"x\"}\n{\"to\": \"bbo\", \"body\": \"x\"}\n",
    );
    run.world
        .drop_file("alice", "other.json", r#"{"to": "zed", "body": "x"}"#);
    run.world
        .drop_file("stranger", "x.json", r#"{"to": "bob", "body": "x"}"#);
    run.ok("run", "--once");
    run.ok("rejected-list", "");
    run.ok("rejected-show", "bad.json");
    run.ok("rejected-show", "lines.ndjson");
    run.code(65, "rejected-retry", "bad.json");
    run.world.ok("agent add zed");
    run.ok("rejected-retry", "other.json");
    run.ok("rejected-drop", "lines.ndjson --yes");
    run.error(3, "rejected show 9999");
    run.error(2, "send");
    run.error(2, "inbox --since x");
    run.error(65, "send bbo x --as alice");
    run.error(4, "wait --as zed --from carol --timeout 1ms");
}

fn looking(run: &mut Run<'_>) {
    run.world.drop_file("carol", "half.json", r#"{"to": "#);
    run.world.pass();
    // A directory in the place of an inbox can't be written into, so a copy stays undelivered.
    let inbox = run.world.room("inbox/zed");
    files::rename(&inbox, run.world.room("inbox-of-zed"));
    files::write(&inbox, "in the way");
    run.world
        .drop_file("alice", "late.json", r#"{"to": "zed", "body": "late"}"#);
    run.world.run("run --once");
    run.ok("status", "");
    run.code(1, "doctor", "");
    files::remove_file(&inbox);
    files::rename(run.world.room("inbox-of-zed"), &inbox);
    run.code(1, "doctor", "--fix");
    let router = run.world.router("");
    run.ok("status", "");
    run.ok("run", "--once");
    drop(router);
    run.ok("settings", "");
    run.lines("log", "");
    run.ok("log-verify", "");
    run.lines("log-events", "");
    run.ok("log-digest", "--since 1h");
    run.ok("log-head", "");
    run.ok("demo", "");
    plugging_in(run);
}

fn plugging_in(run: &mut Run<'_>) {
    let program = crate::install::stand_in(run.world.path());
    // Another program's file, so that there is something to add by hand.
    crate::guard::git(run.world.path(), "init -q");
    crate::guard::file(
        run.world.path(),
        "lefthook.yml",
        "pre-commit:\n  # mailbag hook git pre-commit\n",
    );
    let all: [&[&str]; 10] = [
        &["up", "--client", "claude", "--command", &program],
        &["up", "--undo", "--dry-run"],
        &["up", "--undo"],
        &["install", "git", "--command", &program],
        &["uninstall", "git"],
        &["install", "claude", "--agent", "bob", "--dry-run"],
        &["install", "gemini", "--command", &program],
        &["install", "--status"],
        &["uninstall", "gemini"],
        &["uninstall", "codex"],
    ];
    for args in all {
        let ran = crate::install::run_at_home(&run.world, &[args, &["--json"]].concat());
        let output = serde_json::from_str(&ran.ok()).expect("JSON");
        run.judged.judge(args[0], &output);
    }
}

fn following(run: &mut Run<'_>) {
    run.until_it_said("watch", "--last 100", 10, |_| {});
    run.until_it_said("channel-watch", "main", 3, |_| {});
    {
        run.until_it_said("web", "", 1, |_| {});
        run.ok("web", "--sign-out");
    }
    run.world.write("inbox/carol/by-hand.json", "no JSON");
    run.until_it_said("list-follow", "--as carol", 1, |world| {
        drop(world.send("alice", "carol", "follow me"))
    });
}

fn packing(run: &mut Run<'_>) {
    run.ok("archive", "--older-than 0s --dry-run");
    run.ok("archive", "--older-than 0s");
    let copy = run.world.path().join("copy").display().to_string();
    run.ok("backup", &[&copy]);
    run.ok("log-verify", "");
    losing(run);
}

/// The last batch of the log is lost.
fn losing(run: &mut Run<'_>) {
    let logs = std::fs::read_dir(run.world.room("log")).expect("a directory");
    let log = logs
        .flatten()
        .map(|entry| entry.path())
        .max()
        .expect("a segment");
    let text = files::read_text(&log);
    let batch = text
        .rfind("\"count\":")
        .and_then(|at| text[..at].rfind('\n'))
        .expect("two batches")
        + 1;
    files::write(&log, &text[..batch]);
    let words = ["log", "accept-gap", "--yes", "--json"];
    let ran = run.world.run_env(&words, "MAILBAG_TEST_ANCESTRY", "person");
    run.judged.judge(
        "log-accept-gap",
        &serde_json::from_str(&ran.ok()).expect("JSON"),
    );
    run.ok("log-verify", "");
}
