//! The benchmark: measures the router against a floor of bare file calls, pair by pair, in one run.
//!
//! `cargo bench --bench router -- [CASE WORDS…] [--quick]` measures; `-- help` lists the cases. The same program,
//! started with another first word, is each of the small programs it measures with, so that one build holds them all.

#[cfg(target_os = "linux")]
mod floor;

#[cfg(target_os = "linux")]
fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some("floor") => floor::main(&args[1..]),
        _ => Ok(()),
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("the benchmark needs Linux: the floor is made of inotify, leases, renameat2 and syncfs");
}
