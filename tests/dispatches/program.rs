//! A program for tests of `capture`: it dispatches in every way that Vulkan has, counts what it dispatched, and says so.
//!
//! `dispatches DEVICE WAY...` runs these ways on the device whose name has DEVICE in it. Each way dispatches workgroups in a number of its
//! own, and prints `GROUPS CALLS`. `old` is no way, but an instance of Vulkan 1.0. The program fails where the device ran other workgroups than it was told.

#![allow(unsafe_code, reason = "Vulkan is called directly")]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]
#![expect(clippy::unwrap_used, reason = "a test's program ends where anything is wrong")]

use std::ffi::CStr;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use std::{env, fs, process, thread};

use ash::vk;
use lanescope::model::SpirvTarget;
use lanescope::shader::{Compiler, Library};

const SHADER: &str = "#version 450
layout(local_size_x = 1) in;
layout(binding = 0) buffer B { uint counts[]; };
layout(constant_id = 0) const uint WAY = 0;
void main() {
    atomicAdd(counts[WAY], 1);
}
";

/// Computes from one range of a buffer into another.
const RANGES: &str = "#version 450
layout(local_size_x = 1) in;
layout(binding = 0) readonly buffer X { uint x[]; };
layout(binding = 1) buffer Y { uint y[]; };
layout(push_constant) uniform P { uint unused; uint more; } p;
void main() {
    y[gl_GlobalInvocationID.x] = 2 * x[gl_GlobalInvocationID.x] + p.more;
}
";

