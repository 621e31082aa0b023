//! The driver's pipeline statistics as cells: all of them as JSON, and the few that have a column of their own.

use serde_json::{Map, Value};

use super::Record;
use crate::model::{Case, Executable, PipelineStatistics};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Column {
    Registers,
    SpillBytes,
    CodeBytes,
}

/// The columns' figures by driver. What isn't listed stays in the column `statistics` alone, above all:
///
/// - NVIDIA's `Local Memory Size` is the address space of local memory (2^36 on an H100, whatever the kernel), and its `Stack
///   Size` holds arrays as well: neither tells spilled bytes.
/// - RADV's `Spilled SGPRs` go into lanes of vector registers, not to memory, and its `Scratch size` counts arrays too.
/// - Intel's `Max live registers` are those of a hardware thread, which runs 8, 16 or 32 invocations, and its `Spill count`
///   counts instructions, not bytes. Likewise NVK's spills.
///
/// A driver by its `VkDriverId`, its name of a figure, the column, and what its unit is in the column's.
const MEANINGS: [(&str, &str, Column, u64); 10] = [
    // Driver 580.159.04 on an H100, whose architecture allots registers to threads.
    ("NVIDIA_PROPRIETARY", "Register Count", Column::Registers, 1),
    ("NVIDIA_PROPRIETARY", "Binary Size", Column::CodeBytes, 1),
    // Mesa 22.3.6 and 25.0.7, radv_GetPipelineExecutableStatisticsKHR (src/amd/vulkan). ACO adds up the registers that its spill
    // instructions store, each of which is four bytes of every invocation (spill_vgpr in src/amd/compiler/aco_spill.cpp).
    ("MESA_RADV", "VGPRs", Column::Registers, 1),
    ("MESA_RADV", "Spilled VGPRs", Column::SpillBytes, 4),
    ("MESA_RADV", "Code size", Column::CodeBytes, 1),
    // Mesa 24, nvk_get_pipeline_executable_statistics (src/nouveau/vulkan).
    ("MESA_NVK", "Number of GPRs", Column::Registers, 1),
    ("MESA_NVK", "Code Size", Column::CodeBytes, 1),
    // The mock device, src/measure/mock.rs.
    ("MOCK", "Registers", Column::Registers, 1),
    ("MOCK", "Spilled bytes", Column::SpillBytes, 1),
    ("MOCK", "Code bytes", Column::CodeBytes, 1),
];

/// What drivers tell under names of their own, in common units; none where the driver tells none, or its executables disagree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    pub registers: Option<u64>,
    pub spill_bytes: Option<u64>,
    pub code_bytes: Option<u64>,
}

impl Figures {
    /// Of what a driver, by its `VkDriverId`, tells of a pipeline's executables.
    pub fn from_executables(driver_id: &str, executables: &[Executable]) -> Self {
        let figure = |column| figure(driver_id, column, executables);
        let (registers, spill_bytes, code_bytes) =
            (figure(Column::Registers), figure(Column::SpillBytes), figure(Column::CodeBytes));
        Self { registers, spill_bytes, code_bytes }
    }
}

/// A driver's statistics of an executable, by its own names; a name that comes again is numbered.
pub fn statistics_object(executable: &Executable) -> Map<String, Value> {
    executable.statistics.iter().fold(Map::new(), |mut object, (name, value)| {
        insert(&mut object, name, serde_json::json!(value));
        object
    })
}

impl Record {
    /// With the columns that the statistics of its only pipeline tell.
    pub(crate) fn of_kernel(self, kernel: &PipelineStatistics) -> Self {
        let json = json(&[""], std::slice::from_ref(kernel));
        self.told(&[kernel], json)
    }

    /// With the columns that pipeline statistics tell, those of each of the case's kernels in order: of the kernels that a pass
    /// dispatches, the most registers and spills that one of them has, and the code of them all.
    pub(crate) fn inspected(self, case: &Case, kernels: Option<&[PipelineStatistics]>) -> Self {
        let Some(kernels) = kernels else { return self };
        let timed: Vec<&PipelineStatistics> = case.timed_kernels().into_iter().filter_map(|at| kernels.get(at)).collect();
        let names: Vec<&str> = case.kernels.iter().map(|kernel| &kernel.source[..]).collect();
        self.told(&timed, json(&names, kernels))
    }

    fn told(self, timed: &[&PipelineStatistics], statistics: String) -> Self {
        let figures: Vec<Figures> =
            timed.iter().map(|kernel| Figures::from_executables(&self.driver_id, &kernel.executables)).collect();
        // Where the driver doesn't tell of one of them, it tells of no most and of no sum.
        let all = |of: fn(&Figures) -> Option<u64>| figures.iter().map(of).collect::<Option<Vec<u64>>>().unwrap_or_default();
        // A driver that chooses the size per pipeline tells it only here.
        let executables = timed.iter().flat_map(|kernel| &kernel.executables);
        let size = common(executables.map(|executable| Some(executable.subgroup_size)));
        Self {
            statistics,
            registers: all(|figures| figures.registers).into_iter().max(),
            spill_bytes: all(|figures| figures.spill_bytes).into_iter().max(),
            code_bytes: all(|figures| figures.code_bytes).into_iter().reduce(u64::saturating_add),
            subgroup_size: self.subgroup_size.or(size.filter(|size| *size > 0).map(u64::from)),
            ..self
        }
    }
}

