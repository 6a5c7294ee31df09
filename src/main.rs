//! Runs the command line and exits with its status.
fn main() {}
