//! Runs the command line and exits with its status.

fn main() -> std::process::ExitCode {
    mailbag::cli::main()
}
