//! `mailbag watch`: the timeline for a pipe, and on a real terminal.

mod answers;
mod plain;
mod reading;
mod rows;
mod screen;
mod terminal;
mod wide;
