//! libFuzzer's way into `tests/fuzz/message.rs`.

#![no_main]

#[path = "../../tests/fuzz/message.rs"]
mod message;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| message::run(bytes));
