//! libFuzzer's way into `tests/fuzz/settings.rs`.

#![no_main]

#[path = "../../tests/fuzz/settings.rs"]
mod settings;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| settings::run(bytes));
