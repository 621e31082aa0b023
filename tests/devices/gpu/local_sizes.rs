//! Shaders with a literal workgroup size run right under others.

use lanescope::shader::{specializable, with_local_size_ids};

use super::*;

/// Workgroup sizes of whose invocations `COUNT` is a multiple.
const SIZES: [[u32; 3]; 6] = [[16, 2, 1], [1, 1, 1], [8, 1, 1], [4, 4, 2], [64, 1, 1], [1, 1, 8]];
const COUNT: u32 = 256;

/// Every invocation writes what it sees of the size, and how many have counted themselves in its workgroup.
fn source(size: &str, total: &str) -> String {
    format!(
        "layout(local_size_x = 16, local_size_y = 2) in;
        layout(set = 0, binding = 0) writeonly buffer Output {{ uint result[]; }};
        {total}
        void main() {{
            {size}
            uint all = size.x * size.y * size.z;
            total[gl_LocalInvocationIndex] = 1;
            barrier();
            uint sum = 0;
            for (uint i = 0; i < all; ++i) sum += total[i];
            result[gl_WorkGroupID.x * all + gl_LocalInvocationIndex] = sum * 1000000 + size.x * 10000 + size.y * 100 + size.z;
        }}"
    )
}

/// The module with a size of one's own, as a case of as many workgroups as there is to do.
fn sized(module: &Arc<Module>, ids: [u32; 3], size: [u32; 3]) -> Prepared {
    let entries = (0..).zip(ids).map(|(i, id)| SpecializationEntry { id, offset: 4 * i, size: 4 });
    let specialized = Specialized {
        module: Arc::clone(module),
        entry: "main".into(),
        entries: entries.collect(),
        data: size.iter().flat_map(|extent| extent.to_ne_bytes()).collect(),
        local_size: size,
        bindings: module.reflection.bindings.clone(),
        shared_bytes: 256,
        push_bytes: 0,
        required_subgroup_size: None,
        full_subgroups: false,
    };
    let mut prepared = Builder::new(vec![output(COUNT.into())])
        .kernel("layout(set = 0, binding = 0) buffer Output { uint result[]; }; void main() {}", size, &[], &[0])
        .pass(dispatch(0, COUNT / size.iter().product::<u32>()))
        .done();
    prepared.kernels = vec![specialized];
    prepared
}

fn check(module: &Arc<Module>, ids: [u32; 3]) {
    on_each_device(|device| {
        for size in SIZES {
            let [x, y, z] = size;
            let expected = x * y * z * 1_000_000 + x * 10_000 + y * 100 + z;
            assert_eq!(run_and_read(device, &sized(module, ids, size), 0), vec![expected; COUNT as usize], "{size:?}");
            device.unload();
        }
    });
}

/// The whole of `gl_WorkGroupSize` follows; the shared array is as long as the longest size needs.
#[test]
fn a_rewritten_module_runs_under_every_size() {
    let literal = module(&source("uvec3 size = gl_WorkGroupSize;", "shared uint total[64];"));
    let (words, ids) = specializable(&literal.words, "main").unwrap();
    assert_eq!(ids.defaults, [16, 2, 1]);
    let reflection = Reflection::parse(&words).unwrap();
    let rewritten = Module {
        words,
        reflection,
        source_hash: String::new(),
        spirv_hash: String::new(),
        compile_time: Duration::ZERO,
        notes: Vec::new(),
        is_invalid: false,
    };
    check(&Arc::new(rewritten), ids.ids);
}

/// Parts of `gl_WorkGroupSize`, which the compiler folds where the size is literal, follow as well.
#[test]
fn a_rewritten_source_runs_under_every_size() {
    let total = "shared uint total[gl_WorkGroupSize.x * gl_WorkGroupSize.y * gl_WorkGroupSize.z];";
    let size = "uvec3 size = uvec3(gl_WorkGroupSize.x, gl_WorkGroupSize.y, gl_WorkGroupSize.z);";
    check(&module(&with_local_size_ids(&source(size, total), [0, 1, 2].map(Some))), [0, 1, 2]);
}
