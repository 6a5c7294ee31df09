//! The benchmark: measures the router against a floor of bare file calls, pair by pair, in one run.
//!
//! `cargo bench --bench router -- --help` describes the options. The same program is also each of
//! the small programs that it measures with, by its first argument, so that one build has them all.

#[cfg(target_os = "linux")]
mod finding;
#[cfg(target_os = "linux")]
mod flood;
#[cfg(target_os = "linux")]
mod floor;
#[cfg(target_os = "linux")]
mod growth;
#[cfg(target_os = "linux")]
mod harness;
#[cfg(target_os = "linux")]
mod helpers;
#[cfg(target_os = "linux")]
mod links;
#[cfg(target_os = "linux")]
mod load;
#[cfg(target_os = "linux")]
mod system;
#[cfg(target_os = "linux")]
mod worklog;

#[cfg(target_os = "linux")]
fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some("finding") => finding::main(&args[1..]),
        Some("flood") => flood::main(&args[1..]),
        Some("floor") => floor::main(&args[1..]),
        Some("growth-commands") => growth::main(&args[1..]),
        Some("links") => links::main(&args[1..]),
        Some("carry") => links::carry(&args[1..]),
        Some("sink") => links::sink(&args[1..]),
        Some("worklog") => worklog::main(&args[1..]),
        Some("drop") => helpers::drop_steadily(&args[1..]),
        Some("disturb") => helpers::disturb(&args[1..]),
        Some("write-sync-rename") => helpers::write_sync_rename(&args[1..]),
        Some("answer-hook") => helpers::answer_hook(&args[1..]),
        // `cargo test --all-targets` starts benchmarks without a word, only to see that they start.
        None => Ok(()),
        Some(_) => harness::main(&args),
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!(
        "the benchmark needs Linux: the floor is made of inotify, leases, renameat2 and syncfs"
    );
}