/// A column's figure. Nobody knows which of several executables a dispatch runs, so they must agree.
fn figure(driver: &str, column: Column, executables: &[Executable]) -> Option<u64> {
    let (_, name, _, factor) = MEANINGS.iter().find(|(of, _, own, _)| *of == driver && *own == column)?;
    common(executables.iter().map(|executable| executable.get(name)?.count()?.checked_mul(*factor)))
}

fn common<T: PartialEq>(mut values: impl Iterator<Item = Option<T>>) -> Option<T> {
    let first = values.next()??;
    values.all(|value| value.as_ref() == Some(&first)).then_some(first)
}

/// One object: of the statistics where there is one executable, else with an object for each executable, named after it and,
/// where the case has several kernels, after its kernel. Empty where the driver tells nothing.
fn json(names: &[&str], kernels: &[PipelineStatistics]) -> String {
    let mut all = Map::new();
    for (place, kernel) in kernels.iter().enumerate() {
        for executable in &kernel.executables {
            let name = match names.get(place) {
                Some(source) if kernels.len() > 1 => format!("{source}: {}", executable.name),
                _ => executable.name.clone(),
            };
            insert(&mut all, &name, Value::Object(statistics_object(executable)));
        }
    }
    let object = match all.len() {
        0 => return String::new(),
        1 => all.into_iter().next().map(|(_, only)| only).unwrap_or_default(),
        _ => Value::Object(all),
    };
    object.to_string()
}

