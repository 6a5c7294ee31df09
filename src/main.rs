//! Runs the command line and exits with its status.
use std::path::Path;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let (room, _) = mailbag::room::Room::init(Path::new(&a[2])).unwrap();
    let o = mailbag::daemon::Options { once: a.get(3).is_some_and(|x| x == "once"), poll: false };
    match mailbag::daemon::run(&room, &o, &mut |r| println!("{r:?}")) {
        Ok(t) => println!("{t:?}"),
        Err(e) => {
            eprintln!("{e}");
            std::process::exit(1)
        }
    }
}
