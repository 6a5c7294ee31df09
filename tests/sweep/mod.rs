//! The crash sweeps: kills, power cuts and errors at every step of the real program, which must still keep its promise.
//!
//! - `cargo test --all-features sweep -- --nocapture`: a few hundred points, chosen from all phases of a run; each sweep
//!   prints its line of figures.
//! - `MAILBAG_SWEEP=full cargo test --release --all-features sweep -- --nocapture`: every point there is; hours.
//! - `MAILBAG_SWEEP=full:3/8 …`: the third of eight parts of them.
//!
//! `tracer` ends a program at an exact system call (`calls` lists the calls, `ptrace` has the raw calls). `device` cuts the
//! power of a real file system, `weak` simulates a file system without order, and `twice` a file system that keeps both
//! names of a moved file. `letters` has the mail, `scenario` the agents, and `ledger` the received copies. `shown` checks the
//! conversation, `entries` the worklog, `originals` the senders' files, and `receipts` the receipts in the log. `story` plays
//! one point, and `sweeps` chooses the points. The properties are in `promise`, `order`, `errors`, `accidents`, `archive`,
//! `backup`, `cut`, `records`, `requests`, `sending` and `up`. `controls` shows that each sweep fails if a protection is
//! missing.
//!
//! They need Linux's ptrace; elsewhere one test is skipped in their place.

macro_rules! on_traceable_machines {
    ($($module:ident)*) => {
        $(
            #[cfg(all(target_os = "linux", target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64")))]
            pub(crate) mod $module;
        )*
        #[cfg(not(all(target_os = "linux", target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64"))))]
        #[test]
        fn skipped() {
            crate::world::skip("the sweeps need ptrace, so Linux with glibc on x86_64 or aarch64");
        }
    };
}

on_traceable_machines! { accidents archive backup broken cache calls carriers charter claims controls cut decisions device device_itself entries errors full_disk ledger leftovers letters links notices one_pass order originals passing promise ptrace receipts records relations renames requests scenario sending setting shown story sweeps tracer tracer_itself twice up waking weak weak_itself worklog written }