/// Computes from one buffer into another, whose addresses it finds in a third one: one of them as a number.
const ADDRESSES: &str = "#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
layout(local_size_x = 1) in;
layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer X { uint x[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) writeonly buffer Y { uint y[]; };
layout(buffer_reference, std430) readonly buffer Given { uint more; X x; uvec2 y; };
layout(push_constant) uniform P { uint unused; Given given; X absent; } p;
void main() {
    Y(p.given.y).y[gl_GlobalInvocationID.x] = 2 * p.given.x.x[gl_GlobalInvocationID.x] + p.given.more;
}
";

/// A way, with the workgroups in x of its dispatches; it gives how many there were.
type Way = (&'static str, u32, fn(&App, u32) -> u32);

const WAYS: [Way; 17] = [
    ("many", 2, many),
    ("secondary", 3, secondary),
    ("simultaneous", 4, simultaneous),
    ("indirect", 5, indirect),
    ("base", 6, base),
    ("push", 7, push),
    ("threads", 8, threads),
    ("queues", 9, queues),
    ("unwaited", 10, unwaited),
    ("masked", 11, masked),
    ("submit2", 12, submit2),
    ("wrong", 13, wrong),
    ("record", 14, record),
    ("minute", 15, minute),
    ("suspended", 16, suspended),
    ("ranges", 17, ranges),
    ("addresses", 18, addresses),
];

/// A device, with what a kernel of one way needs.
struct App {
    instance: ash::Instance,
    physical: vk::PhysicalDevice,
    device: ash::Device,
    /// What counts, by the groups of a way.
    counted: *mut u32,
    push: Option<ash::khr::push_descriptor::Device>,
    submit2: Option<ash::khr::synchronization2::Device>,
    rendering: Option<ash::khr::dynamic_rendering::Device>,
    address: Option<ash::khr::buffer_device_address::Device>,
    queues: Vec<vk::Queue>,
    lock: Mutex<()>,
    counts: vk::Buffer,
    /// Where the device reads the groups of an indirect dispatch.
    groups: vk::Buffer,
    layouts: [vk::PipelineLayout; 2],
    pipelines: [vk::Pipeline; 2],
    set: vk::DescriptorSet,
}

// SAFETY: the mapped memory stays, and is written from one thread.
unsafe impl Sync for App {}

/// A command pool with buffers.
struct Pool<'a>(&'a App, vk::CommandPool);

impl<'a> Pool<'a> {
    fn new(app: &'a App) -> Self {
        let info = vk::CommandPoolCreateInfo::default().flags(vk::CommandPoolCreateFlags::RESET_COMMAND_BUFFER);
        // SAFETY: the device lives as long as the program.
        Self(app, unsafe { app.device.create_command_pool(&info, None) }.unwrap())
    }

    fn buffer(&self, level: vk::CommandBufferLevel) -> vk::CommandBuffer {
        let info = vk::CommandBufferAllocateInfo::default().command_pool(self.1).level(level).command_buffer_count(1);
        // SAFETY: as above.
        unsafe { self.0.device.allocate_command_buffers(&info) }.unwrap()[0]
    }

    /// A primary buffer in which `record` was recorded.
    fn recorded(&self, flags: vk::CommandBufferUsageFlags, record: impl Fn(vk::CommandBuffer)) -> vk::CommandBuffer {
        let buffer = self.buffer(vk::CommandBufferLevel::PRIMARY);
        // SAFETY: the buffer is new.
        unsafe {
            self.0.device.begin_command_buffer(buffer, &vk::CommandBufferBeginInfo::default().flags(flags)).unwrap();
            record(buffer);
            self.0.device.end_command_buffer(buffer).unwrap();
        }
        buffer
    }
}

impl App {
    fn bind(&self, buffer: vk::CommandBuffer) {
        // SAFETY: the buffer is being recorded.
        unsafe {
            self.device.cmd_bind_pipeline(buffer, vk::PipelineBindPoint::COMPUTE, self.pipelines[0]);
            let point = vk::PipelineBindPoint::COMPUTE;
            self.device.cmd_bind_descriptor_sets(buffer, point, self.layouts[0], 0, &[self.set], &[0]);
        }
    }

    fn dispatch(&self, buffer: vk::CommandBuffer, groups: u32) {
        self.bind(buffer);
        // SAFETY: the buffer is being recorded.
        unsafe { self.device.cmd_dispatch(buffer, groups, 1, 1) };
    }

    /// Submits buffers, and waits for them where that is asked for.
    fn submit(&self, queue: usize, buffers: &[vk::CommandBuffer], waits: bool) {
        let info = vk::SubmitInfo::default().command_buffers(buffers);
        let _alone = self.lock.lock().unwrap();
        // SAFETY: the buffers were recorded; nobody else submits at this time.
        unsafe {
            let fence = self.device.create_fence(&vk::FenceCreateInfo::default(), None).unwrap();
            self.device.queue_submit(self.queues[queue], &[info], fence).unwrap();
            if waits {
                self.device.wait_for_fences(&[fence], true, u64::MAX).unwrap();
                self.device.destroy_fence(fence, None);
            }
        }
    }
}

const NONE: vk::CommandBufferUsageFlags = vk::CommandBufferUsageFlags::empty();

fn many(app: &App, groups: u32) -> u32 {
    let pool = Pool::new(app);
    let buffers: Vec<_> =
        (0..10).map(|_| pool.recorded(NONE, |buffer| (0..100).for_each(|_| app.dispatch(buffer, groups)))).collect();
    for _ in 0..10 {
        app.submit(0, &buffers, true);
    }
    10_000
}

fn secondary(app: &App, groups: u32) -> u32 {
    let pool = Pool::new(app);
    let inner = pool.buffer(vk::CommandBufferLevel::SECONDARY);
    let inheritance = vk::CommandBufferInheritanceInfo::default();
    let begin = vk::CommandBufferBeginInfo::default()
        .flags(vk::CommandBufferUsageFlags::SIMULTANEOUS_USE)
        .inheritance_info(&inheritance);
    // SAFETY: the buffers are new.
    unsafe {
        app.device.begin_command_buffer(inner, &begin).unwrap();
        (0..3).for_each(|_| app.dispatch(inner, groups));
        app.device.end_command_buffer(inner).unwrap();
    }
    let outer = pool.recorded(NONE, |buffer| {
        app.dispatch(buffer, groups);
        // SAFETY: the buffer is being recorded.
        unsafe { app.device.cmd_execute_commands(buffer, &[inner, inner]) };
    });
    (0..3).for_each(|_| app.submit(0, &[outer], true));
    3 * 7
}

fn simultaneous(app: &App, groups: u32) -> u32 {
    let pool = Pool::new(app);
    let buffer = pool.recorded(vk::CommandBufferUsageFlags::SIMULTANEOUS_USE, |buffer| app.dispatch(buffer, groups));
    app.submit(0, &[buffer, buffer, buffer], false);
    app.submit(0, &[buffer], false);
    app.submit(0, &[buffer], true);
    5
}

fn indirect(app: &App, groups: u32) -> u32 {
    let pool = Pool::new(app);
    let buffer = pool.recorded(NONE, |buffer| {
        app.bind(buffer);
        // SAFETY: the buffer is being recorded; the groups were written when the program began.
        unsafe { (0..4).for_each(|_| app.device.cmd_dispatch_indirect(buffer, app.groups, 16)) };
    });
    assert_eq!(groups, 5);
    app.submit(0, &[buffer], true);
    4
}

fn base(app: &App, groups: u32) -> u32 {
    let pool = Pool::new(app);
    let buffer = pool.recorded(NONE, |buffer| {
        app.bind(buffer);
        // SAFETY: the buffer is being recorded; the pipeline was made for it.
        unsafe { app.device.cmd_dispatch_base(buffer, 1, 0, 0, groups, 1, 1) };
    });
    app.submit(0, &[buffer], true);
    1
}

/// Nothing where the device can't push descriptors.
fn push(app: &App, groups: u32) -> u32 {
    let Some(push) = &app.push else { return 0 };
    let pool = Pool::new(app);
    let buffer = pool.recorded(NONE, |buffer| {
        let info = [vk::DescriptorBufferInfo { buffer: app.counts, offset: 0, range: vk::WHOLE_SIZE }];
        let write = vk::WriteDescriptorSet::default().descriptor_type(vk::DescriptorType::STORAGE_BUFFER).buffer_info(&info);
        // SAFETY: the buffer is being recorded.
        unsafe {
            let point = vk::PipelineBindPoint::COMPUTE;
            app.device.cmd_bind_pipeline(buffer, point, app.pipelines[1]);
            push.cmd_push_descriptor_set(buffer, point, app.layouts[1], 0, &[write]);
            app.device.cmd_dispatch(buffer, groups, 1, 1);
        }
    });
    app.submit(0, &[buffer], true);
    1
}

fn threads(app: &App, groups: u32) -> u32 {
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let pool = Pool::new(app);
                for _ in 0..50 {
                    let buffer = pool.recorded(NONE, |buffer| (0..5).for_each(|_| app.dispatch(buffer, groups)));
                    app.submit(0, &[buffer], true);
                }
            });
        }
    });
    4 * 50 * 5
}

