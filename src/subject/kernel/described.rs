//! What is known of a kernel before any configuration of it: its constants, its size, what makes it one and the same.

use std::collections::BTreeMap;

use super::{AssumedMember, CONSTANT_AXIS, LOCAL_SIZE_AXES, MACRO_AXIS, SUBGROUP_AXIS, UserKernel, said};
use crate::model::{AxisValue, Failure, Point, Subgroup};
use crate::shader::ScalarType;
use crate::subject::doubts::{Doubt, doubts};
use crate::subject::module;
use crate::subject::spec::{KernelSpec, Reference};
use crate::subject::variables::Variables;
use crate::units::parse_number;

#[derive(Clone, Debug, PartialEq)]
pub struct Constant {
    /// Its name, or its id where it has none.
    pub name: String,
    pub ty: ScalarType,
    pub default: String,
    /// Whether it is a whole number, whose values axes hold as numbers.
    pub is_count: bool,
}

impl Constant {
    pub fn accepts(&self, value: &str) -> bool {
        self.ty.parse(value).is_some()
    }

    /// The same value as its default is shown: `1.0` and `1` are one.
    pub fn shown(&self, value: &str) -> String {
        let shown = self.ty.parse(value).map(|bits| self.ty.shown(bits));
        // Bits that are shown as such are no value that an axis could be given.
        shown.filter(|shown| self.ty.parse(shown) == self.ty.parse(value)).unwrap_or_else(|| value.to_owned())
    }
}

impl UserKernel {
    /// Its constants, but for those that are the workgroup size.
    pub fn candidates(&mut self) -> Result<Vec<Constant>, Failure> {
        let source = self.source(&Point::default())?;
        let constants = source.constants().map(|constant| Constant {
            name: module::called(constant),
            ty: constant.ty,
            default: constant.ty.shown(constant.default_bits),
            is_count: constant.ty.is_whole(),
        });
        Ok(constants.collect())
    }

    pub fn constant(&mut self, name: &str) -> Result<Constant, Failure> {
        let source = self.source(&Point::default())?;
        let called = source.constant(name).map(module::called);
        let all = self.candidates()?;
        let found = all.iter().find(|constant| Some(&constant.name) == called.as_ref()).cloned();
        found.ok_or_else(|| {
            let names: Vec<&str> =
                LOCAL_SIZE_AXES.into_iter().chain(all.iter().map(|constant| constant.name.as_str())).collect();
            said(format!("there is no axis `{name}`: the shader has {} (macros come by --define)", names.join(", ")))
        })
    }

