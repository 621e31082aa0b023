//! Words of variants and of axes, as enums.

/// An enum of the words of a variant or of an axis, so that a match without a default arm handles them all. A choice's place is the
/// number that shaders know it by.
macro_rules! choices {
    ($(#[$of:meta])* $seen:vis enum $name:ident { $($(#[$why:meta])* $choice:ident = $word:literal),+ $(,)? }) => {
        $(#[$of])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $seen enum $name {
            $($(#[$why])* $choice,)+
        }

        #[allow(dead_code, reason = "few ask for all of it")]
        impl $name {
            $seen const ALL: &'static [Self] = &[$(Self::$choice),+];
            $seen const WORDS: &'static [&'static str] = &[$($word),+];

            /// # Panics
            /// At a word that is none of them: a plan has none.
            $seen fn of(word: &str) -> Self {
                match word {
                    $($word => Self::$choice,)+
                    _ => panic!("`{word}` is none of {:?}", Self::WORDS),
                }
            }

            $seen const fn word(self) -> &'static str {
                Self::WORDS[self as usize]
            }

            $seen const fn code(self) -> u32 {
                self as u32
            }

            /// The axis of these words, which by default has some of them.
            $seen fn axis(name: &'static str, description: &'static str, defaults: &[Self]) -> $crate::model::Axis {
                let kind = $crate::model::AxisKind::Choices(Self::WORDS);
                $crate::model::Axis::new(name, description, kind, defaults.iter().map(|choice| choice.word()))
            }
        }
    };
}

pub(in crate::experiments) use choices;

#[cfg(test)]
mod tests {
    choices! {
        enum Fruit {
            Apple = "apple",
            Pear = "pear",
        }
    }

    #[test]
    fn a_choice_has_a_word_and_a_place() {
        assert_eq!(Fruit::WORDS.iter().map(|word| Fruit::of(word)).collect::<Vec<_>>(), Fruit::ALL);
        assert_eq!((Fruit::Pear.word(), Fruit::Pear.code()), ("pear", 1));
    }

    #[test]
    #[should_panic(expected = "`plum` is none of [\"apple\", \"pear\"]")]
    fn another_word_is_none_of_them() {
        let _ = Fruit::of("plum");
    }
}
