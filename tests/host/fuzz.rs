//! The checks of the fuzz targets (`fuzz/`, scripts/fuzz.sh), on few inputs, and the inputs that fuzzing begins with.

mod axes;
pub mod mutate;
mod protocol;
mod rows;
pub mod spirv;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::Duration;

use crate::support::{cases_of, setting};
use lanescope::experiments::CATALOGUE;
use lanescope::measure::{Call, CaseKey, Job, Order};
use lanescope::model::{AxisValue, DeviceInfo, Kernel, PipelineDetail, Preset};
use lanescope::plan::{Plan, Request};
use lanescope::shader::{Compiler, Library};
use lanescope::worker::protocol::{Request as protocol_of, write};
use lanescope::worker::{Identity, Opening};
use proptest::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rspirv::spirv::{Decoration, Op};

/// The words of every module that the default sweep of the mock device compiles, and of one with as many kinds of declarations
/// as fit, by the compiler's hash of them.
static MODULES: LazyLock<BTreeMap<String, Vec<u32>>> = LazyLock::new(|| {
    let device = DeviceInfo::mock();
    let plan = Plan::new(&Request::default(), setting(&device, Preset::Default)).unwrap();
    let everything = Library::embedded().with("everything.comp", include_str!("fuzz/everything.comp"));
    let mut compiler = Compiler::new(everything).unwrap();
    let kernels = plan.iter().filter_map(|planned| planned.case.ok()).flat_map(|case| case.kernels);
    let kernels = kernels.chain([Kernel::new("everything.comp", [1; 3])]);
    let compiled = kernels.map(|Kernel { source, macros, target, .. }| compiler.compile(&source, &macros, target).unwrap());
    let mut modules: BTreeMap<String, Vec<u32>> =
        compiled.map(|module| (module.spirv_hash.clone(), module.words.clone())).collect();
    // No compiler writes groups of decorations any more, but a module may have them.
    for words in modules.values_mut() {
        words.splice(5..5, group_of_decorations());
    }
    modules
});

/// A group of ids that nothing else uses, and two targets of it.
fn group_of_decorations() -> Vec<u32> {
    let instruction = |op: Op, operands: &[u32]| {
        let length = u32::try_from(operands.len() + 1).unwrap();
        [&[(length << 16) | op as u32], operands].concat()
    };
    let (group, targets) = (100_000, [100_001, 100_002]);
    [
        instruction(Op::Decorate, &[group, Decoration::Binding as u32, 7]),
        instruction(Op::DecorationGroup, &[group]),
        instruction(Op::GroupDecorate, &[group, targets[0], targets[1]]),
    ]
    .concat()
}

/// Rows of real devices, each with the header line of its file.
fn files_of_rows() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut files = Vec::new();
    let entries = [folder.join("v1"), folder].into_iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    for path in entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()) {
        let text = fs::read_to_string(path).unwrap();
        let (header, rows) = text.split_once('\n').unwrap();
        files.extend(rows.lines().step_by(20).map(|row| format!("{header}\n{row}\n")));
    }
    files
}

/// Requests in every form that the guides and the help show.
const REQUESTS: [&str; 12] = [
    "",
    "memory/*",
    "memory/stream",
    "shared/*\nworkgroup/linear",
    "calibration/timer:floor",
    "memory/{stream,stride}:*",
    "memory/stream\nwidth=1,2,4",
    "memory/stream\nop=copy,read\nn=4..64:+4",
    "workgroup/linear\nlocal_size_x=32..1024:*2\nn=2^20",
    "n=4Ki, 1Mi",
    "1..8,32..1024:*2,0..64:+16,2^12",
    "18446744073709551615",
];

/// What supervisor and worker say to each other while a case is measured on the mock device: either side's words.
static CONVERSATION: LazyLock<[Vec<u8>; 2]> = LazyLock::new(|| {
    let device = DeviceInfo::mock();
    let case = cases_of(&device, "memory/stride", &["n=64"]).remove(1);
    let key = CaseKey::from_case(&case);
    let opening = Opening {
        device: Identity::at_place(&device, 0),
        queue: None,
        detail: PipelineDetail::Code,
        is_robust: true,
        compile_threads: 2,
        seed: 1,
        preset: Preset::Quick,
        evict_bytes: None,
        dump: None,
        warm_up: Duration::from_millis(1),
        max_time: Duration::from_millis(1),
        deadline: None,
        timer: None,
        sentinel: None,
        process: 1,
        placement: Some(1),
        subject: None,
        kernels: Vec::new(),
        altered: Vec::new(),
    };
    let anticipated = vec![key.clone()];
    let job = Job { key: key.clone(), base: Some(key.clone()), sizes: None, is_checked: true };
    let unknown = Job { key: CaseKey { variant: "no such".to_owned(), ..key }, ..job.clone() };
    let call = Call {
        place: 0,
        left: Duration::from_millis(1),
        expected: Duration::from_secs(1),
        is_alone: false,
        most_samples: Some(5),
        is_glance: true,
    };
    let orders = [
        Order::Load { jobs: vec![job, unknown], share: Some(2), is_ahead: true },
        Order::Anticipate { keys: anticipated },
        Order::Size { calls: vec![call], is_race: true },
        Order::BeginRound { is_busy: true },
        Order::Visit { calls: vec![call, call] },
        Order::EndRound { batches: vec![1, 8], stays_busy: true },
        Order::Check { places: vec![0, 7] },
        Order::Begin { recovers: false },
        Order::Sample { place: 0, expected: Duration::ZERO },
        Order::End,
        Order::Unload,
    ];
    let requests = [protocol_of::Open(Box::new(opening))].into_iter().chain(orders.map(protocol_of::Order));
    let mut said = Vec::new();
    requests.chain([protocol_of::Close]).for_each(|request| write(&mut said, &request).unwrap());
    let mut worker = Command::new(env!("CARGO_BIN_EXE_lanescope"))
        .args(["worker", "--mock="])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // A worker whose supervisor is gone ends at once: its input stays open to the end.
    let (mut to, mut from, mut heard) = (worker.stdin.take().unwrap(), worker.stdout.take().unwrap(), Vec::new());
    to.write_all(&said).unwrap();
    from.read_to_end(&mut heard).unwrap();
    assert!(worker.wait().unwrap().success());
    [said, heard]
});

