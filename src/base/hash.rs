//! SHA-256 of bytes and of files, and its text form.

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use ring::digest::{Context, Digest, SHA256};
use std::io::Read;

/// A SHA-256 hash.
pub type Hash = [u8; 32];

/// The value before the first hash of a chain.
pub const NO_HASH: Hash = [0; 32];

/// The number of bytes of a file that are hashed at a time.
const PIECE: usize = 64 << 10;

/// The hash of these bytes. Of a line of the log with its newline: `sed -n 5p log/00000001.ndjson | sha256sum`.
pub fn hash(bytes: impl AsRef<[u8]>) -> Hash {
    bytes_of(ring::digest::digest(&SHA256, bytes.as_ref()))
}

/// The first 8 bytes of the hash of two texts, with a zero byte between them. It has the same value in every build, and
/// collisions are expensive to find.
pub fn short_hash(first: &str, second: &str) -> u64 {
    let mut hasher = Hasher::default();
    hasher.update(first);
    hasher.update([0]);
    hasher.update(second);
    let [a, b, c, d, e, f, g, h, ..] = hasher.finish();
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

/// The hash of all that can be read, and its length in bytes. The content may have any size.
pub fn hash_stream(from: impl Read) -> std::io::Result<(Hash, u64)> {
    hash_pieces(from, |_| Ok(()))
}

/// As [`hash_stream`], and passes each piece to `take`.
pub fn hash_pieces(
    mut from: impl Read,
    mut take: impl FnMut(&[u8]) -> std::io::Result<()>,
) -> std::io::Result<(Hash, u64)> {
    let (mut hasher, mut length, mut piece) = (Hasher::default(), 0, vec![0; PIECE]);
    loop {
        match from.read(&mut piece)? {
            0 => return Ok((hasher.finish(), length)),
            n => {
                hasher.update(&piece[..n]);
                length += n as u64;
                take(&piece[..n])?;
            }
        }
    }
}

/// Computes the hash of bytes that come in pieces.
#[derive(Clone)]
pub struct Hasher(Context);

impl Default for Hasher {
    fn default() -> Hasher {
        Hasher(Context::new(&SHA256))
    }
}

impl Hasher {
    /// Adds bytes at the end.
    pub fn update(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.update(bytes.as_ref());
    }

    /// The hash of all bytes.
    pub fn finish(self) -> Hash {
        bytes_of(self.0.finish())
    }
}

/// The hash in lower-case hexadecimal digits.
pub fn hex(hash: &Hash) -> String {
    HEXLOWER.encode(hash)
}

/// Reads the output of [`hex`], in either case.
pub fn unhex(text: &str) -> Option<Hash> {
    let mut hash = NO_HASH;
    let is_whole = text.len() == 2 * hash.len();
    is_whole
        .then(|| HEXLOWER_PERMISSIVE.decode_mut(text.as_bytes(), &mut hash))?
        .ok()?;
    Some(hash)
}

/// Returns true if the text is the SHA-256 hash of these bytes, in hexadecimal digits of either case.
pub fn is_hash_of(text: &str, bytes: &[u8]) -> bool {
    unhex(text) == Some(hash(bytes))
}

fn bytes_of(digest: Digest) -> Hash {
    digest.as_ref().try_into().expect("SHA-256 has 32 bytes")
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest, Sha256};

    /// Another implementation gives the same hashes, whole and in pieces, around the sizes of a block.
    #[test]
    fn the_hashes_are_those_of_sha_256() {
        for length in (0..200).chain([1 << 16, (1 << 16) + 1, 200_000]) {
            let bytes: Vec<u8> = (0..length).map(|n| (n * 7 + n / 256) as u8).collect();
            let wanted: Hash = Sha256::digest(&bytes).into();
            let mut hasher = Hasher::default();
            for piece in bytes.chunks(13) {
                hasher.update(piece);
            }
            let mut copy = Vec::new();
            assert_eq!(hash(&bytes), wanted, "{length} bytes");
            assert_eq!(hasher.finish(), wanted, "{length} bytes in pieces");
            let take = |piece: &[u8]| {
                copy.extend_from_slice(piece);
                Ok(())
            };
            assert_eq!(
                hash_pieces(bytes.as_slice(), take).expect("a slice"),
                (wanted, bytes.len() as u64)
            );
            assert_eq!(copy, bytes);
        }
    }

    #[test]
    fn a_hash_as_text_reads_back_in_either_case_and_only_whole() {
        let one = hash("one");
        assert_eq!(unhex(&hex(&one)), Some(one));
        assert_eq!(unhex(&hex(&one).to_uppercase()), Some(one));
        assert_eq!(
            (unhex(&hex(&one)[..62]), unhex(&"g".repeat(64))),
            (None, None)
        );
        assert!(is_hash_of(&hex(&one), b"one") && !is_hash_of(&hex(&one), b"two"));
    }
}
