//! Whole runs on real drivers, under the validation layer with synchronization validation: the catalogue, and sizes at the edges.
//!
//! LANESCOPE_TEST_DRIVERS names the drivers that must be there (`eval "$(scripts/drivers.sh)"` sets it); where it doesn't, any
//! usable device will do, and none is a failure.

use std::collections::{BTreeMap, BTreeSet};

use lanescope::experiments::{CATALOGUE, Setting};
use lanescope::model::{AxisKind, AxisValue, DeviceInfo, Preset};
use lanescope::record::Record;

use crate::support::{Found, devices, devices_in_turn, little_work, ran, rows, typed};

/// Runs on one device under validation, and demands that nothing fails: every row is measured and checked whole, or skipped with
/// the limit that it would break, and no message of the layer shows up anywhere.
fn profile(device: &Found, line: &str) -> Vec<Record> {
    let common = ["run", "--validation", "--preset=quick", "--max-time=5ms", "--format=csv", "--device", &device.index];
    let ran = ran(&[&common[..], &typed(line)].concat()).says(0, &[]);
    let is_message =
        |line: &&str| ["VUID", "alidation", "SYNC-", "UNASSIGNED", "rror", "panicked"].iter().any(|word| line.contains(word));
    assert_eq!(ran.err.lines().find(is_message), None, "{line} on {}", device.driver);
    let rows = rows(&ran.out);
    assert!(!rows.is_empty());
    for row in &rows {
        let name = format!("{} {} {} on {}", row.experiment, row.variant, row.axis_values, device.driver);
        assert_eq!(row.validation, Some(true), "{name}");
        assert!(row.layers.contains("VK_LAYER_KHRONOS_validation"), "{name}: layers {}", row.layers);
        match row.status.as_str() {
            "ok" if row.row_kind == "derived" => assert!(row.value.is_some() && !row.check_note.is_empty(), "{name}"),
            "ok" => check_measured(row, &name),
            // A limit with its value and what is needed of it, or the feature that isn't there; a derived figure says why it has none.
            "skipped" if row.row_kind == "derived" => assert!(!row.reason.is_empty() && row.value.is_none(), "{name}"),
            "skipped" => {
                let names_what_lacks = row.reason.contains("the case needs ");
                assert!(names_what_lacks && row.value.is_none(), "{name}: {}", row.reason);
            }
            status => panic!("{name}: {status}: {}", row.reason),
        }
    }
    rows
}

/// What holds of any measured row, however fast the device is.
fn check_measured(row: &Record, name: &str) {
    let may_compute_nothing = ["calibration/", "dispatch/"].iter().any(|family| row.experiment.starts_with(family));
    if may_compute_nothing && row.checked == "false" {
        assert!(!row.check_note.is_empty(), "{name}");
    } else {
        assert_eq!(row.checked, "true", "{name}");
    }
    assert!(["device", "host"].contains(&row.timer.as_str()), "{name}");
    assert!(row.rounds >= Some(6) && row.samples >= row.rounds, "{name}");
    // What is measured of the timer itself has no pass, so no passes per sample either.
    let has_passes = !["calibration/timer", "calibration/clock"].contains(&row.experiment.as_str());
    assert_eq!(row.batch.is_some_and(|batch| batch > 0), has_passes, "{name}");
    assert!(row.value.is_some_and(|value| value > 0.0), "{name}: {:?}", row.value);
    let Some(time) = row.time_ns else {
        assert_eq!(row.metric, "clock_rate", "{name}");
        return;
    };
    let in_order = [row.time_min_ns, row.time_p05_ns, row.time_p95_ns, row.time_max_ns].map(|time| time.unwrap());
    // On a busy machine a sample may be shorter than what is taken off each.
    assert!(in_order.is_sorted(), "{name}: {in_order:?}");
    assert!(row.ci_low_ns.unwrap() <= time && time <= row.ci_high_ns.unwrap(), "{name}");
    for (amount, rate) in [
        (row.bytes_per_pass, row.gb_per_s),
        (row.ops_per_pass, row.gop_per_s),
        (row.flops_per_pass, row.gflop_per_s),
        (row.items_per_pass, row.gitems_per_s),
    ] {
        let of = amount.map(|amount| f64::from(u32::try_from(amount).unwrap()) / time);
        assert_eq!(of, rate, "{name}");
    }
}

