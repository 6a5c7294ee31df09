//! `mailbag watch`: the timeline for a pipe, and on a real terminal.

mod answers;
mod plain;
mod rows;
mod screen;
mod terminal;
