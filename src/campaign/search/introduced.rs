//! What is said before a search begins: what is searched, what could be, and what is assumed.

use super::spec::{Search, usage};
use crate::error::Error;
use crate::model::Failure;
use crate::shader::size_macros;
use crate::subject::{CONSTANT_AXIS, KernelSpec, LOCAL_SIZE_AXES, UserKernel};
use crate::tuning::search::Budget;

impl Search<'_> {
    pub fn introduce(&self, kernel: &mut UserKernel) -> Result<(), Error> {
        let progress = &self.campaign.voice.progress;
        let usage = |failure: Failure| usage(&failure);
        let said = self.summary(kernel);
        // Of a dry run it is a part of the answer.
        if self.campaign.settings.is_dry {
            progress.answer(&said);
        } else {
            progress.note(&said);
        }
        progress.notes(kernel.note().map_err(usage)?);
        progress.notes(self.macro_sizes(kernel));
        progress.notes(self.one_rows(kernel).map_err(usage)?);
        for doubt in kernel.doubts().map_err(usage)? {
            progress.note(&format!("warning: {}", doubt.words()));
        }
        self.tell_assumed(kernel);
        progress.notes(self.held(kernel).map_err(usage)?);
        Ok(())
    }

    fn summary(&self, kernel: &UserKernel) -> String {
        let axes: Vec<String> = self.space.axes().iter().map(|axis| format!("{} x{}", axis.name, axis.values.len())).collect();
        let budget = match self.budget {
            Budget::Count(count) if count < self.space.len() => format!(", {count} of them"),
            Budget::Count(_) => String::new(),
            Budget::Time(time) => format!(", for {}", humantime::format_duration(time)),
        };
        let (name, count, axes, strategy) = (kernel.name(), self.space.len(), axes.join(", "), self.strategy.as_str());
        format!("{name}: {count} configurations ({axes}), {strategy}{budget}")
    }

    /// Axes that change a macro's number where it is the workgroup size, and nowhere else.
    fn macro_sizes(&self, kernel: &UserKernel) -> Vec<String> {
        let is_swept = |axis: &str| self.space.axes().iter().any(|own| own.name == axis && own.values.len() > 1);
        let named = LOCAL_SIZE_AXES.iter().zip(size_macros(&kernel.subject().shader));
        let note = |(axis, name): (&&str, Option<String>)| {
            let name = name.filter(|_| is_swept(axis))?;
            Some(format!(
                "note: {axis} is the shader's macro {name}, and where else that is used, it keeps its value: -D {name}=32,64,128 changes \
                 both"
            ))
        };
        named.filter_map(note).collect()
    }

    fn tell_assumed(&self, kernel: &mut UserKernel) {
        // Where the shader as it is written can't be, its configurations say what they lack.
        let members = kernel.assumed().unwrap_or_default();
        let told = |is_plain: bool| {
            let assumed = members.iter().filter_map(|member| Some((member, member.assumed.as_ref()?)));
            // Whoever calls one `n` means n.
            let meant = assumed.filter(|(member, assumed)| (member.name == **assumed) == is_plain);
            let each: Vec<String> =
                meant.map(|(member, assumed)| format!("{} ({}) = {assumed}", member.name, member.ty)).collect();
            (!each.is_empty()).then(|| format!("assumed: {}; --push NAME=VALUE says otherwise", each.join(", ")))
        };
        let progress = &self.campaign.voice.progress;
        told(false).into_iter().for_each(|words| progress.note(&words));
        told(true).into_iter().for_each(|words| progress.detail(&words));
    }

    /// The specialization constants that no axis has.
    fn held(&self, kernel: &mut UserKernel) -> Result<Option<String>, Failure> {
        let is_axis =
            |name: &String| self.space.axes().iter().any(|axis| axis.name.strip_prefix(CONSTANT_AXIS) == Some(name.as_str()));
        let candidates = kernel.candidates()?;
        let held = candidates.iter().filter(|constant| !is_axis(&constant.name));
        let held: Vec<String> =
            held.map(|constant| format!("{} ({} = {})", constant.name, constant.ty, constant.default)).collect();
        Ok((!held.is_empty()).then(|| format!("held at their defaults: {}; --axis NAME=VALUES tunes them", held.join(", "))))
    }

    /// Directions that the invocations or the shader's code have and the workgroup, as it is written, doesn't: a literal 1 may be a choice,
    /// or the shader's need.
    fn one_rows(&self, kernel: &mut UserKernel) -> Result<Vec<String>, Failure> {
        let (written, used) = (kernel.local_size()?, kernel.used_directions()?);
        let is_swept = |axis: &str| self.space.axes().iter().any(|own| own.name == axis);
        let KernelSpec { threads, groups, .. } = kernel.subject();
        let note = |(i, axis): (usize, &&str)| match (threads, groups) {
            _ if written[i].is_some() || is_swept(axis) => None,
            (Some(threads), _) if threads[i].trim() != "1" => Some(format!(
                "{axis} stays 1, as the shader says, though --threads has {} in that direction: --axis {axis}=1,2,4,8 tries other \
                 sizes",
                threads[i].trim()
            )),
            (None, None) if used[i] => {
                let (direction, flag) = [("x", "X"), ("y", "X,Y"), ("z", "X,Y,Z")][i];
                Some(format!(
                    "the shader uses the {direction} of gl_GlobalInvocationID or gl_WorkGroupID, which is 0 in a single row of \
                     invocations: --threads {flag} gives more"
                ))
            }
            _ => None,
        };
        Ok(LOCAL_SIZE_AXES.iter().enumerate().filter_map(note).collect())
    }
}
