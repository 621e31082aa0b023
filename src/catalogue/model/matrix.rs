//! Cooperative matrices: which products of matrices a device does as one operation of a subgroup or a workgroup.

use std::fmt;

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Component {
    F16,
    F32,
    F64,
    Bf16,
    /// 8 bits, 4 of them the exponent (E4M3).
    F8E4m3,
    /// 8 bits, 5 of them the exponent (E5M2).
    F8E5m2,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    /// One that Lanescope doesn't know, by its number in `VkComponentTypeKHR`.
    Unknown(i32),
}

impl fmt::Display for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::F16 => "f16",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::Bf16 => "bf16",
            Self::F8E4m3 => "f8e4m3",
            Self::F8E5m2 => "f8e5m2",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::Unknown(number) => return write!(f, "component type {number}"),
        };
        f.write_str(name)
    }
}

/// Whose operation a product is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MatrixScope {
    Subgroup,
    Workgroup,
    /// One that Lanescope doesn't know, by its number in `VkScopeKHR`.
    Unknown(i32),
}

/// A product that a device does: an m x k matrix times a k x n one, added to an m x n one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MatrixProduct {
    /// Rows of the left one and of the result.
    pub m: u32,
    /// Columns of the right one and of the result.
    pub n: u32,
    /// Columns of the left one, rows of the right one.
    pub k: u32,
    /// Components of the left one.
    pub a: Component,
    /// Components of the right one.
    pub b: Component,
    /// Components of what is added.
    pub c: Component,
    pub result: Component,
    /// Whether sums that overflow stay at the largest value.
    pub saturating: bool,
    pub scope: MatrixScope,
    /// Where sizes are flexible (`VK_NV_cooperative_matrix2`), the invocations of the workgroups that may do it, 0 for any
    /// number: m, n and k are then what theirs must be multiples of. `None` where sizes are fixed.
    pub workgroup_invocations: Option<u32>,
}

/// `16x8x16 f16 f16 f32 f32`
impl fmt::Display for MatrixProduct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { m, n, k, a, b, c, result, saturating, scope, workgroup_invocations } = self;
        write!(f, "{m}x{n}x{k} {a} {b} {c} {result}")?;
        if *saturating {
            write!(f, " saturating")?;
        }
        match scope {
            MatrixScope::Subgroup => {}
            MatrixScope::Workgroup => write!(f, " workgroup")?,
            MatrixScope::Unknown(number) => write!(f, " scope {number}")?,
        }
        match workgroup_invocations {
            None => Ok(()),
            Some(0) => write!(f, " multiples"),
            Some(invocations) => write!(f, " multiples by {invocations} invocations"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_says_what_it_is() {
        let product = MatrixProduct {
            m: 16,
            n: 8,
            k: 32,
            a: Component::I8,
            b: Component::U8,
            c: Component::I32,
            result: Component::I32,
            saturating: true,
            scope: MatrixScope::Subgroup,
            workgroup_invocations: None,
        };
        assert_eq!(product.to_string(), "16x8x32 i8 u8 i32 i32 saturating");
        let flexible = MatrixProduct {
            saturating: false,
            scope: MatrixScope::Workgroup,
            workgroup_invocations: Some(256),
            c: Component::Unknown(77),
            ..product
        };
        assert_eq!(flexible.to_string(), "16x8x32 i8 u8 component type 77 i32 workgroup multiples by 256 invocations");
    }
}
