//! The same promise where the system has another watcher: what holds of arriving and living is tried again with it.

#[test]
#[cfg(target_os = "linux")]
fn the_portable_watcher_keeps_the_promise_too() {
    let tests = std::env::current_exe().expect("this test's own program");
    let tried = std::process::Command::new(tests)
        .args(["router::arriving", "router::living", "receipts", "--test-threads=4"])
        .env("MAILBAG_TEST_PORTABLE", "1")
        .output()
        .expect("the same tests run");
    let said = String::from_utf8_lossy(&tried.stdout);
    assert!(tried.status.success(), "{said}");
    assert!(said.contains("router::living::"), "nothing was tried:\n{said}");
}
