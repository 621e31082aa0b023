//! What the texts of types are declared with.

/// An enum with a text for each variant, which the method gives, and with all its variants in order.
#[macro_export]
macro_rules! named {
    ($(#[$attribute:meta])* pub enum $name:ident, $text:ident { $($(#[$of:meta])* $variant:ident = $word:literal,)+ }) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        $(#[$attribute])*
        pub enum $name {
            $($(#[$of])* $variant,)+
        }

        impl $name {
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            pub fn $text(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }
    };
}

/// An enum of which rows, files and messages have a word for each variant.
#[macro_export]
macro_rules! words {
    ($(#[$attribute:meta])* pub enum $name:ident, $text:ident { $($(#[$of:meta])* $variant:ident = $word:literal,)+ }) => {
        $crate::named! {
            $(#[$attribute])*
            pub enum $name, $text {
                $($(#[$of])* #[serde(rename = $word)] $variant = $word,)+
            }
        }

        impl $name {
            /// What a word stands for.
            pub fn named(word: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|value| value.$text() == word)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.$text())
            }
        }
    };
}

/// Sends a type as the text that it prints as, and reads it back from that.
macro_rules! sent_as_text {
    ($type:ty) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'_, str>>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