fn queues(app: &App, groups: u32) -> u32 {
    let pool = Pool::new(app);
    for queue in 0..2 * app.queues.len() {
        let buffer = pool.recorded(NONE, |buffer| app.dispatch(buffer, groups));
        app.submit(queue % app.queues.len(), &[buffer], queue >= app.queues.len());
    }
    u32::try_from(2 * app.queues.len()).unwrap()
}

/// Nothing waits but for the whole device.
fn unwaited(app: &App, groups: u32) -> u32 {
    let pool = Pool::new(app);
    for _ in 0..20 {
        let buffer = pool.recorded(NONE, |buffer| app.dispatch(buffer, groups));
        app.submit(0, &[buffer], false);
    }
    // SAFETY: nobody else uses the device at this time.
    unsafe { app.device.device_wait_idle() }.unwrap();
    20
}

/// To devices of a group, of which there is one.
fn masked(app: &App, groups: u32) -> u32 {
    let pool = Pool::new(app);
    let buffers = [0, 1].map(|_| pool.recorded(NONE, |buffer| app.dispatch(buffer, groups)));
    let masks = [1, 1];
    let mut group = vk::DeviceGroupSubmitInfo::default().command_buffer_device_masks(&masks);
    let info = vk::SubmitInfo::default().command_buffers(&buffers).push_next(&mut group);
    // SAFETY: the buffers were recorded; nobody else submits at this time.
    unsafe {
        app.device.queue_submit(app.queues[0], &[info], vk::Fence::null()).unwrap();
        app.device.device_wait_idle().unwrap();
    }
    2
}

/// Nothing where the device has no such call.
fn submit2(app: &App, groups: u32) -> u32 {
    let Some(submit2) = &app.submit2 else { return 0 };
    let pool = Pool::new(app);
    let buffers = [0, 1].map(|_| {
        let buffer = pool.recorded(NONE, |buffer| app.dispatch(buffer, groups));
        vk::CommandBufferSubmitInfo::default().command_buffer(buffer)
    });
    let info = vk::SubmitInfo2::default().command_buffer_infos(&buffers);
    // SAFETY: the buffers were recorded; nobody else submits at this time.
    unsafe {
        submit2.queue_submit2(app.queues[0], &[info], vk::Fence::null()).unwrap();
        app.device.device_wait_idle().unwrap();
    }
    2
}

