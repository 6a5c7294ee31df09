//! Command lines as texts.

/// The words of a command line: a list, or one text with single quotes around a word with blanks.
pub(crate) trait Words {
    fn words(&self) -> Vec<&str>;
}

impl Words for str {
    fn words(&self) -> Vec<&str> {
        let mut words = Vec::new();
        for (at, part) in self.split('\'').enumerate() {
            if at % 2 == 1 {
                words.push(part);
            } else {
                words.extend(part.split_whitespace());
            }
        }
        words
    }
}

impl Words for String {
    fn words(&self) -> Vec<&str> {
        self[..].words()
    }
}

impl<S: AsRef<str>> Words for [S] {
    fn words(&self) -> Vec<&str> {
        self.iter().map(AsRef::as_ref).collect()
    }
}

impl<S: AsRef<str>, const N: usize> Words for [S; N] {
    fn words(&self) -> Vec<&str> {
        self[..].words()
    }
}

impl<S: AsRef<str>> Words for Vec<S> {
    fn words(&self) -> Vec<&str> {
        self[..].words()
    }
}

impl<W: Words + ?Sized> Words for &W {
    fn words(&self) -> Vec<&str> {
        (**self).words()
    }
}