/// How many of these are measured and right, whether they are derived or not.
fn right(rows: &[Record]) -> usize {
    rows.iter().filter(|row| row.status == "ok").count()
}

/// Those that have a time of their own, or would have one: what is derived follows from others.
fn of_kernels(rows: &[Record]) -> Vec<&Record> {
    rows.iter().filter(|row| row.row_kind == "measured").collect()
}

/// How many rows of kernels there are, all of them right, but for those that are skipped for this reason.
fn right_or_lacking(device: &Found, line: &str, lacks: impl Fn(&Record) -> bool) -> usize {
    let rows = profile(device, line);
    let own = of_kernels(&rows);
    let is_fine = |row: &&Record| row.status == "ok" || row.status == "skipped" && lacks(row);
    assert!(own.iter().all(is_fine), "{line} on {}", device.driver);
    own.len()
}

/// How many rows of kernels are right.
fn measured(device: &Found, line: &str) -> usize {
    of_kernels(&profile(device, line)).iter().filter(|row| row.status == "ok").count()
}

/// All operations of `memory/stream`, of which the overview has a few.
const STREAM: &str = "memory/stream -a op=read,init,copy,scale,triad,3-point,5-point";

/// Every default case of the quick overview on every device, and what has to hold between them.
#[test]
fn the_catalogue_is_right_on_every_driver() {
    let mut ids: BTreeMap<(String, String, String), BTreeSet<String>> = BTreeMap::new();
    for device in devices() {
        // A GPU's default sizes would keep the twins of an unoptimized build busy for minutes.
        let sizes = if device.is_cpu { Vec::new() } else { little_work() };
        let rows = profile(&device, &sizes.iter().map(|size| format!("-a {size} ")).collect::<String>());
        assert_covers_the_catalogue(&rows, &device.driver);
        assert!(right(&rows) > 40, "on {}", device.driver);
        for row in rows {
            ids.entry((row.experiment, row.variant, row.axis_values)).or_default().insert(row.case_id);
        }
    }
    let torn: Vec<_> = ids.iter().filter(|(_, ids)| ids.len() != 1).collect();
    assert!(torn.is_empty(), "a case has several ids: {torn:#?}");
}

/// What the overview leaves out: operations of each class, in subgroups that lack lanes as well.
#[test]
fn every_class_of_subgroup_operations_is_right() {
    let ops = "op=elect,broadcast,shuffle_xor,shuffle_up,rotate,rotate_clustered,clustered_add,quad_swap_horizontal";
    for device in devices_in_turn() {
        let rows = profile(&device, &format!("subgroup/ops -a {ops} -a chain=32"));
        let ok: BTreeSet<&AxisValue> = rows.iter().filter(|row| row.status == "ok").map(|row| &row.by_axis["op"]).collect();
        assert!(ok.len() >= 5, "on {}: {ok:?}", device.driver);
    }
}

/// Every experiment, variant and word of an axis that the overview has was measured; of what the device lacks, every row says so.
fn assert_covers_the_catalogue(rows: &[Record], driver: &str) {
    let device = DeviceInfo::mock();
    let setting = Setting { queue: None, device: &device, preset: Preset::Quick, seed: 1 };
    for experiment in CATALOGUE {
        let own: Vec<&Record> = rows.iter().filter(|row| row.experiment == experiment.name()).collect();
        for variant in experiment.quick_variants() {
            assert!(own.iter().any(|row| row.variant == *variant), "no {}:{variant} on {driver}", experiment.name());
        }
        for axis in experiment.axes(&setting) {
            let AxisKind::Choices(_) = axis.kind else { continue };
            for word in &axis.defaults {
                let of_word: Vec<_> = own.iter().filter(|row| row.by_axis[axis.name.as_ref()] == *word).collect();
                let (name, axis) = (experiment.name(), &axis.name);
                assert!(!of_word.is_empty(), "no {name} with {axis}={word} on {driver}");
                let lacks = of_word.iter().all(|row| row.status == "skipped" && !row.reason.starts_with("max"));
                assert!(lacks || of_word.iter().any(|row| row.status == "ok"), "{name} with {axis}={word} on {driver}");
            }
        }
    }
}

