//! The pace of guesses of the password, for each source by itself.
//!
//! A turn is assigned when the request arrives. A client that closes its connection does not give the turn back.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use std::time::Instant;

/// The time between two guesses of a password that come from one source.
const GUESS_PACE: Duration = Duration::from_millis(250);
/// The longest wait of a guess for its turn. Other guesses are rejected.
const GUESS_WAIT: Duration = Duration::from_secs(20);
/// The largest number of sources with waiting guesses.
const GUESS_SOURCES: usize = 1024;

/// The next turn of each source that tried a password a short time ago.
#[derive(Debug, Default)]
pub(super) struct GuessTurns(Mutex<HashMap<IpAddr, Instant>>);

impl GuessTurns {
    /// Assigns a turn to a guess of this source: the time of its check. `None` if too many guesses are waiting.
    pub(super) fn take(&self, source: IpAddr, now: Instant) -> Option<Instant> {
        let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        turns.retain(|_, next| *next > now);
        let source = network(source);
        if turns.len() >= GUESS_SOURCES && !turns.contains_key(&source) {
            return None;
        }
        let next = turns.entry(source).or_insert(now);
        let turn = *next;
        if turn.saturating_duration_since(now) > GUESS_WAIT {
            return None;
        }
        *next = turn + GUESS_PACE;
        Some(turn)
    }
}

/// One source: an IPv4 address, or the network of an IPv6 address, because a client can use any address of its network.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => {
            let [a, b, c, d, ..] = v6.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn guesses_of_one_source_take_turns_and_other_sources_do_not_wait() {
        let (turns, now) = (GuessTurns::default(), Instant::now());
        for n in 0..60 {
            assert_eq!(
                turns.take(address("192.0.2.1"), now),
                Some(now + GUESS_PACE * n)
            );
        }
        assert_eq!(turns.take(address("192.0.2.2"), now), Some(now));
    }

    #[test]
    fn a_source_with_too_many_guesses_waiting_is_rejected_until_its_turns_have_passed() {
        let (turns, now) = (GuessTurns::default(), Instant::now());
        let most = (0..1000)
            .take_while(|_| turns.take(address("192.0.2.1"), now).is_some())
            .count();
        assert!((60..200).contains(&most), "{most}");
        assert_eq!(turns.take(address("192.0.2.1"), now), None);
        let later = now + GUESS_WAIT + GUESS_PACE * 2;
        assert_eq!(turns.take(address("192.0.2.1"), later), Some(later));
    }

    #[test]
    fn all_addresses_of_an_ipv6_network_are_one_source() {
        let (turns, now) = (GuessTurns::default(), Instant::now());
        assert_eq!(turns.take(address("2001:db8::1"), now), Some(now));
        assert_eq!(
            turns.take(address("2001:db8::2"), now),
            Some(now + GUESS_PACE)
        );
        assert_eq!(turns.take(address("2001:db8:0:1::2"), now), Some(now));
        assert_eq!(turns.take(address("::ffff:192.0.2.1"), now), Some(now));
        assert_eq!(
            turns.take(address("192.0.2.1"), now),
            Some(now + GUESS_PACE)
        );
    }

    #[test]
    fn the_table_of_sources_is_bounded() {
        let (turns, now) = (GuessTurns::default(), Instant::now());
        for n in 0..GUESS_SOURCES as u32 {
            assert!(
                turns
                    .take(IpAddr::V4((0x0a00_0000 + n).into()), now)
                    .is_some()
            );
        }
        assert_eq!(turns.take(address("192.0.2.1"), now), None);
        let later = now + GUESS_PACE;
        assert_eq!(turns.take(address("192.0.2.1"), later), Some(later));
    }
}
