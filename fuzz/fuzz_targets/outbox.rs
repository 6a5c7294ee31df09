//! libFuzzer's way into `tests/fuzz/outbox.rs`.

#![no_main]

#[path = "../../tests/fuzz/outbox.rs"]
mod outbox;
#[path = "../../tests/fuzz/place.rs"]
mod place;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| outbox::run(bytes));