#[test]
fn sizes_that_no_workgroup_divides_are_right() {
    for device in devices_in_turn() {
        let largest = device.largest_workgroup;
        let edges = format!("local_size_x=1,7,64,{largest}");
        let tile = "workgroup/tile2d -a image_size=100";
        for (line, count) in [
            (format!("workgroup/linear -a n=1,1000,1001 -a {edges}"), 12),
            (format!("{STREAM} -a n=1000 -a width=1,4 -a local_size_x=48 -a unroll=1,8"), 7 * 4),
            (format!("{STREAM} -a n=1001 -a width=1 -a {edges}"), 7 * 4),
            (format!("{tile} -a local_size_x=1,3,16 -a local_size_y=1,7,16"), 2 * 9),
            // All but largest x largest.
            (format!("{tile} -a local_size_x=1,{largest} -a local_size_y=1,{largest}"), 2 * 3),
        ] {
            assert_eq!(right(&profile(&device, &line)), count, "{line}");
        }
        let rows = profile(&device, "algo/transpose -a matrix_size=1,70 -a tile=8,32 -a local_size_x=8,12 -a local_size_y=5");
        // Subgroup shuffles need shapes that fill subgroups.
        assert_eq!(of_kernels(&rows).iter().filter(|row| row.status == "ok" && row.variant != "shuffle").count(), 5 * 8);
    }
}

/// Sizes that no tile divides, workgroups that fill no subgroup, and the worst order of tiles, in which workgroups compute all that
/// they look back for.
#[test]
fn arrays_in_tiles_of_any_size_are_right() {
    for device in devices_in_turn() {
        for (ladder, variants) in [("algo/scan:*", 4), ("algo/compact:*", 5)] {
            let line = format!("{ladder} -a n=1,1001 -a local_size_x=1,7,48 -a items=4");
            assert_eq!(measured(&device, &line), variants * 2 * 3, "{ladder} on {}", device.driver);
        }
        let reversed = "-a order=reversed -a spins=0,10 -a n=1001 -a local_size_x=1,12 -a items=8";
        let rows = profile(&device, &format!("algo/scan:look_back algo/compact:look_back {reversed}"));
        let measured: Vec<&Record> = of_kernels(&rows).into_iter().filter(|row| row.status == "ok").collect();
        assert_eq!(measured.len(), 2 * 4, "on {}", device.driver);
        // The first workgroup finds nothing of what lies before the last tile.
        let counts = measured.iter().map(|row| row.check_note.split_once(" fallbacks").unwrap().0.parse::<u32>().unwrap());
        assert!(counts.into_iter().all(|count| count > 0), "on {}", device.driver);
    }
}

/// Keys that fill no tile, in workgroups that fill no subgroup, in each way of sorting; and where no tile waits for another one.
#[test]
fn any_number_of_keys_is_sorted() {
    for device in devices_in_turn() {
        for (filter, count) in [("algo/sort:* -a spins=99", 4 * 4), ("algo/sort:onesweep -a spins=0", 4)] {
            let line = format!("{filter} -a n=1,301 -a local_size_x=7,48 -a items=2 -a payload=word -a order=few");
            assert_eq!(measured(&device, &line), count, "{filter} on {}", device.driver);
        }
    }
}

