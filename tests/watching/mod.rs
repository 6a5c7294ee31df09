//! `mailbag watch`: the timeline for a pipe, and on a real terminal.

mod plain;
mod screen;
mod terminal;
