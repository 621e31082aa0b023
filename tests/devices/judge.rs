//! What configurations of `lanescope tune` compute, and how that is judged, on every driver under the validation layer. Nothing is
//! measured: a judgement takes milliseconds, a search seconds. Tests of a search itself start the command.

use lanescope::gpu::Device;
use lanescope::model::{Point, SpirvTarget};
use lanescope::shader::Prepared;
use lanescope::subject::{BufferSpec, ImageSpec, KernelSpec, LOCAL_SIZE_AXES, SamplerSpec, UserKernel};
use lanescope::validate::{Outputs, Verdict};

/// A shader under `tune`'s flags, of which this knows those that describe a problem.
pub fn subject(shader: &str, flags: &[&str]) -> KernelSpec {
    let mut subject = KernelSpec {
        name: "judged".to_owned(),
        shader: shader.into(),
        target: SpirvTarget::Vulkan1_1,
        n: 1 << 20,
        seed: 1,
        ..KernelSpec::default()
    };
    for flag in flags.chunks(2) {
        let [name, value] = flag else { panic!("{flag:?} has no value") };
        match *name {
            "-n" => subject.n = value.parse().unwrap(),
            "-c" => {
                let (name, value) = value.split_once('=').unwrap();
                subject.constants.push((name.to_owned(), value.to_owned()));
            }
            "--shared" => {
                let (name, lengths) = value.split_once('=').unwrap();
                subject.lengths.push((name.to_owned(), lengths.split(',').map(str::to_owned).collect()));
            }
            "-b" => subject.buffers.push(BufferSpec::parse(value).unwrap()),
            "--image" => subject.images.push(ImageSpec::parse(value).unwrap()),
            "--sampler" => subject.samplers.push(SamplerSpec::parse(value).unwrap()),
            "--threads" => subject.threads = Some([(*value).to_owned(), "1".to_owned(), "1".to_owned()]),
            other => panic!("{other} is not known here"),
        }
    }
    subject
}

/// The judgement of each of these workgroup widths, after one pass as a search makes it.
pub fn verdicts(device: &mut Device, subject: &KernelSpec, widths: &[u64]) -> Vec<Verdict> {
    let mut kernel = UserKernel::new(subject.clone(), device.info().clone());
    if let Some(prepared) = kernel.reference().unwrap_or_else(|failure| panic!("{}", failure.reason)) {
        kernel.learn(outputs(device, &prepared));
    }
    let judged = widths.iter().map(|width| {
        let point = Point::new([(LOCAL_SIZE_AXES[0].into(), (*width).into())]);
        let prepared = kernel.prepare(&point).unwrap_or_else(|failure| panic!("{}", failure.reason));
        kernel.check(&prepared.case, outputs(device, &prepared)).map(drop)
    });
    judged.collect()
}

fn outputs(device: &mut Device, prepared: &Prepared) -> Outputs {
    let slot = device.load(prepared).unwrap().slot;
    let read = |device: &mut Device| {
        prepared.case.check.outputs().iter().map(|&output| device.read(slot, output).unwrap()).collect::<Vec<_>>()
    };
    device.run_poisoned(slot).unwrap();
    let poisoned = Some(read(device));
    device.run_checked(slot).unwrap();
    let bytes = read(device);
    device.unload();
    Outputs { bytes, poisoned }
}
