//! libFuzzer's way into `tests/fuzz/address.rs`.

#![no_main]

#[path = "../../tests/fuzz/address.rs"]
mod address;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| address::run(bytes));
