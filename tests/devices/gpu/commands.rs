//! Commands of the API do what they say in a pass, and the host's costs leave right results behind.

use lanescope::model::{Dependency, HostCost, Measurand, TimestampStage, Wait};

use super::*;

/// Takes a word on, by a factor that is a constant and a term that is pushed.
const STEP: &str = "
    layout(constant_id = 3) const uint FACTOR = 1;
    layout(push_constant) uniform Push { uint index; uint term; };
    layout(set = 0, binding = 0) buffer Words { uint words[]; };
    void main() { words[index] = words[index] * FACTOR + term; }";

fn push(index: u32, term: u32) -> Step {
    Step::push_words(&[index, term])
}

const ONE: Step = Step::Dispatch { groups: [1, 1, 1] };

/// Two kernels of one layout, on outputs of their own; a pass that starts from zero.
fn two_kernels(pass: Vec<Step>) -> Builder {
    let fill = |resource| Step::Fill { resource, word: 0 };
    Builder::new(vec![output(4), Resource::words("other", 4, Contents::Undefined)])
        .kernel(STEP, [1, 1, 1], &[3], &[0])
        .kernel(STEP, [1, 1, 1], &[5], &[1])
        .reset(vec![fill(0), fill(1)])
        .pass(pass)
}

fn after_reset(builder: Builder) -> Prepared {
    let mut prepared = builder.done();
    prepared.case.repeat = Repeat::AfterReset;
    prepared
}

#[test]
fn pipelines_and_descriptors_are_bound_apart() {
    on_each_device(|device| {
        // The second pipeline on the first kernel's words, then the first pipeline on the second's.
        let pass = vec![
            Step::Bind { kernel: 0 },
            push(1, 7),
            ONE,
            Step::BindPipeline { kernel: 1 },
            Step::Barrier,
            ONE,
            Step::BindDescriptors { kernel: 1 },
            ONE,
        ];
        let slot = load(device, &two_kernels(pass).done());
        device.run_checked(slot).unwrap();
        assert_eq!(words(&device.read(slot, 0).unwrap()), [0, 7 * 5 + 7, 0, 0]);
        assert_eq!(words(&device.read(slot, 1).unwrap()), [0, 7, 0, 0]);
    });
}

#[test]
fn a_dispatch_begins_where_it_is_told() {
    const MARK: &str = "
        layout(set = 0, binding = 0) buffer Words { uint words[]; };
        void main() { words[gl_WorkGroupID.x] += 1u + gl_WorkGroupID.y; }";
    on_each_device(|device| {
        let pass = vec![
            Step::Bind { kernel: 0 },
            Step::Base { groups: [2, 3, 0] },
            Step::Dispatch { groups: [3, 1, 1] },
            Step::Barrier,
            // The base is that of one dispatch.
            ONE,
        ];
        let reset = vec![Step::Fill { resource: 0, word: 0 }];
        let builder = Builder::new(vec![output(6)]).kernel(MARK, [1, 1, 1], &[], &[0]).reset(reset);
        let mut prepared = after_reset(builder.pass(pass));
        assert_eq!(run_and_read(device, &prepared, 0), [1, 0, 4, 4, 4, 0]);
        prepared.case.pass[1] = Step::Base { groups: [u32::MAX, 0, 0] };
        let error = device.load(&prepared).unwrap_err();
        assert!(error.to_string().contains("the number of groups in x"), "{error}");
    });
}

#[test]
fn every_dependency_orders_what_it_says() {
    on_each_device(|device| {
        let links: Vec<Vec<Step>> = vec![
            vec![Step::Dependency(Dependency::Memory)],
            vec![Step::Dependency(Dependency::Buffer { resource: 0 })],
            vec![Step::Dependency(Dependency::Full)],
            vec![Step::SetEvent { event: 0 }, Step::WaitEvent { event: 0 }],
        ];
        for link in links {
            let pass = [vec![Step::Bind { kernel: 0 }, push(0, 1), ONE], link, vec![push(0, 2), ONE]].concat();
            let mut prepared = after_reset(two_kernels(pass));
            prepared.case.reset.push(Step::ResetEvent { event: 0 });
            let slot = load(device, &prepared);
            for _ in 0..3 {
                device.run_reset(slot).unwrap();
                device.sample(slot, 1, 2).unwrap();
                assert_eq!(words(&device.read(slot, 0).unwrap())[0], 3 + 2);
            }
        }
    });
}