    /// The axis of the workgroup size that a constant of this name sets, where it sets one.
    pub fn size_axis(&mut self, name: &str) -> Result<Option<&'static str>, Failure> {
        let source = self.source(&Point::default())?;
        Ok(source.size_direction(name).map(|direction| LOCAL_SIZE_AXES[direction]))
    }

    /// Whether the shader leaves its workgroup size to whoever runs it: all of it is constants of its own that are 1.
    pub fn leaves_its_size_open(&mut self) -> Result<bool, Failure> {
        let source = self.source(&Point::default())?;
        Ok(source.local_size == [1; 3] && source.directions.contains(&true))
    }

    /// What tells the shader as it is written from others: the hash of its sources, or of its SPIR-V.
    pub fn hash(&mut self) -> Result<String, Failure> {
        let source = self.source(&Point::default())?;
        let module = &source.module;
        Ok(if module.source_hash.is_empty() { module.spirv_hash.clone() } else { module.source_hash.clone() })
    }

    /// The hash of a configuration's SPIR-V, before constants have their values.
    pub fn spirv_hash(&mut self, point: &Point) -> Result<String, Failure> {
        Ok(self.source(point)?.module.spirv_hash.clone())
    }

    /// The problem's size: `n`, and the members that are whole numbers whatever the configuration.
    pub fn size(&self) -> BTreeMap<String, u64> {
        let variables = Variables::new(self.subject.n);
        let whole = |(name, text): &(String, String)| Some((name.clone(), variables.integer(text, name).ok()?));
        let members = self.subject.members.iter().filter_map(whole);
        members.chain([("n".to_owned(), self.subject.n)]).collect()
    }

    /// What the user says of the problem, beside its size: two configurations alike that solve different ones are no same case.
    pub fn problem(&self) -> String {
        let KernelSpec { buffers, images, samplers, members, lengths, threads, groups, is_idempotent, full_subgroups, .. } =
            &self.subject;
        let buffers: Vec<String> = buffers.iter().map(ToString::to_string).collect();
        let images = images.iter().map(|spec| format!(" {spec}"));
        let further: String = images.chain(samplers.iter().map(|spec| format!(" {spec}"))).collect();
        // Nothing where there are none, so that rows of earlier versions stay the same cases.
        let lengths: String = lengths.iter().map(|(array, texts)| format!(" {array}={}", texts.join(","))).collect();
        let full = if *full_subgroups { " full_subgroups" } else { "" };
        format!("{buffers:?} {members:?} {threads:?} {groups:?} {is_idempotent}{further}{lengths}{full}")
    }

    /// What is assumed of members of push constants and uniform blocks of which the user says nothing.
    pub fn assumed(&mut self) -> Result<Vec<AssumedMember>, Failure> {
        self.make(&Point::default()).map(|made| made.unsaid)
    }

    /// Known faults of the device's driver that can show in the shader as it is written.
    pub fn doubts(&mut self) -> Result<Vec<Doubt>, Failure> {
        let source = self.source(&Point::default())?;
        Ok(doubts(source.reflection(), source.entry(), &self.device))
    }

    pub fn note(&mut self) -> Result<Option<String>, Failure> {
        Ok(self.source(&Point::default())?.note.clone())
    }

    /// Whether it, or the shader that is its reference, was taken though it isn't valid SPIR-V.
    pub fn is_invalid(&mut self) -> Result<bool, Failure> {
        let reference = match self.subject.reference.clone() {
            Reference::Shader(shader) => self.other(shader)?.source(&Point::default())?.module.is_invalid,
            _ => false,
        };
        Ok(reference || self.source(&Point::default())?.module.is_invalid)
    }

    /// The workgroup size that the shader is written with, where it has extent or may have.
    pub fn local_size(&mut self) -> Result<[Option<u32>; 3], Failure> {
        let source = self.source(&Point::default())?;
        Ok(std::array::from_fn(|i| source.directions[i].then_some(source.local_size[i])))
    }

    /// In which directions the shader tells invocations apart, as far as that is plain.
    pub fn used_directions(&mut self) -> Result<[bool; 3], Failure> {
        Ok(self.source(&Point::default())?.reflection().directions)
    }

    /// The shader as it is written, in the words of some axes.
    pub fn written(&mut self, axes: &[&str]) -> Result<Point, Failure> {
        let source = self.source(&Point::default())?;
        let constants = self.candidates()?;
        let value = |axis: &str| {
            if let Some(direction) = LOCAL_SIZE_AXES.iter().position(|name| *name == axis) {
                return Some(AxisValue::from(source.local_size[direction]));
            }
            if axis == SUBGROUP_AXIS {
                // Where there are several, the driver chooses, and doesn't say which one.
                let Subgroup { size, min_size, max_size, .. } = self.device.subgroup;
                return (min_size == max_size).then(|| AxisValue::from(size));
            }
            let text = match axis.strip_prefix(MACRO_AXIS) {
                Some(name) => self.subject.macros.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone()),
                None => {
                    let name = axis.strip_prefix(CONSTANT_AXIS)?;
                    let shared = self.subject.constants.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
                    let default =
                        constants.iter().find(|constant| constant.name == name).map(|constant| constant.default.clone());
                    shared.or(default)
                }
            }?;
            let number = parse_number(&text).filter(|number| number.to_string() == text);
            Some(number.map_or_else(|| AxisValue::Choice(text.into()), AxisValue::Integer))
        };
        Ok(Point::new(axes.iter().filter_map(|axis| Some(((*axis).to_owned().into(), value(axis)?)))))
    }
}
