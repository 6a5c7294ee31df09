//! The one integration binary: every test of the whole runs the real program on real directories.

/// Fails unless a text contains each of these parts. An additional message may follow a semicolon.
macro_rules! assert_contains {
    ($text:expr, $($part:expr),+ $(; $message:literal)?) => {{
        let parts: &[&str] = &[$($part),+];
        match &$text {
            text => {
                for part in parts {
                    let message = String::new() $(+ &format!($message) + ": ")?;
                    assert!(text.contains(part), "{message}{part:?} is missing in:\n{text}");
                }
            }
        }
    }};
}

/// Fails unless the fields of a JSON value, each named by its path, have these values.
macro_rules! assert_fields {
    ($value:expr, $($($key:tt).+: $expected:expr),+ $(,)?) => {{
        let value = &$value;
        $(
            let path = [$(stringify!($key)),+];
            let wanted = serde_json::json!($expected);
            assert_eq!(crate::world::field(value, &path), &wanted, "{path:?} in {value:#}");
        )+
    }};
}

mod actor;
mod approvals;
mod archive;
mod backup;
mod bad_input;
mod beside;
mod carriers;
mod channels;
mod charter;
mod claims;
mod cli;
mod containers;
mod context;
mod crash;
mod docs;
mod documents;
mod doctor;
mod durability;
mod exec;
mod files;
mod finding;
mod frozen;
mod fuzz;
mod growth;
mod guard;
mod helpers;
mod hooks;
mod hostile;
mod ids;
#[cfg(target_os = "linux")]
mod images;
mod in_a_row;
mod install;
mod integrity;
mod kills;
mod licences;
mod links;
mod mcp;
mod model;
mod outputs;
mod presence;
mod protocol;
mod receipts;
mod records;
mod recovery;
mod router;
mod same_thread;
mod sandbox;
mod service;
mod sessions;
mod sim;
mod skipping;
#[cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod soak;
mod surroundings;
mod tidy;
mod town;
mod trust;
mod venv;
mod waiting;
mod waking;
mod watching;
mod web;
mod words;
mod worklog;
mod world;
