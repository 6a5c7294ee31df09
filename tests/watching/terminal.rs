//! A terminal of a given size that a test can type into and look at: tmux.

use crate::files;
use crate::world::{Words, World, lossy, skip};
use std::process::{Command, Output};

/// A separate tmux server with one window, ended when dropped.
pub(super) struct Terminal<'w> {
    world: &'w World,
    socket: std::path::PathBuf,
}

impl Terminal<'_> {
    /// Runs `mailbag pending --follow` in a window of this size, below an earlier line; the terminal's state
    /// afterwards is shown after it. Without tmux it prints a line and returns `None`.
    pub(super) fn follow(world: &World, size: (u16, u16)) -> Option<Terminal<'_>> {
        let terminal = Terminal::open(world, size, "pending --follow")?;
        terminal.wait("the items are drawn", |screen| {
            screen.contains("Ctrl-C ends")
        });
        Some(terminal)
    }

    /// The same with a command that shows something and ends.
    pub(super) fn open<'w>(
        world: &'w World,
        size: (u16, u16),
        args: &(impl Words + ?Sized),
    ) -> Option<Terminal<'w>> {
        Terminal::of(world, size, world.bare(args))
    }

    /// The same with a command that has the test's environment.
    pub(super) fn of(
        world: &World,
        (columns, rows): (u16, u16),
        program: Command,
    ) -> Option<Terminal<'_>> {
        let words = std::iter::once(program.get_program()).chain(program.get_args());
        let words: Vec<String> = words
            .map(|word| format!("'{}'", word.to_string_lossy()))
            .collect();
        let after =
            r#"echo "ended $?"; stty -a | grep -oE -- '-?(icanon|echo|isig)\b' | xargs; cat"#;
        let pid = world.path().join("pid");
        let inner = format!("echo \\$\\$ > {}; exec {}", pid.display(), words.join(" "));
        let script = format!("echo before; sh -c \"{inner}\"; {after}");
        let socket = world.path().join(format!("tmux-{}", uuid::Uuid::now_v7()));
        let mut command = Command::new("tmux");
        command.args(["-u", "-f", "/dev/null", "-S"]).arg(&socket);
        let window = format!("new-session -d -x {columns} -y {rows}");
        command.args(window.split(' ')).arg(&script);
        command
            .current_dir(world.path())
            .env("TZ", "UTC")
            .env("LC_ALL", "C.UTF-8")
            .env_remove("TMUX");
        for (name, value) in program.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let output = command
            .output()
            .map_err(|e| skip(format_args!("tmux does not start: {e}")));
        let output = output.ok()?;
        assert!(output.status.success(), "{output:?}");
        Some(Terminal { world, socket })
    }

    fn tmux(&self, args: &[&str]) -> Output {
        let mut command = Command::new("tmux");
        command
            .arg("-u")
            .arg("-S")
            .arg(&self.socket)
            .args(args)
            .env("LC_ALL", "C.UTF-8")
            .env_remove("TMUX");
        command.output().expect("tmux runs")
    }

    /// The text on the screen, line by line, without trailing blanks.
    pub(super) fn screen(&self) -> String {
        lossy(&self.tmux(&["capture-pane", "-p"]).stdout)
    }

    /// The lines of the screen with any text on them.
    pub(super) fn lines(&self) -> Vec<String> {
        self.screen()
            .lines()
            .filter(|line| !line.trim().is_empty())
            .map(str::to_owned)
            .collect()
    }

    /// A variable of tmux about the terminal, such as `cursor_flag`.
    pub(super) fn state(&self, of: &str) -> String {
        let output = self.tmux(&["display-message", "-p", &format!("#{{{of}}}")]);
        lossy(&output.stdout).trim().to_owned()
    }

    /// Types literal text.
    pub(super) fn text(&self, text: &str) {
        self.tmux(&["send-keys", "-l", "--", text]);
    }

    /// Presses keys, by the names that tmux has for them.
    pub(super) fn keys(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    /// Decides by the typed line: shows the text of the approval, and then decides.
    #[track_caller]
    pub(super) fn decide(&self) {
        self.keys(&["Enter"]);
        self.read_pages();
        self.keys(&["Enter"]);
    }

    /// Shows the pages of an approval up to the last one.
    #[track_caller]
    pub(super) fn read_pages(&self) {
        self.wait("the whole text is shown", |screen| {
            if screen.contains("Enter shows more") {
                self.keys(&["Enter"]);
            }
            screen.contains("Enter decides ")
        });
    }

    /// Types these bytes, each in two hexadecimal digits.
    pub(super) fn bytes(&self, bytes: &[&str]) {
        self.tmux(&[&["send-keys", "-H"], bytes].concat());
    }

    /// Pastes text as terminals do, between brackets.
    pub(super) fn paste(&self, text: &str) {
        self.tmux(&["set-buffer", text]);
        self.tmux(&["paste-buffer", "-p", "-r"]);
    }

    pub(super) fn resize(&self, columns: u16, rows: u16) {
        let resize = format!("resize-window -x {columns} -y {rows}");
        self.tmux(&resize.words());
    }

    /// The process of the view.
    pub(super) fn pid(&self) -> rustix::process::Pid {
        let text = files::read_text(self.world.path().join("pid"));
        rustix::process::Pid::from_raw(text.trim().parse().expect("a number")).expect("a process")
    }

    /// Waits until the screen is so in two reads: one read can see a frame that is partly drawn.
    #[track_caller]
    pub(super) fn wait(&self, what: &str, is_so: impl Fn(&str) -> bool) {
        let mut last = String::new();
        let waited = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            self.world.wait(what, || {
                let before = std::mem::replace(&mut last, self.screen());
                last == before && is_so(&last)
            });
        }));
        assert!(
            waited.is_ok(),
            "never came: {what}; the screen shows\n{last}"
        );
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}