/// What requests call experiments, variants, axes and words.
fn names() -> BTreeSet<String> {
    let device = DeviceInfo::mock();
    let setting = setting(&device, Preset::Default);
    let mut names = BTreeSet::new();
    for experiment in CATALOGUE {
        names.insert(experiment.name().to_owned());
        names.extend(experiment.variants().iter().filter(|variant| !variant.is_empty()).map(|variant| format!(":{variant}")));
        for axis in experiment.axes(&setting) {
            names.insert(format!("{}=", axis.name));
            names.extend(axis.defaults.iter().filter(|value| matches!(value, AxisValue::Choice(_))).map(ToString::to_string));
        }
    }
    names
}

/// Writes the inputs that fuzzing begins with, into a folder for each target.
fn write_corpus(folder: &Path) {
    let write = |target: &str, name: &str, bytes: &[u8]| {
        let folder = folder.join(target);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(name), bytes).unwrap();
    };
    for (hash, words) in &*MODULES {
        write("spirv", hash, &words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<_>>());
    }
    for (i, rows) in files_of_rows().iter().enumerate() {
        write("rows", &format!("seed-{i}"), rows.as_bytes());
    }
    for (i, request) in REQUESTS.iter().enumerate() {
        write("axes", &format!("seed-{i}"), request.as_bytes());
    }
    for (i, said) in CONVERSATION.iter().flat_map(|said| said.split(|byte| *byte == b'\n')).enumerate() {
        write("protocol", &format!("seed-{i}"), said);
    }
    let words: Vec<String> = names().iter().map(|name| format!("{name:?}")).collect();
    fs::write(folder.join("axes.dict"), words.join("\n")).unwrap();
}

/// LANESCOPE_CORPUS names a folder that is to have it: scripts/fuzz.sh asks for that.
#[test]
fn what_fuzzing_begins_with_is_taken() {
    assert!(MODULES.len() > 20, "{}", MODULES.len());
    assert!(MODULES.values().all(|words| spirv::check(words)));
    assert!(files_of_rows().iter().all(|text| rows::check(text.as_bytes()) == 1));
    let understood = CONVERSATION.each_ref().map(|said| protocol::check(said));
    assert_eq!(understood, [13, 27]);
    let taken = REQUESTS.iter().filter(|request| axes::check(request)).count();
    assert_eq!(taken, 10, "all but those that are values alone");
    std::env::var_os("LANESCOPE_CORPUS").iter().for_each(|folder| write_corpus(Path::new(folder)));
}

#[test]
fn a_changed_module_is_often_still_one() {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let (mut all, mut described) = (0, 0);
    for words in MODULES.values() {
        for _ in 0..4 {
            let mut words = words.clone();
            mutate::change(&mut words, usize::MAX, &mut random);
            all += 1;
            described += usize::from(spirv::check(&words));
        }
    }
    assert!(described > all / 4 && described < all, "{described} of {all}");
}

/// Text after another text, from what numbers, ranges, lists and globs are made of.
fn request() -> impl Strategy<Value = String> {
    let pieces = "= , : .. :+ :* ^ Ki 0 1 2 8 1000000 18446744073709551615 * / { } [ ! memory stream n width local_size_x op copy read \
                  \u{7f} é";
    let piece = prop::sample::select(["\n", " "].into_iter().chain(pieces.split_whitespace()).collect::<Vec<_>>());
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn changed_modules_are_described_or_refused(which in any::<prop::sample::Index>(), seed in any::<u64>(), changes in 1..20) {
        let mut words = which.get(&MODULES.values().collect::<Vec<_>>()).to_vec();
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        for _ in 0..changes {
            mutate::change(&mut words, usize::MAX, &mut random);
        }
        spirv::check(&words);
    }

    #[test]
    fn changed_rows_are_read_or_refused(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(&b"\n\r,\";=09.-+eN \x00\xff"[..])), 1..6),
    ) {
        let mut text = which.get(&files_of_rows()).clone().into_bytes();
        for (place, byte) in changes {
            *place.get_mut(&mut text) = byte;
        }
        rows::check(&text);
    }

    #[test]
    fn changed_conversations_are_understood_or_not(
        side in 0..2_usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(&b"\n{}[]:,\"019.-eN \x00\xff"[..])), 1..9),
    ) {
        let mut said = CONVERSATION[side].clone();
        for (place, byte) in changes {
            *place.get_mut(&mut said) = byte;
        }
        protocol::check(&said);
    }

    #[test]
    fn requests_are_taken_or_refused(text in prop_oneof![request(), "\\PC{0,24}"]) {
        axes::check(&text);
    }
}
