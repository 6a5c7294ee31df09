//! Step 9 for the conversations, and what is said about lines that somebody else wrote into one.

use crate::disk::layout;
use crate::message::id;
use crate::router::Router;
use crate::router::projections::channels::{CutOut, Told};
use std::sync::Arc;

impl Router {
    /// Writes the lines of the batch that was committed. That one can't be written keeps no mail: it is made again.
    pub(crate) fn show(&mut self) {
        let registry = self.registry.clone();
        let find = |name: &str| registry.find(name).map(|agent| agent.id.clone());
        let told = self.channels.write(&self.state, &find);
        self.hear(told);
    }

    /// Makes sure that the conversations say what the log says, wherever they are not as they were left.
    pub(crate) fn look_at_channels(&mut self) {
        let registry = self.registry.clone();
        let find = |name: &str| registry.find(name).map(|agent| agent.id.clone());
        let told = self.channels.look(&self.state, &find);
        self.hear(told);
    }

    fn hear(&mut self, told: Vec<Told>) {
        for Told { channel, cut, error } in told {
            let place = layout::channel(&channel).display().to_string();
            match error {
                None => self.waiting.over(&place),
                Some(e) => self.waiting.failed(&place, e.to_string()),
            }
            self.tell_each(cut);
        }
    }

    // One message to each writer, however much it wrote.
    fn tell_each(&mut self, cut: Vec<CutOut>) {
        let mut writers: Vec<CutOut> = Vec::new();
        for cut in cut {
            match writers.iter_mut().find(|before| before.writer == cut.writer) {
                Some(before) => before.lines += cut.lines,
                None => writers.push(cut),
            }
        }
        writers.iter().for_each(|cut| self.tell_of_cut(cut));
    }

    fn tell_of_cut(&mut self, cut: &CutOut) {
        let file = layout::conversation(&cut.channel);
        let (lines, were) = if cut.lines == 1 { ("a line", "was") } else { ("lines", "were") };
        let subject = format!("{lines} written into {} {were} not sent", file.display());
        let whose = cut.writer.as_deref().unwrap_or("somebody unknown");
        let about = format!("{}:{}", file.display(), cut.digest);
        let kept = cut.kept.display();
        let how = format!(
            "Only the router writes that file, and shows there what was sent. {} of {whose} {were} cut out of it and kept \
             as {kept}; nobody got it.\n\nTo send, drop a file: write\n\n    {}\n\ninto a new file in outbox/{}/ whose \
             name ends in .json, or several such messages, one a line, into one that ends in .ndjson.",
            if cut.lines == 1 { "A line".to_owned() } else { format!("{} lines", cut.lines) },
            cut.example,
            cut.writer.as_deref().unwrap_or("<you>"),
        );
        if let Some(writer) = self.known_writer(cut) {
            self.notify_agent(writer, format!("{about}:writer"), subject.clone(), how.clone());
        }
        self.notify(about, subject, how);
    }

    fn known_writer(&self, cut: &CutOut) -> Option<Arc<str>> {
        let writer = cut.writer.clone().filter(|writer| &**writer != id::HUMAN)?;
        self.registry.agent(&writer).filter(|agent| !agent.is_retired()).map(|agent| agent.id.clone())
    }
}