/// Sizes that fill no workgroup, and a grid that is folded where the device's x is short, in all that reads and writes memory.
#[test]
fn memory_of_any_size_is_right() {
    const ARRAYS: &str = "memory/gather memory/scatter memory/layout memory/dtype memory/misaligned";
    for device in devices_in_turn() {
        for axes in ["-a n=8,1000 -a local_size_x=7,48 -a unroll=8", "-a n=70000 -a local_size_x=1 -a unroll=1"] {
            let rows = profile(&device, &format!("{ARRAYS} {axes}"));
            let lacks = |row: &Record| row.status == "skipped" && row.reason.contains("is missing");
            assert!(rows.iter().all(|row| row.status == "ok" || lacks(row)), "on {}", device.driver);
            let measured: BTreeSet<&str> = rows.iter().filter(|row| row.status == "ok").map(|row| &*row.experiment).collect();
            assert_eq!(measured, ARRAYS.split(' ').collect(), "on {}", device.driver);
        }
        let rows = profile(&device, "memory/row_column -a matrix_size=1,70 -a local_size_x=1,7,64 -a unroll=1,8");
        assert_eq!(right(&rows), 3 * 12);
        let largest = format!("local_size_x=1,48,{}", device.largest_workgroup);
        let rows = profile(&device, &format!("memory/reuse -a groups=3 -a reuse=1,64 -a {largest}"));
        assert_eq!(right(&rows), 2 * 6);
    }
}

/// The overview has a few of the many paths by which a shader can read. All others are held to the same: once each, and through arrays,
/// in both orders, that no workgroup divides, and in grids that are folded where the device's x is short.
#[test]
fn every_path_is_right() {
    for device in devices_in_turn() {
        for (line, count) in [
            ("load/path:* -a n=1000 -a local_size_x=48 -a loads=32 -a pattern=linear", 58),
            ("load/stream:* -a order=line -a array_bytes=50000 -a local_size_x=7 -a invocation_bytes=64 -a unroll=2,4", 2 * 39),
            ("load/stream:* -a order=line -a array_bytes=1120000 -a local_size_x=1 -a invocation_bytes=16 -a unroll=1", 39),
        ] {
            let rows = profile(&device, line);
            let lacks = |row: &&Record| {
                row.status == "skipped"
                    && (row.reason.contains("format") || !line.contains("path") && row.reason.contains("max"))
            };
            assert_eq!(rows.len(), count);
            assert!(rows.iter().all(|row| row.status == "ok" || lacks(&row)), "{line} on {}", device.driver);
            assert!(rows.iter().filter(lacks).count() < 20, "{line} on {}", device.driver);
        }
        let rows = profile(&device, "load/stream:sampled_fetch_* -a order=tile -a array_bytes=65536,49152");
        assert!(right(&rows) >= 10, "on {}", device.driver);
    }
}

/// The overview has one form of each. All others are held to the same, at sizes that fill no subgroup and divide nothing.
#[test]
fn every_form_of_workgroups_and_of_their_memory_is_right() {
    for device in devices_in_turn() {
        for (line, count) in [
            ("workgroup/tile3d -a=order=row,column,layer -a=volume_size=11 -a=local_size_x=1,5 -a=local_size_z=3", 6),
            ("workgroup/divergence -a=pattern=uniform,alternate,block,random -a=branches=1,5,32 -a=local_size_x=1,44", 24),
            ("workgroup/persistent:* -a=lengths=even,uneven -a=groups=1,7,50 -a=blocks=47 -a=local_size_x=9", 18),
            ("workgroup/occupancy -a=n=1,1000 -a=spoiler_bytes=4,7,16384 -a=local_size_x=1,48", 12),
            ("workgroup/registers -a=live_values=2,3,40 -a=turns=1,5 -a=local_size_x=1,33", 12),
            ("shared/bandwidth -a=op=read,write,read_modify_write -a=width=1,2,4 -a=local_size_x=1,33", 18),
            ("shared/tile:* -a=tile=8,16,32,64 -a=iterations=1,17 -a=local_size_x=1,33", 48),
        ] {
            // A tile of 64 x 65 words is more than the least that devices have.
            let rows = right_or_lacking(&device, line, |row| row.reason.starts_with("maxComputeSharedMemorySize"));
            assert_eq!(rows, count, "{line} on {}", device.driver);
        }
        let walks = "shared/latency shared/capacity -a local_size_x=1,7,64,100 -a window_bytes=800,2000 -a hops=16,816";
        assert_eq!(measured(&device, walks), 2 * 16);
    }
}