/// Nothing keeps a driver from using a name twice, and no value may hide another.
fn insert(object: &mut Map<String, Value>, name: &str, value: Value) {
    let numbered = (2..).map(|number| format!("{name} #{number}"));
    let free = std::iter::once(name.to_owned()).chain(numbered).find(|name| !object.contains_key(name));
    object.extend(free.map(|name| (name, value)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Kernel, Point, StatValue, Step};

    fn case(sources: &[&'static str]) -> Case {
        let kernels: Vec<Kernel> = sources.iter().map(|source| Kernel::new(source, [64, 1, 1])).collect();
        let dispatch = |kernel| [Step::Bind { kernel }, Step::Dispatch { groups: [1, 1, 1] }];
        let pass = (0..kernels.len()).flat_map(dispatch).collect();
        Case { kernels, pass, ..Case::new("test/statistics", &Point::default()) }
    }

    fn executable(name: &str, subgroup_size: u32, counts: &[(&str, u64)]) -> Executable {
        let statistics = counts.iter().map(|(name, count)| ((*name).to_owned(), StatValue::Unsigned(*count))).collect();
        Executable { name: name.to_owned(), subgroup_size, statistics, ..Executable::default() }
    }

    fn row(driver: &str, sources: &[&'static str], kernels: &[Vec<Executable>]) -> Record {
        let row = Record { driver_id: driver.to_owned(), ..Record::new() };
        let kernels: Vec<_> =
            kernels.iter().map(|executables| PipelineStatistics { executables: executables.clone() }).collect();
        row.inspected(&case(sources), Some(&kernels))
    }

    fn figures(row: &Record) -> [Option<u64>; 3] {
        [row.registers, row.spill_bytes, row.code_bytes]
    }

    /// As an H100 tells them with driver 580.159.04.
    #[test]
    fn of_nvidia_the_local_memory_is_no_spill() {
        let told = [
            ("Register Count", 40),
            ("Binary Size", 5632),
            ("Stack Size", 0),
            ("Local Memory Size", 1 << 36),
            ("Shared Memory Size", 4096),
        ];
        let row = row("NVIDIA_PROPRIETARY", &["a.comp"], &[vec![executable("Compute", 32, &told)]]);
        assert_eq!(figures(&row), [Some(40), None, Some(5632)]);
        assert_eq!(row.shared_bytes, None, "that column comes from reflection");
        assert_eq!(
            row.statistics,
            r#"{"Register Count":40,"Binary Size":5632,"Stack Size":0,"Local Memory Size":68719476736,"Shared Memory Size":4096}"#
        );
    }

    /// The names of Mesa 22.3.6.
    #[test]
    fn of_radv_a_spilled_vector_register_is_four_bytes() {
        let told = [
            ("Driver pipeline hash", 1),
            ("SGPRs", 128),
            ("VGPRs", 24),
            ("Spilled SGPRs", 5),
            ("Spilled VGPRs", 3),
            ("Code size", 400),
            ("LDS size", 4096),
            ("Scratch size", 1024),
        ];
        let row = row("MESA_RADV", &["a.comp"], &[vec![executable("Compute Shader", 64, &told)]]);
        assert_eq!(figures(&row), [Some(24), Some(12), Some(400)]);
        assert_eq!(row.subgroup_size, Some(64));
    }

    #[test]
    fn what_no_entry_explains_stays_in_the_json_alone() {
        let intel = executable("SIMD16 compute shader", 16, &[("Max live registers", 60), ("Spill count", 4)]);
        let row = row("INTEL_OPEN_SOURCE_MESA", &["a.comp"], &[vec![intel]]);
        assert_eq!(figures(&row), [None; 3]);
        assert_eq!(row.statistics, r#"{"Max live registers":60,"Spill count":4}"#);
    }

    #[test]
    fn a_subgroup_size_that_was_required_stays() {
        let row = Record { subgroup_size: Some(32), ..Record::new() };
        let executables = vec![executable("x", 64, &[])];
        let row = row.inspected(&case(&["a.comp"]), Some(&[PipelineStatistics { executables }]));
        assert_eq!(row.subgroup_size, Some(32));
    }

    #[test]
    fn executables_that_disagree_have_no_common_figure() {
        let wide = executable("wide", 64, &[("VGPRs", 24), ("Code size", 400)]);
        let narrow = executable("narrow", 32, &[("VGPRs", 32), ("Code size", 400)]);
        let row = row("MESA_RADV", &["a.comp"], &[vec![wide, narrow]]);
        assert_eq!((figures(&row), row.subgroup_size), ([None, None, Some(400)], None));
        assert_eq!(row.statistics, r#"{"wide":{"VGPRs":24,"Code size":400},"narrow":{"VGPRs":32,"Code size":400}}"#);
    }

    #[test]
    fn of_several_kernels_all_are_told_and_the_columns_have_the_most_registers_and_all_code() {
        let of = |registers| vec![executable("CS", 32, &[("VGPRs", registers), ("Code size", 100)])];
        let kernels = [of(8), of(24), of(16)];
        let sources = ["up.comp", "down.comp", "up.comp"];
        let row = row("MESA_RADV", &sources, &kernels);
        assert_eq!(figures(&row), [Some(24), None, Some(300)]);
        assert_eq!(
            row.statistics,
            r#"{"up.comp: CS":{"VGPRs":8,"Code size":100},"down.comp: CS":{"VGPRs":24,"Code size":100},"up.comp: CS #2":{"VGPRs":16,"Code size":100}}"#
        );
    }

    #[test]
    fn what_no_pass_dispatches_and_what_a_driver_leaves_out_has_no_columns() {
        let of = |counts: &[(&str, u64)]| PipelineStatistics { executables: vec![executable("CS", 32, counts)] };
        let kernels = [of(&[("VGPRs", 8), ("Code size", 100)]), of(&[("Code size", 50)])];
        let described = |case: &Case| {
            let row = Record { driver_id: "MESA_RADV".to_owned(), ..Record::new() };
            figures(&row.inspected(case, Some(&kernels)))
        };
        let both = case(&["pass.comp", "sweep.comp"]);
        assert_eq!(described(&both), [None, None, Some(150)]);
        let first = Case { pass: both.pass[..2].to_vec(), prepare: both.pass[2..].to_vec(), ..both };
        assert_eq!(described(&first), [Some(8), None, Some(100)]);
    }

    #[test]
    fn every_kind_of_value_is_json_and_none_hides_another() {
        let statistics = [
            ("a", StatValue::Boolean(true)),
            ("a", StatValue::Signed(-1)),
            ("b", StatValue::Real(0.5)),
            ("b", StatValue::Real(f64::NAN)),
        ];
        let statistics = statistics.map(|(name, value)| (name.to_owned(), value)).into();
        let row = row("x", &["a.comp"], &[vec![Executable { name: "x".to_owned(), statistics, ..Executable::default() }]]);
        assert_eq!((row.statistics.as_str(), row.subgroup_size), (r#"{"a":true,"a #2":-1,"b":0.5,"b #2":null}"#, None));
    }

    #[test]
    fn no_statistics_are_an_empty_cell() {
        assert_eq!(row("x", &["a.comp"], &[Vec::new()]).statistics, "");
        assert_eq!(row("x", &[], &[]).statistics, "");
    }

    #[test]
    fn no_statistic_means_two_things() {
        for (i, (driver, name, column, factor)) in MEANINGS.iter().enumerate() {
            let is_twin = |of: &str, other: &str, own: Column| of == *driver && (other == *name || own == *column);
            assert!(
                *factor > 0 && !MEANINGS[..i].iter().any(|(of, other, own, _)| is_twin(of, other, *own)),
                "{driver} {name}"
            );
        }
    }
}
