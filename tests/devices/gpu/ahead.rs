//! Pipelines that are made on other threads, forced on software drivers too.

use super::*;

/// Cases of one module that differ by a constant only.
fn factors(count: u32) -> Vec<Prepared> {
    let first = scale(64, 32, 0).done();
    let of = |factor: u32| {
        let mut prepared = first.clone();
        let data = &mut only(&mut prepared.kernels).data;
        let last = data.len() - 4;
        data[last..].copy_from_slice(&factor.to_ne_bytes());
        prepared
    };
    (0..count).map(of).collect()
}

fn with_threads(compile_threads: usize, test: impl Fn(&mut Device)) -> Vec<String> {
    messages_with(DeviceOptions { compile_threads, ..DeviceOptions::default() }, test)
}

fn assert_scaled(device: &mut Device, prepared: &Prepared, factor: u32) {
    let found = run_and_read(device, prepared, 1);
    let expected: Vec<u32> = (0..64).map(|i| INPUT.word(i).wrapping_mul(factor).wrapping_add(32)).collect();
    assert_eq!(found, expected, "factor {factor}");
}

#[test]
fn a_pipeline_made_ahead_is_that_of_its_case() {
    let cases = factors(24);
    let messages = with_threads(3, |device| {
        assert_eq!(device.compile_threads(), 3);
        cases.iter().for_each(|prepared| device.compile_ahead(prepared));
        // Told twice, and taken in another order than they were told.
        cases.iter().for_each(|prepared| device.compile_ahead(prepared));
        for (factor, prepared) in (0..24).zip(&cases).rev().take(12) {
            assert_scaled(device, prepared, factor);
            // Taken already: it is made anew.
            assert_scaled(device, prepared, factor);
        }
        device.unload();
        // What is forgotten is made anew; what nobody takes goes with the device, whether it is done, under way or waiting.
        device.forget_compiled();
        assert_scaled(device, &cases[1], 1);
        cases.iter().for_each(|prepared| device.compile_ahead(prepared));
    });
    assert!(messages.is_empty(), "validation: {messages:#?}");
}

#[test]
fn a_device_opened_without_threads_makes_nothing_ahead() {
    let cases = factors(2);
    on_each_device(|device| {
        assert_eq!(device.compile_threads(), 0);
        device.compile_ahead(&cases[1]);
        assert_scaled(device, &cases[1], 1);
        device.forget_compiled();
    });
}

#[test]
fn what_can_not_be_loaded_is_not_made_ahead() {
    let messages = with_threads(1, |device| {
        let mut wide = scale(64, 32, 1).done();
        only(&mut wide.kernels).local_size = [1 << 20, 1, 1];
        device.compile_ahead(&wide);
        assert!(device.load(&wide).is_err());
    });
    assert!(messages.is_empty(), "validation: {messages:#?}");
}

/// A row whose pipeline the layer objects to has to be that one, whatever is done while it is made.
#[test]
fn what_validation_says_of_a_pipeline_made_ahead_is_told_when_its_case_is_loaded() {
    let glsl = "
        layout(push_constant) uniform Push { uint factor; uint more; };
        layout(set = 0, binding = 0) writeonly buffer Output { uint result[]; };
        void main() { result[gl_GlobalInvocationID.x] = factor + more; }";
    let mut wrong = Builder::new(vec![output(64)]).kernel(glsl, [32, 1, 1], &[], &[0]).done();
    // The layout lacks what the module declares.
    only(&mut wrong.kernels).push_bytes = 0;
    let cases = factors(2);
    let told = with_threads(1, |device| {
        device.compile_ahead(&wrong);
        device.compile_ahead(&cases[1]);
        // One thread makes them in this order.
        assert_scaled(device, &cases[1], 1);
        assert_eq!(device.messages(), Vec::<String>::new());
        load(device, &wrong);
        let messages = device.messages();
        assert!(messages.iter().any(|message| message.contains("push constant") || message.contains("Push")), "{messages:?}");
    });
    assert!(told.is_empty(), "{told:#?}");
}
