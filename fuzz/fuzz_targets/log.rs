//! libFuzzer's way into `tests/fuzz/log.rs`.

#![no_main]

#[path = "../../tests/fuzz/log.rs"]
mod log;
#[path = "../../tests/fuzz/place.rs"]
mod place;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| log::run(bytes));
