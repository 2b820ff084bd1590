//! Enums whose values have names: in JSON, in SQL, in addresses and on the command line.

#[cfg(feature = "sql")]
#[doc(hidden)]
pub use sqlx;
#[doc(hidden)]
pub use strum;

/// The text is not the name of any value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is not {what}: valid are {valid}")]
pub struct UnknownName {
    what: &'static str,
    found: String,
    valid: String,
}

impl UnknownName {
    /// `found` is not `what` (a noun with its article), whose names are `names`.
    pub fn new(what: &'static str, found: &str, names: &[&str]) -> Self {
        let valid = match names {
            [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
            names => names.concat(),
        };
        Self { what, found: found.chars().take(80).collect(), valid }
    }
}

/// Gives an enum its list of values, their names as text, and, with the feature `sql`, a place in rows.
///
/// The names are those of its derived `strum::IntoStaticStr`; the list is its derived `strum::VariantArray`. The second
/// argument is the noun, with its article, for the error about an unknown name.
#[macro_export]
macro_rules! named {
    ($type:ty, $what:literal) => {
        impl $type {
            /// Every value, in the order of declaration.
            pub const ALL: [Self; <Self as $crate::named::strum::VariantArray>::VARIANTS.len()] =
                *<Self as $crate::named::strum::VariantArray>::VARIANTS.first_chunk().expect("the length is its own");

            /// The name used in JSON, in SQL, in addresses and on the command line.
            #[must_use]
            pub fn name(self) -> &'static str {
                self.into()
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::named::UnknownName;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::ALL
                    .into_iter()
                    .find(|value| value.name() == text)
                    .ok_or_else(|| $crate::named::UnknownName::new($what, text, &Self::ALL.map(Self::name)))
            }
        }

        $crate::named_in_sql!($type);
    };
}

/// Lets rows hold the enum as `text`; nothing without the feature `sql`.
#[cfg(feature = "sql")]
#[doc(hidden)]
#[macro_export]
macro_rules! named_in_sql {
    ($type:ty) => {
        const _: () = {
            use $crate::named::sqlx::encode::IsNull;
            use $crate::named::sqlx::error::BoxDynError;
            use $crate::named::sqlx::postgres::{PgArgumentBuffer, PgHasArrayType, PgTypeInfo, PgValueRef};
            use $crate::named::sqlx::{Decode, Encode, Postgres, Type};

            impl Type<Postgres> for $type {
                fn type_info() -> PgTypeInfo {
                    <str as Type<Postgres>>::type_info()
                }

                fn compatible(ty: &PgTypeInfo) -> bool {
                    <str as Type<Postgres>>::compatible(ty)
                }
            }

            impl PgHasArrayType for $type {
                fn array_type_info() -> PgTypeInfo {
                    <String as PgHasArrayType>::array_type_info()
                }

                fn array_compatible(ty: &PgTypeInfo) -> bool {
                    <String as PgHasArrayType>::array_compatible(ty)
                }
            }

            impl Encode<'_, Postgres> for $type {
                fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
                    <&str as Encode<Postgres>>::encode_by_ref(&self.name(), buffer)
                }
            }

            impl<'row> Decode<'row, Postgres> for $type {
                fn decode(value: PgValueRef<'row>) -> Result<Self, BoxDynError> {
                    Ok(<&str as Decode<Postgres>>::decode(value)?.parse()?)
                }
            }
        };
    };
}

/// Lets rows hold the enum as `text`; nothing without the feature `sql`.
#[cfg(not(feature = "sql"))]
#[doc(hidden)]
#[macro_export]
macro_rules! named_in_sql {
    ($type:ty) => {};
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;
    use std::str::FromStr;

    use crate::artifact::ArtifactKind;
    use crate::benchmark::SubjectRole;
    use crate::contract::{InsertionStatus, ParentRelation, Role, Winner};
    use crate::dataset::Purpose;
    use crate::evolution::Family;
    use crate::verify::{ProblemKind, Status};
    use crate::work::{Device, Dtype, FinishReason, Projection, Sampler, Trainer, WorkKind};

    /// The names in JSON, which serde makes, are those of SQL, which strum makes, and are read back.
    fn agrees<T>(all: &[T])
    where
        T: Copy + Debug + PartialEq + ToString + FromStr<Err = super::UnknownName> + serde::Serialize,
    {
        assert!(!all.is_empty());
        for value in all {
            assert_eq!(serde_json::to_value(value).unwrap(), value.to_string());
            assert_eq!(value.to_string().parse(), Ok(*value));
        }
    }

    #[test]
    fn names_in_json_and_in_sql_agree() {
        agrees(&ArtifactKind::ALL);
        agrees(&Device::ALL);
        agrees(&Dtype::ALL);
        agrees(&Family::ALL);
        agrees(&FinishReason::ALL);
        agrees(&InsertionStatus::ALL);
        agrees(&ParentRelation::ALL);
        agrees(&ProblemKind::ALL);
        agrees(&Projection::ALL);
        agrees(&Purpose::ALL);
        agrees(&Role::ALL);
        agrees(&Sampler::ALL);
        agrees(&Status::ALL);
        agrees(&SubjectRole::ALL);
        agrees(&Trainer::ALL);
        agrees(&Winner::ALL);
        agrees(&WorkKind::ALL);
    }

    #[test]
    fn an_unknown_name_is_reported_with_the_valid_ones() {
        let error = "evolver".parse::<WorkKind>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "`evolver` is not a kind of work: valid are rollout, verify, update, evolve and benchmark"
        );
        let error = "draw".parse::<Winner>().unwrap_err();
        assert_eq!(error.to_string(), "`draw` is not a winner: valid are teacher and student");
    }
}
