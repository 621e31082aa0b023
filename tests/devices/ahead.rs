//! Cases that are compiled on other threads before a bench comes to them, on every driver that is found, under the validation layer:
//! what is measured is the same.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use crate::support::cases_of;
use lanescope::measure::{Bench, CaseKey, Measured, Options, Pool, Rule, Session, Task};
use lanescope::model::{BLOCK_CASES, Case, DeviceInfo, PipelineDetail, Preset};
use lanescope::worker::{Host, Identity, Opening, Platform};

/// Races the blocks one after the other, each with the next one announced, the last one with cases that never come. Gives how long it
/// took as well.
fn race(host: &Host, device: &DeviceInfo, compile_threads: usize, blocks: &[&[Case]]) -> (Vec<Measured>, Duration) {
    let max_time = Duration::from_millis(30);
    let opening = Opening {
        subject: None,
        kernels: Vec::new(),
        altered: Vec::new(),
        device: Identity::at_place(device, device.index),
        queue: None,
        detail: PipelineDetail::None,
        is_robust: false,
        compile_threads,
        seed: 1,
        preset: Preset::Quick,
        evict_bytes: None,
        dump: None,
        warm_up: Duration::from_millis(10),
        max_time,
        deadline: None,
        timer: None,
        sentinel: None,
        process: 1,
        placement: Some(1),
    };
    let bench = host.open(&opening, || {}).unwrap_or_else(|failure| panic!("{}", failure.reason));
    assert_eq!(bench.compiles_ahead(), compile_threads > 0);
    let options = Options { rule: Rule::Race, max_noise: 0.1, max_time, seed: 1 };
    let mut session = Session::new(Pool::single(bench), options);
    let (mut all, started) = (Vec::new(), Instant::now());
    for (i, block) in blocks.iter().enumerate() {
        let next = blocks.get(i + 1).unwrap_or(&blocks[1]);
        session.anticipate(next.iter().map(CaseKey::from_case).collect());
        let tasks: Vec<Task> = block.iter().map(|case| Task { key: CaseKey::from_case(case), case, base: None }).collect();
        let outcomes = session.measure(&tasks, &mut |_| ControlFlow::Continue(()));
        all.extend(
            outcomes.into_iter().map(|outcome| outcome.unwrap().result.unwrap_or_else(|failure| panic!("{}", failure.reason))),
        );
    }
    (all, started.elapsed())
}

#[test]
#[expect(clippy::cast_precision_loss, reason = "cases are few")]
fn cases_compiled_ahead_are_measured_as_others_are() {
    let host = Host::load(&Platform::Vulkan { validation: true, driver: None }).unwrap_or_else(|error| panic!("{error}"));
    let devices = host.hello().devices;
    let usable: Vec<&DeviceInfo> = devices.iter().filter(|device| device.unusable.is_none()).collect();
    assert!(!usable.is_empty());
    for device in usable {
        let all = cases_of(device, "workgroup/linear", &["n=2^16,2^18", "local_size_x=1..1024:*2"]);
        assert!(all.len() > 8, "{}", all.len());
        let (first, second) = all.split_at((all.len() / 2).min(BLOCK_CASES));
        for threads in [0, 3] {
            let (measured, took) = race(&host, device, threads, &[first, second, &first[..2]]);
            assert_eq!(measured.len(), all.len() + 2);
            assert!(measured.iter().all(|measured| measured.value() > 0.0 && measured.pipeline_time > Duration::ZERO));
            let rate = measured.len() as f64 / took.as_secs_f64();
            println!("{}, {threads} threads: {rate:.0} cases a second", device.name);
        }
    }
    assert_eq!(host.messages(), Vec::<String>::new());
}
