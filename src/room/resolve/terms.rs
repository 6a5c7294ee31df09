//! The addresses that mail from another room may have. Each is checked where it is expanded, so it makes no difference which
//! name, alias or lane leads to it.

#![allow(
    clippy::result_large_err,
    reason = "a problem is built for rejected input only"
)]

use crate::base::error::Problem;
use crate::message::address::quoted;
use crate::message::id::{HUMAN, tag_of};
use crate::room::registry::{AddressKind, Registry};

/// The addresses that a sender may use. Mail of this room may have every address.
pub(super) struct SenderTerms<'a>(Option<RemoteTerms<'a>>);

struct RemoteTerms<'a> {
    /// The tag of the other room.
    tag: &'a str,
    /// The addresses that this room takes from there. Without the link, none.
    accept: &'a [AddressKind],
}

impl<'a> SenderTerms<'a> {
    pub(super) fn of(registry: &'a Registry, from: Option<&'a str>) -> SenderTerms<'a> {
        SenderTerms(from.and_then(tag_of).map(|tag| RemoteTerms {
            tag,
            accept: registry.rooms().get(tag).map_or(&[][..], Vec::as_slice),
        }))
    }

    /// Returns true if the sender is in another room.
    pub(super) fn is_elsewhere(&self) -> bool {
        self.0.is_some()
    }

    /// Fails if this room takes no mail for this kind of address from the other room.
    pub(super) fn admit(&self, kind: AddressKind, address: &str) -> Result<(), Problem> {
        let Some(RemoteTerms { tag, accept }) = &self.0 else {
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

    /// As [`SenderTerms::admit`], for an agent by its id.
    pub(super) fn admit_agent(&self, id: &str) -> Result<(), Problem> {
        self.admit(
            if id == HUMAN {
                AddressKind::Human
            } else {
                AddressKind::Agents
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
    use crate::room::registry::Lane;
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
    const LANES: [(&str, &str); 3] = [("web", "bob"), ("everyone", "all"), ("top", "human")];

    fn room(accept: &[AddressKind]) -> Registry {
        let lanes = LANES.map(|(name, owner)| Lane {
            name: name.into(),
            address: format!("lane:{name}"),
            owners: vec![owner.into()],
        });
        let rooms = BTreeMap::from([("fit".to_owned(), accept.to_vec())]);
        Registry::parse(REGISTRY)
            .expect("a registry")
            .with_lanes(Arc::new(lanes))
            .with_rooms(Arc::new(rooms))
    }

    /// Every form of address, and the kinds that a link must accept for it.
    const FORMS: [(&str, &[AddressKind]); 29] = [
        ("bob", &[AddressKind::Agents]),
        ("@bob", &[AddressKind::Agents]),
        ("Porto", &[AddressKind::Agents]),
        ("@porto", &[AddressKind::Agents]),
        ("team", &[AddressKind::Agents]),
        ("human", &[AddressKind::Human]),
        ("@human", &[AddressKind::Human]),
        ("boss", &[AddressKind::Human]),
        ("@boss", &[AddressKind::Human]),
        ("all_engineer", &[AddressKind::Roles]),
        ("any_engineer", &[AddressKind::Roles]),
        ("@engineer", &[AddressKind::Roles]),
        ("@engineers", &[AddressKind::Roles]),
        ("crew", &[AddressKind::Roles]),
        ("one", &[AddressKind::Roles]),
        ("all", &[AddressKind::All]),
        ("*", &[AddressKind::All]),
        ("b*", &[AddressKind::All]),
        ("staff", &[AddressKind::All]),
        ("some", &[AddressKind::All]),
        ("deep", &[AddressKind::All, AddressKind::Roles]),
        ("@deeper", &[AddressKind::All, AddressKind::Roles]),
        ("ci", &[AddressKind::Topics]),
        ("able", &[AddressKind::Topics]),
        ("owner", &[AddressKind::Topics]),
        (
            "owner:src/human",
            &[AddressKind::Topics, AddressKind::Human],
        ),
        ("web", &[AddressKind::Agents, AddressKind::Topics]),
        ("everyone", &[AddressKind::All, AddressKind::Topics]),
        ("@top", &[AddressKind::Topics, AddressKind::Human]),
    ];

    #[test]
    fn an_address_from_another_room_reaches_only_what_the_link_accepts_in_whatever_form_it_is_written()
     {
        // P208
        let kinds = [
            AddressKind::Agents,
            AddressKind::Roles,
            AddressKind::All,
            AddressKind::Topics,
            AddressKind::Human,
        ];
        for subset in 0..1_u32 << kinds.len() {
            let accept: Vec<AddressKind> = (0..kinds.len())
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
        let registry = room(&[AddressKind::Agents]);
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
