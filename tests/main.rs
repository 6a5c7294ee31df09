//! The one integration binary: every test of the whole runs the real program on real directories.

mod addresses;
mod archive;
mod bad_input;
mod channels;
mod cli;
mod docs;
mod doctor;
mod exec;
mod finding;
mod frozen;
mod fuzz;
mod helpers;
mod hooks;
mod hostile;
mod install;
mod licences;
mod mcp;
mod messages;
mod model;
mod outputs;
mod presence;
mod protocol;
mod receipts;
mod router;
mod sandbox;
mod sessions;
#[cfg(all(target_os = "linux", target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod soak;
mod sweep;
mod tidy;
mod town;
mod trust;
mod waiting;
mod waking;
mod watching;
mod world;