/// A dispatch before a rendering that one buffer suspends and the next one resumes, and one behind it; nothing where the device has no
/// such call.
fn suspended(app: &App, groups: u32) -> u32 {
    let Some(rendering) = &app.rendering else { return 0 };
    let pool = Pool::new(app);
    let area = vk::Rect2D { extent: vk::Extent2D { width: 1, height: 1 }, ..vk::Rect2D::default() };
    let render = |buffer, flags| {
        let info = vk::RenderingInfo::default().flags(flags).render_area(area).layer_count(1);
        // SAFETY: the buffer is being recorded.
        unsafe {
            rendering.cmd_begin_rendering(buffer, &info);
            rendering.cmd_end_rendering(buffer);
        }
    };
    let first = pool.recorded(NONE, |buffer| {
        app.dispatch(buffer, groups);
        render(buffer, vk::RenderingFlags::SUSPENDING);
    });
    let second = pool.recorded(NONE, |buffer| {
        render(buffer, vk::RenderingFlags::RESUMING);
        app.dispatch(buffer, groups);
    });
    app.submit(0, &[first, second], true);
    2
}

/// Two dispatches, of which the second reads what the first wrote. Their ranges overlap, are chosen by dynamic offsets, and hold what the
/// host writes once all is recorded; the buffer is submitted twice.
fn ranges(app: &App, groups: u32) -> u32 {
    let device = &app.device;
    let (memory, mapped) = buffer(&app.instance, app.physical, device, &[]);
    let dynamic = vk::DescriptorType::STORAGE_BUFFER_DYNAMIC;
    let bindings = [0, 1].map(|binding| {
        let own = vk::DescriptorSetLayoutBinding::default().binding(binding).descriptor_type(dynamic);
        own.descriptor_count(1).stage_flags(vk::ShaderStageFlags::COMPUTE)
    });
    let range = [vk::PushConstantRange::default().stage_flags(vk::ShaderStageFlags::COMPUTE).size(8)];
    // SAFETY: the device lives, and so does all that is used; the ranges lie within the buffer.
    unsafe {
        let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
        let layouts = [device.create_descriptor_set_layout(&info, None).unwrap()];
        let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&layouts).push_constant_ranges(&range);
        let layout = device.create_pipeline_layout(&info, None).unwrap();
        let pipeline = pipeline(device, compiled(device, RANGES), layout, 0, vk::PipelineCreateFlags::empty());
        let size = [vk::DescriptorPoolSize { ty: dynamic, descriptor_count: 2 }];
        let info = vk::DescriptorPoolCreateInfo::default().max_sets(1).pool_sizes(&size);
        let pool = device.create_descriptor_pool(&info, None).unwrap();
        let info = vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool).set_layouts(&layouts);
        let set = device.allocate_descriptor_sets(&info).unwrap()[0];
        // One write for both, which goes on from the first to the second.
        let info = [vk::DescriptorBufferInfo { buffer: memory, offset: 256, range: 1024 }; 2];
        let write = vk::WriteDescriptorSet::default().dst_set(set).descriptor_type(dynamic).buffer_info(&info);
        device.update_descriptor_sets(&[write], &[]);
        let pool = Pool::new(app);
        let point = vk::PipelineBindPoint::COMPUTE;
        let recorded = pool.recorded(NONE, |buffer| {
            device.cmd_bind_pipeline(buffer, point, pipeline);
            for (offsets, more) in [([0, 256], 1_u32), ([256, 512], 3)] {
                device.cmd_bind_descriptor_sets(buffer, point, layout, 0, &[set], &offsets);
                device.cmd_push_constants(buffer, layout, vk::ShaderStageFlags::COMPUTE, 4, &more.to_le_bytes());
                device.cmd_dispatch(buffer, groups, 1, 1);
                let all = vk::PipelineStageFlags::ALL_COMMANDS;
                let accesses = vk::AccessFlags::MEMORY_READ | vk::AccessFlags::MEMORY_WRITE;
                let barrier = [vk::MemoryBarrier::default().src_access_mask(accesses).dst_access_mask(accesses)];
                device.cmd_pipeline_barrier(buffer, all, all, vk::DependencyFlags::empty(), &barrier, &[], &[]);
            }
        });
        for turn in 0..2 {
            (0..groups).for_each(|i| mapped.add(64 + i as usize).write_volatile(i + turn));
            app.submit(0, &[recorded], true);
            (0..groups).for_each(|i| assert_eq!(mapped.add(192 + i as usize).read_volatile(), 2 * (2 * (i + turn) + 1) + 3));
        }
        app.counted.add(groups as usize).write_volatile(4 * groups);
    }
    4
}

