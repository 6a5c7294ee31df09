//! `mailbag web`: shows the room in a browser.

use crate::base::error::Result;
use crate::cli::context::CommandContext;

const EXAMPLES: &str = "\
Examples:
  mailbag web --open
  mailbag web --port 8025

The page shows what needs you, the agents and the timeline, and you act there as
the human: decide, reply, send. The printed URL lets one browser in. The browser
stays known for 30 days, also if the page is started again. For another browser,
start the page again and open the new URL.

Only this machine reaches the page, at 127.0.0.1. From another machine, forward the
port: ssh -t -L 8025:127.0.0.1:8025 HOST mailbag --room DIR web --port 8025
Ctrl-C ends it.";

/// Show the room in a browser
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Port on 127.0.0.1; default: the room's last one if it is free
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Open the page in the browser
    #[arg(long)]
    open: bool,
}

#[cfg(not(feature = "web"))]
pub(crate) fn run(_: Args, _: &mut CommandContext) -> Result<()> {
    Err(crate::base::error::Error::usage(
        "this program was built without the page",
        "build it with `cargo build --release --features web`",
    ))
}

#[cfg(feature = "web")]
pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<()> {
    use crate::base::text::shell_word;
    use crate::commands::browse;
    use crate::room::actor::require_person;
    use crate::web::serve;
    let room = cx.room()?;
    // The page acts as the human.
    require_person("open the page")?;
    // Until the page ends.
    let mut opened = None;
    serve(&room, args.port.unwrap_or_default(), &mut |started| {
        if let (Some(port), Some(file)) = (started.port_in_use, &started.browsers) {
            cx.out.warn(&format!(
                "another program uses port {port} of the last page, so browsers have to enter again; if it is not a page \
                 of this room, an open tab may have sent it the browser's secret: run `rm {}`",
                shell_word(&file.to_string_lossy())
            ));
        }
        cx.out.show(started, |out| {
            out.line(format!(
                "the page of {} is at",
                crate::base::sanitize::line(&started.room.display().to_string())
            ))?;
            out.line(format!("  {}", started.url))?;
            out.done("Ctrl-C ends it")
        })?;
        cx.out.flush()?;
        opened = args.open.then(|| browse::open(&started.url)).transpose()?;
        Ok(())
    })?;
    drop(opened);
    Ok(())
}
