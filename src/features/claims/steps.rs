//! The number of steps that comparisons of claims take.

use super::change::{ClaimChange, ClaimTerms};
use super::leases::ClaimLifetime;
use super::requests::ClaimRequest;
use super::tests::{ClaimRoom, claim, name, subjects};
use crate::message::subject::steps_of;

/// The most steps that the comparisons for a message take: the bound, and the last comparison.
const STEPS: u64 = (1 << 18) + 8192;

/// Claims that never conflict with the claims of another letter, and are slow to compare.
fn slow(letter: char, count: usize) -> Vec<String> {
    let slow = |n| format!("{}{n}{letter}", "*a".repeat(20));
    (0..count).map(slow).collect()
}

fn grant(claims: Vec<String>) -> ClaimChange {
    ClaimChange::Grant(ClaimTerms {
        claims,
        lease: 60,
        purpose: None,
    })
}

#[test]
fn each_request_takes_bounded_steps_however_many_claims_are_slow() {
    let mut room = ClaimRoom::default();
    room.record(&name("alice"), &grant(slow('x', 1000)));
    room.record(&name("bob"), &grant(slow('y', 500)));
    let many = slow('z', 100);
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let release = |subjects| ClaimRequest::Release {
        of: name("bob"),
        subjects,
    };
    let offer = |subjects| ClaimRequest::Offer {
        to: name("alice"),
        subjects,
    };
    let some = slow('y', 100);
    let some: Vec<&str> = some.iter().map(String::as_str).collect();
    for request in [
        claim(&many),
        release(subjects(&many)),
        offer(subjects(&some)),
    ] {
        let shown = format!("{request:?}");
        let mut code = None;
        let steps = steps_of(|| {
            let problems = room
                .0
                .judge(&name("bob"), request, &|_| ClaimLifetime::Session)
                .expect_err("slow");
            code = problems.first().map(|problem| problem.code.to_string());
        });
        assert_eq!(code.as_deref(), Some("too_many_claims"), "{shown:.40}");
        assert!(steps <= STEPS, "{shown:.40}: {steps}");
    }
    // The same requests without patterns are judged as always.
    assert!(room.say("bob", claim(&["src/a.rs"])).is_ok());
    assert!(room.say("bob", release(subjects(&some))).is_ok());
}
