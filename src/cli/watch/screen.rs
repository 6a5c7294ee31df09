//! The terminal: taken when the view begins, given back as it was however the view ends.

use super::WatchEvent;
use super::keeper::{RefreshReason, RoomMonitor};
use super::view::{ItemAnswer, KeyResult, WatchView};
use crate::base::error::{ErrorContext, Result};
use crate::cli::show::output::canvas;
use crate::commands::answer;
use crate::query::timeline::Timeline;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, DisableBracketedPaste, EnableBracketedPaste};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use std::io::Stdout;
use std::sync::mpsc::{Receiver, Sender};

/// How the terminal is called in errors.
const TERMINAL: &str = "the terminal";

/// Shows the view until the person ends it, or a signal does.
pub(super) fn show(
    mut view: WatchView,
    mut timeline: Timeline,
    keeper: &RoomMonitor,
    wakes: Sender<WatchEvent>,
    woken: &Receiver<WatchEvent>,
) -> Result<()> {
    let mut screen = Screen::take()?;
    let typed = wakes.clone();
    std::thread::spawn(move || listen(&typed));
    loop {
        screen
            .terminal
            .draw(|frame| view.draw(frame))
            .doing("draw on", TERMINAL)?;
        // Draw once for all waiting events.
        let Ok(first) = woken.recv() else {
            return Ok(());
        };
        for wake in std::iter::once(first).chain(woken.try_iter()) {
            match wake {
                WatchEvent::End => return Ok(()),
                WatchEvent::Grown => keeper.call(RefreshReason::Grown),
                WatchEvent::Looked(looked) => view.looked(looked),
                WatchEvent::Answered(answered) => {
                    view.answered(answered);
                    keeper.call(RefreshReason::Sent);
                }
                WatchEvent::Typed(typed) => match view.typed(typed) {
                    KeyResult::Shown => {}
                    KeyResult::Sent => keeper.call(RefreshReason::Sent),
                    KeyResult::Answers(answering) => answer(answering, wakes.clone()),
                    KeyResult::Quit => return Ok(()),
                },
            }
        }
        match timeline.read() {
            Ok(entries) => view.add(entries),
            Err(e) => view.troubled(&e),
        }
    }
}

// In a thread of its own, because the router can take long to record an answer.
fn answer(answering: Box<ItemAnswer>, wakes: Sender<WatchEvent>) {
    std::thread::spawn(move || {
        let ItemAnswer {
            room,
            who,
            item,
            action,
        } = *answering;
        // The receiver is gone only when the program ends.
        let _ = wakes.send(WatchEvent::Answered(answer::answer(
            &room, &who, &item, action,
        )));
    });
}

fn listen(wakes: &Sender<WatchEvent>) {
    loop {
        let wake = event::read().map_or(WatchEvent::End, WatchEvent::Typed);
        let is_over = matches!(wake, WatchEvent::End);
        if wakes.send(wake).is_err() || is_over {
            return;
        }
    }
}

/// The terminal while it is the view's.
struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    fn take() -> Result<Screen> {
        // A panic must print its message on the normal screen.
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            before(panic);
        }));
        let terminal = Terminal::new(CrosstermBackend::new(canvas())).doing("open", TERMINAL)?;
        let screen = Screen { terminal };
        enable_raw_mode().doing("take", TERMINAL)?;
        execute!(canvas(), EnterAlternateScreen, EnableBracketedPaste).doing("take", TERMINAL)?;
        Ok(screen)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Tries each step, even if the one before failed.
fn give_back() {
    let _ = execute!(
        canvas(),
        DisableBracketedPaste,
        LeaveAlternateScreen,
        ratatui::crossterm::cursor::Show
    );
    let _ = disable_raw_mode();
}