/// Through addresses that the host writes once all is recorded, among them ones into the middle of a buffer; nothing where the device
/// tells no addresses.
fn addresses(app: &App, groups: u32) -> u32 {
    let Some(address) = &app.address else { return 0 };
    let device = &app.device;
    let range = [vk::PushConstantRange::default().stage_flags(vk::ShaderStageFlags::COMPUTE).size(24)];
    // SAFETY: the device lives, and so does all that is used; the addresses are of buffers that have them.
    unsafe {
        let made = [0; 4].map(|_| {
            let usage = vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS;
            let (raw, mapped) = buffer_for(&app.instance, app.physical, device, (&[], usage));
            (address.get_buffer_device_address(&vk::BufferDeviceAddressInfo::default().buffer(raw)), mapped)
        });
        // The last one has nothing to do with it.
        let [(given, words), (x, of_x), (y, of_y), _] = made;
        let info = vk::PipelineLayoutCreateInfo::default().push_constant_ranges(&range);
        let layout = device.create_pipeline_layout(&info, None).unwrap();
        let pipeline = pipeline(device, compiled(device, ADDRESSES), layout, 0, vk::PipelineCreateFlags::empty());
        let pool = Pool::new(app);
        let recorded = pool.recorded(NONE, |buffer| {
            device.cmd_bind_pipeline(buffer, vk::PipelineBindPoint::COMPUTE, pipeline);
            let push = [&7_u64.to_le_bytes()[..], &(given + 32).to_le_bytes(), &[0; 8]].concat();
            device.cmd_push_constants(buffer, layout, vk::ShaderStageFlags::COMPUTE, 0, &push);
            device.cmd_dispatch(buffer, groups, 1, 1);
        });
        let halves = |address: u64| [0, 32].map(|shift| u32::try_from(address >> shift & 0xFFFF_FFFF).unwrap());
        let ([x_low, x_high], [y_low, y_high]) = (halves(x + 64), halves(y + 128));
        let held = [5, 0, x_low, x_high, y_low, y_high];
        words.add(8).copy_from(held.as_ptr(), held.len());
        (0..groups).for_each(|i| of_x.add(16 + i as usize).write_volatile(3 * i));
        app.submit(0, &[recorded], true);
        (0..groups).for_each(|i| assert_eq!(of_y.add(32 + i as usize).read_volatile(), 6 * i + 5));
        app.counted.add(groups as usize).write_volatile(groups);
    }
    1
}

/// What a validation layer has to say something about: the buffer that is filled wasn't made for that.
fn wrong(app: &App, groups: u32) -> u32 {
    let pool = Pool::new(app);
    let buffer = pool.recorded(NONE, |buffer| {
        // SAFETY: the buffer is being recorded; every driver here fills it nevertheless, beyond what is counted.
        unsafe { app.device.cmd_fill_buffer(buffer, app.groups, 1024, 4, 0) };
        app.dispatch(buffer, groups);
    });
    app.submit(0, &[buffer], true);
    1
}

/// Says what recording a dispatch takes: nothing is submitted.
fn record(app: &App, groups: u32) -> u32 {
    const DISPATCHES: u32 = 1000;
    let pool = Pool::new(app);
    let mut times: Vec<f64> = (0..200)
        .map(|_| {
            let buffer = pool.recorded(NONE, |buffer| app.bind(buffer));
            // SAFETY: the buffer isn't pending.
            unsafe {
                app.device.begin_command_buffer(buffer, &vk::CommandBufferBeginInfo::default()).unwrap();
                app.bind(buffer);
                let began = Instant::now();
                (0..DISPATCHES).for_each(|_| app.device.cmd_dispatch(buffer, groups, 1, 1));
                let time = began.elapsed();
                app.device.end_command_buffer(buffer).unwrap();
                time.as_secs_f64() * 1e9 / f64::from(DISPATCHES)
            }
        })
        .collect();
    times.sort_by(f64::total_cmp);
    eprintln!("recording a dispatch: {:.0} ns (median of {})", times[times.len() / 2], times.len());
    0
}

