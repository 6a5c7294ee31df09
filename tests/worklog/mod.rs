//! Milestones, and the files that tell people what happened.

mod milestones;
