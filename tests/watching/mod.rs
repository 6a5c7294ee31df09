//! `mailbag watch` and `mailbag pending --follow`, in a pipe and on a real terminal.

mod follow;
mod rows;
mod stream;
mod terminal;
