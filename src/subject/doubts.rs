//! What is known of a device that makes a shader's results doubtful there, whatever they are compared with.

use crate::model::{DeviceInfo, Quirk};
use crate::shader::{EntryPoint, Reflection, SpecValues};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    pub quirk: Quirk,
    /// How many subgroup reductions and scans the shader has in one loop.
    pub reductions: u64,
}

impl Doubt {
    pub fn words(&self) -> String {
        let Quirk { name, what, .. } = &self.quirk;
        format!(
            "known driver fault {name}: {what}. The shader has {} in one loop. Results are compared with the reference's, which may \
             be wrong in the same way: --reference FILE compares them with right ones",
            self.reductions
        )
    }
}

pub(super) fn doubts(reflection: &Reflection, entry: &EntryPoint, device: &DeviceInfo) -> Vec<Doubt> {
    let reductions = reflection.most_reductions_in_a_loop(entry, &SpecValues::new());
    let shows = |quirk: &&Quirk| quirk.most_reductions.is_some_and(|most| reductions > most);
    device.quirks.iter().filter(shows).map(|quirk| Doubt { quirk: quirk.clone(), reductions }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::SpirvTarget;
    use crate::shader::{Compiler, Library};

    fn device(most_reductions: Option<u64>) -> DeviceInfo {
        let [name, what, link] = ["made-up", "it is wrong", "nowhere"].map(Into::into);
        let quirk = Quirk { name, what, link, most_iterations: None, most_reductions };
        DeviceInfo { quirks: vec![quirk], ..DeviceInfo::default() }
    }

    /// How many reductions of a loop are doubted on that device, in a shader with this body and these functions; 0 for none.
    fn doubted(functions: &str, body: &str, device: &DeviceInfo) -> u64 {
        let source = format!(
            "#version 460
            #extension GL_KHR_shader_subgroup_arithmetic : require
            #extension GL_KHR_shader_subgroup_clustered : require
            #extension GL_KHR_shader_subgroup_vote : require
            layout(local_size_x = 64) in;
            layout(constant_id = 0) const bool MORE = false;
            layout(binding = 0) buffer Y {{ uint y[]; }};
            {functions}
            void main() {{ uint x = y[0], z = 0; {body} y[1] = x + z; }}"
        );
        let mut compiler = Compiler::new(Library::embedded().with("reductions.comp", source)).unwrap();
        let module = compiler.compile("reductions.comp", &[], SpirvTarget::default()).unwrap();
        let found = doubts(&module.reflection, &module.reflection.entry_points[0], device);
        found.first().map_or(0, |doubt| doubt.reductions)
    }

    #[test]
    fn reductions_count_that_stand_in_one_iteration() {
        let device = device(Some(1));
        let of = |functions: &str, body: &str| doubted(functions, body, &device);
        let twice = "for (uint i = 0; i < x; ++i) { z += subgroupAdd(x + i); z ^= subgroupInclusiveMin(i); }";
        assert_eq!(of("", twice), 2);
        assert_eq!(of("", "for (uint i = 0; i < x; ++i) z += subgroupClusteredMax(i, 4) + subgroupExclusiveOr(z);"), 2);
        // One in an iteration, in each of two loops, and outside.
        let once = "for (uint i = 0; i < x; ++i) z += subgroupAdd(i);";
        assert_eq!(of("", &format!("{once} {once} z += subgroupAdd(x); z += subgroupMul(z);")), 0);
        // What is no reduction or scan.
        assert_eq!(of("", "for (uint i = 0; i < x; ++i) z += uint(subgroupAny(i == z)) + uint(subgroupAll(i > z));"), 0);
        // An iteration of the outer loop has those of the inner one.
        let nested = "for (uint i = 0; i < x; ++i) { z += subgroupAdd(i); for (uint j = 0; j < z; ++j) x += subgroupMax(j); }";
        assert_eq!(of("", nested), 2);
        // In functions, by each of their calls.
        let own = "uint own(uint x) { return subgroupAdd(x); }";
        assert_eq!(of(own, "for (uint i = 0; i < x; ++i) z += own(i) + own(z);"), 2);
        assert_eq!(of(own, "z = own(x) + own(z); for (uint i = 0; i < x; ++i) z += own(i);"), 0);
        let inside =
            "uint inside(uint x) { uint z = 0; for (uint i = 0; i < x; ++i) z += subgroupAdd(i) * subgroupAdd(z); return z; }";
        assert_eq!(of(inside, "z = inside(x);"), 2);
        // What control flow can't reach doesn't count.
        assert_eq!(of("", &format!("if (MORE) {{ {twice} }}")), 0);
    }

    #[test]
    fn a_device_without_the_fault_is_not_doubted() {
        let twice = "for (uint i = 0; i < x; ++i) z += subgroupAdd(x + i) ^ subgroupMin(i);";
        assert_eq!(doubted("", twice, &DeviceInfo::default()), 0);
        assert_eq!(doubted("", twice, &device(None)), 0);
        assert_eq!(doubted("", twice, &device(Some(2))), 0);
        assert_eq!(doubted("", twice, &device(Some(1))), 2);
        let words = Doubt { quirk: device(Some(1)).quirks.remove(0), reductions: 2 }.words();
        for part in ["made-up: it is wrong", "has 2 in one loop", "wrong in the same way", "--reference"] {
            assert!(words.contains(part), "{words}");
        }
    }
}