/// Ten thousand dispatches a second, for a minute; says how much memory the program has after ten seconds and at the end.
fn minute(app: &App, groups: u32) -> u32 {
    let pool = Pool::new(app);
    let began = Instant::now();
    for turn in 0..6000_u32 {
        let buffer = pool.recorded(NONE, |buffer| (0..100).for_each(|_| app.dispatch(buffer, groups)));
        app.submit(0, &[buffer], true);
        // SAFETY: the buffer was waited for.
        unsafe { app.device.free_command_buffers(pool.1, &[buffer]) };
        if turn == 999 || turn == 5999 {
            let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
            let resident = status.lines().find(|line| line.starts_with("VmRSS")).unwrap_or("no /proc");
            eprintln!("after {:.0} s: {resident}", began.elapsed().as_secs_f64());
        }
        thread::sleep(Duration::from_millis(10 * u64::from(turn + 1)).saturating_sub(began.elapsed()));
    }
    600_000
}

// ---- the device -----------------------------------------------------------------------------------------------------------------

fn physical(instance: &ash::Instance, name: &str) -> vk::PhysicalDevice {
    // SAFETY: the instance lives.
    let all = unsafe { instance.enumerate_physical_devices() }.unwrap();
    let has_name = |device: &vk::PhysicalDevice| {
        // SAFETY: the same.
        let properties = unsafe { instance.get_physical_device_properties(*device) };
        properties.device_name_as_c_str().unwrap().to_string_lossy().contains(name)
    };
    all.into_iter().find(has_name).expect("no such device")
}

/// A buffer that the host sees, and its memory.
fn buffer(
    instance: &ash::Instance,
    physical: vk::PhysicalDevice,
    device: &ash::Device,
    words: &[u32],
) -> (vk::Buffer, *mut u32) {
    buffer_for(instance, physical, device, (words, vk::BufferUsageFlags::empty()))
}

/// The same that has more uses.
fn buffer_for(
    instance: &ash::Instance,
    physical: vk::PhysicalDevice,
    device: &ash::Device,
    (words, more): (&[u32], vk::BufferUsageFlags),
) -> (vk::Buffer, *mut u32) {
    let usage =
        vk::BufferUsageFlags::STORAGE_BUFFER | vk::BufferUsageFlags::INDIRECT_BUFFER | vk::BufferUsageFlags::TRANSFER_SRC;
    let usage = usage | more;
    // SAFETY: the device lives; the memory is mapped, and has room for the words.
    unsafe {
        let buffer = device.create_buffer(&vk::BufferCreateInfo::default().size(4096).usage(usage), None).unwrap();
        let needed = device.get_buffer_memory_requirements(buffer);
        let types = instance.get_physical_device_memory_properties(physical);
        let wanted = vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT;
        let is_it = |at: &u32| {
            needed.memory_type_bits >> at & 1 == 1 && types.memory_types[*at as usize].property_flags.contains(wanted)
        };
        let memory_type = (0..types.memory_type_count).find(is_it).unwrap();
        let mut flags = vk::MemoryAllocateFlagsInfo::default().flags(vk::MemoryAllocateFlags::DEVICE_ADDRESS);
        let info = vk::MemoryAllocateInfo::default().allocation_size(needed.size).memory_type_index(memory_type);
        let has_address = usage.contains(vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS);
        let info = if has_address { info.push_next(&mut flags) } else { info };
        let memory = device.allocate_memory(&info, None).unwrap();
        device.bind_buffer_memory(buffer, memory, 0).unwrap();
        let mapped = device.map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty()).unwrap().cast::<u32>();
        mapped.write_bytes(0, 1024);
        mapped.copy_from(words.as_ptr(), words.len());
        (buffer, mapped)
    }
}

