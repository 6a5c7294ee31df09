//! The addresses that mail from another room may have. Each is checked where it is expanded, so it makes no difference which
//! name, alias or lane leads to it.

#![allow(
    clippy::result_large_err,
    reason = "a problem is built for rejected input only"
)]

use crate::base::error::Problem;
use crate::message::address::quoted;
use crate::message::id::{HUMAN, tag_of};
use crate::room::registry::Registry;
use crate::room::settings::AcceptedAddress;

/// The border that a message crossed. Mail of this room crosses no border, and may have every address.
pub(super) struct RoomBorder<'a>(Option<BorderCrossing<'a>>);

struct BorderCrossing<'a> {
    /// The tag of the other room.
    tag: &'a str,
    /// The addresses that this room takes from there. Without the link, none.
    accept: &'a [AcceptedAddress],
}

impl<'a> RoomBorder<'a> {
    pub(super) fn around(registry: &'a Registry, from: Option<&'a str>) -> RoomBorder<'a> {
        RoomBorder(from.and_then(tag_of).map(|tag| BorderCrossing {
            tag,
            accept: registry.links().get(tag).map_or(&[][..], Vec::as_slice),
        }))
    }

    /// Returns true if the message is from another room.
    pub(super) fn is_crossed(&self) -> bool {
        self.0.is_some()
    }

    /// Fails if this room takes no mail for this kind of address from the other room.
    pub(super) fn admit(&self, kind: AcceptedAddress, address: &str) -> Result<(), Problem> {
        let Some(BorderCrossing { tag, accept }) = &self.0 else {
            return Ok(());
        };
        if accept.contains(&kind) {
            return Ok(());
        }
        let what = format!(
            "this room takes no mail for {} from the room {tag}",
            quoted(address)
        );
        let fix = format!(
            "write to an agent by name or role; here, a person can add {:?} to `accept`",
            kind.as_str()
        );
        Err(Problem::new("not_accepted", what).at("/to").fix(fix))
    }

    /// As [`RoomBorder::admit`], for an agent by its id.
    pub(super) fn admit_agent(&self, id: &str) -> Result<(), Problem> {
        self.admit(
            if id == HUMAN {
                AcceptedAddress::Human
            } else {
                AcceptedAddress::Agents
            },
            id,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock::Stamp;
    use crate::message::subject::ClaimSubject;
    use crate::room::charter::Charter;
    use crate::room::resolve::{Availability, resolve};
    use std::collections::{BTreeMap, BTreeSet};
    use std::sync::Arc;

    struct OwnerAvailability;

    impl Availability for OwnerAvailability {
        fn unread(&self, _: &str) -> usize {
            0
        }
        fn online(&self, _: &str) -> bool {
            true
        }
        fn last_active(&self, _: &str) -> Stamp {
            Stamp::default()
        }
        fn owners(&self, subject: &ClaimSubject) -> Vec<Arc<str>> {
            let is_of_human = subject.to_string() == "src/human";
            vec![if is_of_human {
                HUMAN.into()
            } else {
                "bob".into()
            }]
        }
    }

    const REGISTRY: &[u8] = br##"{"version": 1, "agents": [{"id": "human"},
        {"id": "bob", "name": "Porto", "role": "engineer", "capabilities": ["rust"], "topics": ["ci"]},
        {"id": "carol", "role": "engineer"}], "aliases": {
        "team": ["bob"], "boss": ["human"], "staff": ["all"], "crew": ["all_engineer"], "one": ["any_engineer"],
        "some": ["b*"], "ci": ["#ci"], "able": ["cap:rust"], "owner": ["owner:src/a"], "lanes": ["lane:web"],
        "deep": ["crew", "staff"], "deeper": ["deep"]}}"##;
    const CHARTER: &str = "# Lanes\n- web: bob\n- everyone: all\n- top: human\n";

    fn room(accept: &[AcceptedAddress]) -> Registry {
        let lanes = Charter::parse(CHARTER).lanes;
        assert_eq!(lanes.len(), 3, "{lanes:?}");
        let links = BTreeMap::from([("fit".to_owned(), accept.to_vec())]);
        Registry::parse(REGISTRY)
            .expect("a registry")
            .with_lanes(lanes.into())
            .with_links(Arc::new(links))
    }

    /// Every form of address, and the kinds that a link must accept for it.
    const FORMS: [(&str, &[AcceptedAddress]); 29] = [
        ("bob", &[AcceptedAddress::Agents]),
        ("@bob", &[AcceptedAddress::Agents]),
        ("Porto", &[AcceptedAddress::Agents]),
        ("@porto", &[AcceptedAddress::Agents]),
        ("team", &[AcceptedAddress::Agents]),
        ("human", &[AcceptedAddress::Human]),
        ("@human", &[AcceptedAddress::Human]),
        ("boss", &[AcceptedAddress::Human]),
        ("@boss", &[AcceptedAddress::Human]),
        ("all_engineer", &[AcceptedAddress::Roles]),
        ("any_engineer", &[AcceptedAddress::Roles]),
        ("@engineer", &[AcceptedAddress::Roles]),
        ("@engineers", &[AcceptedAddress::Roles]),
        ("crew", &[AcceptedAddress::Roles]),
        ("one", &[AcceptedAddress::Roles]),
        ("all", &[AcceptedAddress::All]),
        ("*", &[AcceptedAddress::All]),
        ("b*", &[AcceptedAddress::All]),
        ("staff", &[AcceptedAddress::All]),
        ("some", &[AcceptedAddress::All]),
        ("deep", &[AcceptedAddress::All, AcceptedAddress::Roles]),
        ("@deeper", &[AcceptedAddress::All, AcceptedAddress::Roles]),
        ("ci", &[AcceptedAddress::Topics]),
        ("able", &[AcceptedAddress::Topics]),
        ("owner", &[AcceptedAddress::Topics]),
        (
            "owner:src/human",
            &[AcceptedAddress::Topics, AcceptedAddress::Human],
        ),
        ("web", &[AcceptedAddress::Agents, AcceptedAddress::Topics]),
        ("everyone", &[AcceptedAddress::All, AcceptedAddress::Topics]),
        ("@top", &[AcceptedAddress::Topics, AcceptedAddress::Human]),
    ];

    #[test]
    fn an_address_from_another_room_reaches_only_what_the_link_accepts_in_whatever_form_it_is_written()
     {
        // P208
        let kinds = [
            AcceptedAddress::Agents,
            AcceptedAddress::Roles,
            AcceptedAddress::All,
            AcceptedAddress::Topics,
            AcceptedAddress::Human,
        ];
        for subset in 0..1_u32 << kinds.len() {
            let accept: Vec<AcceptedAddress> = (0..kinds.len())
                .filter(|n| subset & (1 << n) != 0)
                .map(|n| kinds[n])
                .collect();
            let registry = room(&accept);
            for (address, needs) in FORMS {
                let to = [address.to_owned()];
                assert!(
                    resolve(&registry, "alice", &to, false, &mut OwnerAvailability).is_ok(),
                    "mail of this room to {address}"
                );
                let reached = resolve(&registry, "fit:alice", &to, false, &mut OwnerAvailability);
                let is_accepted = needs.iter().all(|kind| accept.contains(kind));
                assert_eq!(
                    reached.is_ok(),
                    is_accepted,
                    "{address} with {accept:?}: {reached:?}"
                );
                let codes: BTreeSet<_> = reached
                    .err()
                    .into_iter()
                    .flatten()
                    .map(|problem| problem.code)
                    .collect();
                assert!(
                    codes.iter().all(|code| code == "not_accepted"),
                    "{address} with {accept:?}: {codes:?}"
                );
            }
        }
    }

    #[test]
    fn without_the_link_in_the_settings_no_mail_of_that_room_reaches_anybody() {
        let registry = room(&[AcceptedAddress::Agents]);
        assert!(
            resolve(
                &registry,
                "other:alice",
                &["bob".to_owned()],
                false,
                &mut OwnerAvailability
            )
            .is_err()
        );
        assert!(
            resolve(
                &registry,
                "fit:alice",
                &["bob".to_owned()],
                false,
                &mut OwnerAvailability
            )
            .is_ok()
        );
    }
}
