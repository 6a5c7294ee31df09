//! The file system of a thread.

use super::fs::Fs;
use std::cell::RefCell;
use std::sync::Arc;

thread_local! {
    static ROOT: RefCell<Arc<dyn Fs>> = RefCell::new(super::real::root());
}

/// The root of the system, unless a test has set another file system for this thread.
pub fn root() -> Arc<dyn Fs> {
    ROOT.with_borrow(Arc::clone)
}

/// Calls `act` with another file system for this thread. Files that are open keep theirs.
pub fn with_root<T>(root: Arc<dyn Fs>, act: impl FnOnce() -> T) -> T {
    struct Back(Arc<dyn Fs>);
    impl Drop for Back {
        fn drop(&mut self) {
            ROOT.set(Arc::clone(&self.0));
        }
    }
    let _back = Back(ROOT.replace(root));
    act()
}
