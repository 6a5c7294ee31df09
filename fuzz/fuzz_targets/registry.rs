//! libFuzzer's way into `tests/fuzz/registry.rs`.

#![no_main]

#[path = "../../tests/fuzz/registry.rs"]
mod registry;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| registry::run(bytes));
