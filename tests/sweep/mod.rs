//! The crash sweeps: the real program is killed, unplugged or refused at every step, and must still keep its promise.
//!
//! They need Linux's ptrace; elsewhere one test says that they were skipped.

macro_rules! on_traceable_machines {
    ($($module:ident)*) => {
        $(
            #[cfg(all(target_os = "linux", target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64")))]
            mod $module;
        )*
        #[cfg(not(all(target_os = "linux", target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64"))))]
        #[test]
        fn skipped() {
            println!("sweep: skipped, it needs ptrace as Linux with glibc on x86_64 or aarch64 has it");
        }
    };
}

on_traceable_machines! { calls controls device device_itself errors ledger letters promise ptrace scenario story sweeps tracer tracer_itself weak weak_itself }