/// Sizes that no load, tile or workgroup divides, and workgroups that fill no subgroup.
#[test]
fn reductions_of_any_size_are_right() {
    for device in devices_in_turn() {
        let odd = "algo/reduce:* algo/argmax:* -a=n=1,1003 -a=local_size_x=1,12,100 -a=items=4 -a=data=random,ascending";
        let rows = right_or_lacking(&device, odd, |row| row.reason.contains("shaderInt64 is missing"));
        assert_eq!(rows, 7 * 6 + 4 * 12, "on {}", device.driver);
        // A tree of workgroups of one needs more than a word for each.
        let rows = profile(&device, "algo/reduce:sequential -a=n=1,2 -a=local_size_x=1 -a=items=1");
        let count = |status: &str| of_kernels(&rows).iter().filter(|row| row.status == status).count();
        assert_eq!((count("ok"), count("skipped")), (1, 1), "on {}", device.driver);
    }
}

/// Layers that no tile and no vector divides, in workgroups that fill no subgroup, of both types.
#[test]
fn convolutions_of_any_size_are_right() {
    let layers = "-a=layer=1x7x5x3x3 -a=images=2 -a=image_size=6 -a=channels=1,12 -a=filters=5,8";
    let shapes = "-a=filter_size=1,3 -a=type=f32,f16_f32 -a=local_size_x=3 -a=local_size_y=6";
    for device in devices_in_turn() {
        let count = measured(&device, &format!("algo/conv2d:* {layers} {shapes}"));
        assert_eq!(count, 4 * (2 * 2) * (2 * 2), "on {}", device.driver);
    }
}

/// Pictures that no tile divides, smaller than the filter as well, in workgroups that fill no subgroup.
#[test]
fn pictures_of_any_size_are_blurred_right() {
    let pictures = "-a=image_size=1,29 -a=radius=0,5 -a=filter=gaussian,box -a=items=4 -a=segment=8 -a=local_size_x=5";
    for device in devices_in_turn() {
        let rows = right_or_lacking(&device, &format!("algo/blur:* {pictures} -a=local_size_y=3"), |row| {
            row.variant == "running" && row.by_axis["filter"] == "gaussian".into()
        });
        assert_eq!(rows, 6 * 2 * 2 * 2, "on {}", device.driver);
        // A tile with its halo that workgroup memory doesn't hold.
        let large = "-a=image_size=29 -a=radius=64 -a=filter=gaussian -a=items=16 -a=local_size_x=8 -a=local_size_y=8";
        let rows = profile(&device, &format!("algo/blur:tiled {large}"));
        let reasons: Vec<&str> = of_kernels(&rows).iter().map(|row| row.reason.as_str()).collect();
        assert!(matches!(reasons[..], [reason] if reason.contains("maxComputeSharedMemorySize")), "{reasons:?}");
    }
}