fn pipeline(
    device: &ash::Device,
    module: vk::ShaderModule,
    layout: vk::PipelineLayout,
    way: u32,
    flags: vk::PipelineCreateFlags,
) -> vk::Pipeline {
    let entry = [vk::SpecializationMapEntry { constant_id: 0, offset: 0, size: 4 }];
    let data = way.to_ne_bytes();
    let constants = vk::SpecializationInfo::default().map_entries(&entry).data(&data);
    let stage = vk::PipelineShaderStageCreateInfo::default()
        .stage(vk::ShaderStageFlags::COMPUTE)
        .module(module)
        .name(c"main")
        .specialization_info(&constants);
    let info = vk::ComputePipelineCreateInfo::default().flags(flags).stage(stage).layout(layout);
    // SAFETY: the device lives.
    unsafe { device.create_compute_pipelines(vk::PipelineCache::null(), &[info], None) }.unwrap()[0]
}

fn compiled(device: &ash::Device, text: &str) -> vk::ShaderModule {
    let mut compiler = Compiler::new(Library::embedded().with("dispatches.comp", text.to_owned())).unwrap().with_lines();
    let module = compiler.compile("dispatches.comp", &[], SpirvTarget::default()).unwrap();
    let info = vk::ShaderModuleCreateInfo::default().code(&module.words);
    // SAFETY: the device lives; the compiler wrote the words.
    unsafe { device.create_shader_module(&info, None) }.unwrap()
}

fn set_layout(
    device: &ash::Device,
    ty: vk::DescriptorType,
    flags: vk::DescriptorSetLayoutCreateFlags,
) -> vk::DescriptorSetLayout {
    let binding = [vk::DescriptorSetLayoutBinding::default()
        .descriptor_type(ty)
        .descriptor_count(1)
        .stage_flags(vk::ShaderStageFlags::COMPUTE)];
    let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&binding).flags(flags);
    // SAFETY: the device lives.
    unsafe { device.create_descriptor_set_layout(&info, None) }.unwrap()
}

fn set(device: &ash::Device, layout: vk::DescriptorSetLayout, counts: vk::Buffer) -> vk::DescriptorSet {
    let size = [vk::DescriptorPoolSize { ty: vk::DescriptorType::STORAGE_BUFFER_DYNAMIC, descriptor_count: 1 }];
    // SAFETY: the device lives, and so does all that is used.
    unsafe {
        let info = vk::DescriptorPoolCreateInfo::default().max_sets(1).pool_sizes(&size);
        let pool = device.create_descriptor_pool(&info, None).unwrap();
        let layouts = [layout];
        let info = vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool).set_layouts(&layouts);
        let set = device.allocate_descriptor_sets(&info).unwrap()[0];
        let info = [vk::DescriptorBufferInfo { buffer: counts, offset: 0, range: 4096 }];
        let write = vk::WriteDescriptorSet::default()
            .dst_set(set)
            .descriptor_type(vk::DescriptorType::STORAGE_BUFFER_DYNAMIC)
            .buffer_info(&info);
        device.update_descriptor_sets(&[write], &[]);
        set
    }
}

