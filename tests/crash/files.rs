//! Files other than plain mail, and commands that write files.

mod archive;
mod commands;
mod foreign;
mod readers;