/// Products that no tile and no vector divides, in workgroups that fill no subgroup: every type, each factor by rows and by columns, by vectors
/// and element by element; and every rung, also where all tiles and vectors are whole.
#[test]
fn products_of_any_size_are_right() {
    let tile = "-a=matrix_size=4 -a=local_size_x=3 -a=local_size_y=2 -a=items_m=4 -a=items_n=4 -a=tile_k=4 -a=data=whole";
    let odd = "-a=rows=17 -a=columns=13 -a=inner=9 -a=type=f32,f16_f32,f16_f16,bf16_f32,i8_i32";
    for device in devices_in_turn() {
        for (line, count) in [
            // By vectors, both factors transposed: one is loaded along what is summed, the other one across it.
            (format!("algo/matmul:buffered {odd} -a=transposed=both"), 5),
            (format!("algo/matmul:blocked {odd} -a=transposed=left,right"), 5 * 2),
            (
                "algo/matmul:{naive,tiled,blocked,vector,buffered} -a=rows=16 -a=columns=24 -a=inner=1,8 -a=type=f32 \
                 -a=transposed=neither"
                    .to_owned(),
                5 * 2,
            ),
        ] {
            let rows =
                right_or_lacking(&device, &format!("{line} {tile}"), |row| row.reason.contains("shaderFloat16 is missing"));
            assert_eq!(rows, count, "{line} on {}", device.driver);
        }
    }
}

#[test]
fn a_size_beyond_the_limit_is_skipped() {
    for device in devices_in_turn() {
        let beyond = device.largest_workgroup + 1;
        let rows = profile(&device, &format!("workgroup/linear memory/stream -a n=64 -a width=1 -a local_size_x={beyond}"));
        assert!(rows.iter().all(|row| row.status == "skipped"));
    }
}

#[test]
fn a_grid_beyond_the_limit_of_one_dimension_is_folded() {
    // 265 x 265 tiles, all whole: workgroups behind the last one have nowhere to store.
    let product = "algo/matmul:buffered -a=rows=1060 -a=columns=1060 -a=inner=4 -a=matrix_size=4 -a=type=f32 -a=transposed=neither \
                   -a=local_size_x=1 -a=local_size_y=1 -a=items_m=4 -a=items_n=4 -a=tile_k=4 -a=data=whole";
    for device in devices_in_turn() {
        let lines = [
            "workgroup/linear -a n=70000 -a local_size_x=1",
            "memory/stream -a n=70000 -a local_size_x=1 -a width=1 -a unroll=1",
            product,
        ];
        for row in lines.into_iter().flat_map(|line| profile(&device, line)) {
            let [x, y, z] = [row.groups_x, row.groups_y, row.groups_z].map(|count| count.unwrap());
            assert_eq!(row.status, "ok");
            assert!(x * y * z >= 70_000 && x <= device.most_groups, "{x} {y} {z}");
            assert_eq!(y > 1, device.most_groups < 70_000, "{x} {y} {z}");
        }
    }
}

#[test]
fn cold_caches_are_right_as_well() {
    let axes = "-a n=1000 -a image_size=100 -a local_size_x=8 -a local_size_y=8 -a width=4";
    for device in devices_in_turn() {
        let rows = profile(&device, &format!("--cold --evict-bytes=1Mi workgroup/linear workgroup/tile2d {STREAM} {axes}"));
        assert_eq!(rows.len(), 1 + 2 + 7);
        assert!(rows.iter().all(|row| row.status == "ok" && row.cache == "cold" && row.batch == Some(1)));
    }
}

/// Twice the work of a chain of arithmetic is exactly twice the operations, and seeds change data, not what is right.
#[test]
fn other_work_and_other_data_are_right_as_well() {
    for device in devices_in_turn() {
        let rows = profile(&device, "calibration/sentinel -a groups=1,3,64 -a steps=1,255,256,1000");
        assert_eq!(rows.iter().filter(|row| row.checked == "true").count(), 12);
        assert!(rows.iter().all(|row| row.ops_per_pass
            == Some(row.groups_x.unwrap() * 64 * row.by_axis["steps"].to_string().parse::<u64>().unwrap())));
        for seed in ["0", "77", "18446744073709551615"] {
            let axes = "-a n=1024 -a image_size=40 -a local_size_x=16 -a local_size_y=4";
            let rows = profile(&device, &format!("workgroup/* memory/stream --seed {seed} {axes}"));
            assert!(of_kernels(&rows).iter().all(|row| row.status == "ok" && row.checked == "true"));
        }
    }
}