/// Runs the ways on a device of their own, and gives what each dispatched.
fn run(instance: &ash::Instance, version: u32, name: &str, ways: &[String]) {
    let physical = physical(instance, name);
    // SAFETY: the instance lives; what is made lives until the process ends, the device included.
    unsafe {
        let families = instance.get_physical_device_queue_family_properties(physical);
        let count = families[0].queue_count.min(2);
        let priorities = vec![1.0; count as usize];
        let queue = [vk::DeviceQueueCreateInfo::default().queue_priorities(&priorities)];
        let is_old = version < vk::API_VERSION_1_1;
        let known = instance.enumerate_device_extension_properties(physical).unwrap();
        let has = |name: &CStr| !is_old && known.iter().any(|of| of.extension_name_as_c_str() == Ok(name));
        let has_push = has(ash::khr::push_descriptor::NAME);
        let has_submit2 = has(ash::khr::synchronization2::NAME);
        let for_rendering =
            [ash::khr::dynamic_rendering::NAME, ash::khr::depth_stencil_resolve::NAME, ash::khr::create_renderpass2::NAME];
        let has_rendering = for_rendering.iter().all(|name| has(name));
        let has_address = has(ash::khr::buffer_device_address::NAME);
        let mut extensions: Vec<&CStr> = Vec::new();
        extensions.extend(has_address.then_some(ash::khr::buffer_device_address::NAME));
        extensions.extend(has_push.then_some(ash::khr::push_descriptor::NAME));
        extensions.extend(has_submit2.then_some(ash::khr::synchronization2::NAME));
        extensions.extend(for_rendering.into_iter().filter(|_| has_rendering));
        let extensions: Vec<_> = extensions.into_iter().map(CStr::as_ptr).collect();
        let mut features = vk::PhysicalDeviceSynchronization2Features::default().synchronization2(has_submit2);
        let mut for_rendering = vk::PhysicalDeviceDynamicRenderingFeatures::default().dynamic_rendering(true);
        let mut for_addresses = vk::PhysicalDeviceBufferDeviceAddressFeatures::default().buffer_device_address(true);
        let info = vk::DeviceCreateInfo::default().queue_create_infos(&queue).enabled_extension_names(&extensions);
        let info = if has_submit2 { info.push_next(&mut features) } else { info };
        let info = if has_address { info.push_next(&mut for_addresses) } else { info };
        let info = if has_rendering { info.push_next(&mut for_rendering) } else { info };
        let device = instance.create_device(physical, &info, None).unwrap();
        let (counts, mapped) = buffer(instance, physical, &device, &[]);
        let (groups, _) = buffer(instance, physical, &device, &[0, 0, 0, 0, 5, 1, 1]);
        let module = compiled(&device, SHADER);
        let dynamic =
            set_layout(&device, vk::DescriptorType::STORAGE_BUFFER_DYNAMIC, vk::DescriptorSetLayoutCreateFlags::empty());
        let push = vk::DescriptorSetLayoutCreateFlags::PUSH_DESCRIPTOR_KHR;
        let flags = if has_push { push } else { vk::DescriptorSetLayoutCreateFlags::empty() };
        let pushed = set_layout(&device, vk::DescriptorType::STORAGE_BUFFER, flags);
        let layouts = [dynamic, pushed].map(|layout| {
            let layouts = [layout];
            device.create_pipeline_layout(&vk::PipelineLayoutCreateInfo::default().set_layouts(&layouts), None).unwrap()
        });
        let mut app = App {
            instance: instance.clone(),
            physical,
            counted: mapped,
            push: has_push.then(|| ash::khr::push_descriptor::Device::new(instance, &device)),
            submit2: has_submit2.then(|| ash::khr::synchronization2::Device::new(instance, &device)),
            rendering: has_rendering.then(|| ash::khr::dynamic_rendering::Device::new(instance, &device)),
            address: has_address.then(|| ash::khr::buffer_device_address::Device::new(instance, &device)),
            queues: (0..count).map(|at| device.get_device_queue(0, at)).collect(),
            lock: Mutex::new(()),
            counts,
            groups,
            layouts,
            pipelines: [vk::Pipeline::null(); 2],
            set: set(&device, dynamic, counts),
            device,
        };
        for (_, groups, way) in WAYS.iter().filter(|(name, ..)| ways.iter().any(|way| way == name)) {
            // Of Vulkan 1.1.
            let flags = if is_old { vk::PipelineCreateFlags::empty() } else { vk::PipelineCreateFlags::DISPATCH_BASE };
            app.pipelines = layouts.map(|layout| pipeline(&app.device, module, layout, *groups, flags));
            let calls = way(&app, *groups);
            assert_eq!(mapped.add(*groups as usize).read_volatile(), calls * groups, "{groups}");
            println!("{groups} {calls}");
        }
    }
}

fn main() {
    let mut arguments = env::args().skip(1);
    let name = arguments.next().unwrap();
    let mut ways: Vec<String> = arguments.collect();
    let is_asked = |what: &str| ways.iter().any(|way| way == what);
    let (has_child, has_two, is_old) = (is_asked("child"), is_asked("devices"), is_asked("old"));
    if has_child {
        // The child does the same, but has no child itself.
        ways.retain(|way| way != "child");
        let child = process::Command::new(env::current_exe().unwrap()).arg(&name).args(&ways).status().unwrap();
        assert!(child.success());
    }
    // SAFETY: the loader is a Vulkan loader, and stays.
    unsafe {
        let entry = ash::Entry::load().unwrap();
        let version = if is_old { vk::API_VERSION_1_0 } else { vk::API_VERSION_1_1 };
        let application = vk::ApplicationInfo::default().api_version(version);
        let instance = entry.create_instance(&vk::InstanceCreateInfo::default().application_info(&application), None).unwrap();
        run(&instance, version, &name, &ways);
        if has_two {
            run(&instance, version, &name, &ways);
        }
    }
    // Neither devices nor the instance are destroyed, as in many programs.
    process::exit(0);
}