#[test]
fn an_indirect_dispatch_has_the_workgroups_of_its_buffer() {
    on_each_device(|device| {
        let counted = "
            layout(set = 0, binding = 0) buffer Words { uint words[]; };
            void main() { atomicAdd(words[0], 1u); atomicMax(words[1], gl_WorkGroupID.z); }";
        let prepared = Builder::new(vec![output(4), Resource::words("counts", 3, Contents::Undefined)])
            .kernel(counted, [1, 1, 1], &[], &[0])
            .reset(vec![Step::Fill { resource: 0, word: 0 }, Step::Fill { resource: 1, word: 3 }])
            .pass(vec![Step::Bind { kernel: 0 }, Step::DispatchIndirect { resource: 1 }]);
        assert_eq!(run_and_read(device, &prepared.done(), 0)[..2], [27, 2]);
    });
}

#[test]
fn timestamps_of_a_pass_do_not_disturb_those_around_it() {
    on_each_device(|device| {
        if device.queue_family().timestamp_valid_bits == 0 {
            skip!("{} has no timestamps", device.info().name);
        }
        let written = [TimestampStage::Top, TimestampStage::Bottom];
        let written = (0..2).zip(written).map(|(query, stage)| Step::Timestamp { query, stage });
        let pass = [Step::Bind { kernel: 0 }, push(0, 1), ONE].into_iter().chain(written).collect();
        let mut prepared = after_reset(two_kernels(pass));
        prepared.case.reset.push(Step::ResetTimestamps);
        let slot = load(device, &prepared);
        device.run_checked(slot).unwrap();
        let submission = device.sample(slot, 1, 5).unwrap();
        assert_eq!(submission.samples.len(), 5);
        assert!(submission.samples.iter().all(|(start, end)| start.0 <= end.0));
    });
}

#[test]
fn whatever_of_it_is_timed_the_pass_runs() {
    on_each_device(|device| {
        let has_timelines = device.info().has(Feature::TimelineSemaphore);
        let waits = [Wait::FencePolled, Wait::Fence, Wait::TimelinePolled, Wait::Timeline, Wait::QueueIdle];
        let trips = waits.into_iter().map(HostCost::RoundTrip);
        for cost in [HostCost::Record, HostCost::Submit].into_iter().chain(trips) {
            if matches!(cost, HostCost::RoundTrip(Wait::Timeline | Wait::TimelinePolled)) && !has_timelines {
                continue;
            }
            let pass = vec![Step::Bind { kernel: 0 }, push(2, 1), ONE];
            let mut prepared = two_kernels(pass).done();
            prepared.case.measurand = Measurand::HostCost(cost);
            let slot = load(device, &prepared);
            device.run_reset(slot).unwrap();
            let submission = device.sample(slot, 4, 2).unwrap();
            assert!(submission.samples.is_empty() && !submission.host.is_zero());
            // Eight passes, each of them on from the one before: 3 w + 1.
            let expected = (0..8).fold(0_u32, |word, _| 3 * word + 1);
            assert_eq!(words(&device.read(slot, 0).unwrap())[2], expected, "{cost:?}");
        }
    });
}

#[test]
fn commands_that_do_not_fit_are_refused() {
    on_each_device(|device| {
        let refused = |device: &mut Device, prepared: &Prepared, part: &str| {
            let error = device.load(prepared).unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
        };
        let bind = || vec![Step::Bind { kernel: 0 }, push(0, 1)];
        let with = |steps: Vec<Step>| two_kernels([bind(), steps].concat());
        refused(device, &two_kernels(vec![Step::BindPipeline { kernel: 0 }]).done(), "none of its layout is bound whole");
        let other = with(vec![Step::BindPipeline { kernel: 2 }, ONE]).kernel(INCREMENT, [1, 1, 1], &[], &[0]);
        refused(device, &other.done(), "none of its layout is bound whole");
        refused(device, &with(vec![Step::DispatchIndirect { resource: 9 }]).done(), "no buffer of three words");
        refused(device, &with(vec![Step::Dependency(Dependency::Buffer { resource: 9 })]).done(), "which is no buffer");
        refused(device, &after_reset(with(vec![Step::WaitEvent { event: 0 }])), "which nothing set");
        let twice = with(vec![Step::SetEvent { event: 0 }, Step::SetEvent { event: 0 }]);
        refused(device, &after_reset(twice), "set twice");
        let once = with(vec![Step::Timestamp { query: 0, stage: TimestampStage::Top }]);
        refused(device, &once.done(), "isn't measured after its reset");
    });
}
