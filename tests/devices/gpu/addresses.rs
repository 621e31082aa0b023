//! Kernels reach buffers by addresses, where the device has them.

use lanescope::model::{Address, HeldAddress, MemoryKind};

use super::*;

const LOCAL: [u32; 3] = [1, 1, 1];

/// Takes a word behind an address on, and says what it was.
const STEP: &str = "
    layout(buffer_reference, std430, buffer_reference_align = 4) buffer Word { uint word; };
    layout(push_constant) uniform Push { uvec2 at; };
    layout(set = 0, binding = 0) writeonly buffer Was { uint was; };
    void main() { Word there = Word(at); was = there.word; there.word += 1u; }";

fn by_address(target: Resource, steps: &[Step]) -> Prepared {
    let pass = [&[Step::Bind { kernel: 0 }], steps, &[Step::Dispatch { groups: LOCAL }]].concat();
    Builder::new(vec![output(1), target]).kernel(STEP, LOCAL, &[], &[0]).pass(pass).done()
}

fn pushed(offset: u32, resource: usize) -> [Step; 2] {
    [Step::push_words(&[0, 0]), Step::PushAddress { offset, address: Address { resource, byte: 0 } }]
}

fn on_each_able_device(test: impl Fn(&mut Device)) {
    on_each_device(|device| {
        if device.info().has(Feature::BufferDeviceAddress) {
            test(device);
        } else {
            let error = device.load(&by_address(input(4), &pushed(0, 1))).unwrap_err();
            assert!(error.to_string().contains("needs bufferDeviceAddress"), "{error}");
        }
    });
}

/// Small buffers lie in a block with others, large ones have memory of their own.
#[test]
fn an_address_is_where_its_buffer_begins() {
    on_each_able_device(|device| {
        for count in [4, 1 << 20] {
            let slot = load(device, &by_address(input(count), &pushed(0, 1)));
            for pass in 0..3 {
                device.run_checked(slot).unwrap();
                assert_eq!(words(&device.read(slot, 0).unwrap()), [INPUT.word(0).wrapping_add(pass)]);
            }
            let left = words(&device.read(slot, 1).unwrap());
            assert_eq!(left[..2], [INPUT.word(0).wrapping_add(3), INPUT.word(1)]);
        }
    });
}

/// Of host memory, and of any byte in it.
#[test]
fn an_address_may_be_of_a_byte_of_the_hosts_memory() {
    on_each_able_device(|device| {
        let mapped = Resource::words_in(MemoryKind::HostVisible, "mapped", 4, Contents::Sequence(INPUT));
        let step = Step::PushAddress { offset: 0, address: Address { resource: 1, byte: 8 } };
        let slot = load(device, &by_address(mapped, &[Step::push_words(&[0, 0]), step]));
        device.run_checked(slot).unwrap();
        assert_eq!(words(&device.read(slot, 0).unwrap()), [INPUT.word(2)]);
        assert_eq!(words(&device.read(slot, 1).unwrap())[2], INPUT.word(2).wrapping_add(1));
    });
}

/// Two buffers that hold each other's address. Without a loop: SwiftShader crashes on a variable that holds an address.
#[test]
fn buffers_hold_addresses() {
    const ROUND: &str = "
        layout(buffer_reference) buffer Node;
        layout(buffer_reference, std430, buffer_reference_align = 8) buffer Node { uint value; Node next; };
        layout(push_constant) uniform Push { Node first; };
        layout(set = 0, binding = 0) writeonly buffer Out { uint found[4]; };
        void main() {
            found[0] = first.value;
            found[1] = first.next.value;
            found[2] = first.next.next.value;
            found[3] = first.next.next.next.value;
        }";
    on_each_able_device(|device| {
        let node = |value: u32| {
            let words = [7, 7, value, 0, 9, 9];
            let bytes = words.into_iter().flat_map(u32::to_ne_bytes).collect();
            Resource::words("node", 6, Contents::Data(lanescope::model::Data::new(bytes)))
        };
        let address = |resource| Address { resource, byte: 8 };
        let pass = vec![
            Step::Bind { kernel: 0 },
            Step::push_words(&[0, 0]),
            Step::PushAddress { offset: 0, address: address(1) },
            Step::Dispatch { groups: LOCAL },
        ];
        let mut prepared = Builder::new(vec![output(4), node(1), node(2)]).kernel(ROUND, LOCAL, &[], &[0]).pass(pass).done();
        prepared.case.addresses =
            [(1, 2), (2, 1)].map(|(holder, to)| HeldAddress { holder, at: 16, address: address(to) }).to_vec();
        let slot = load(device, &prepared);
        device.run_checked(slot).unwrap();
        assert_eq!(words(&device.read(slot, 0).unwrap()), [1, 2, 1, 2]);
        assert_eq!(words(&device.read(slot, 1).unwrap())[..4], [7, 7, 1, 0], "only the address is written");
        for (held, part) in [
            (HeldAddress { holder: 1, at: 20, address: address(2) }, "resource 1 is to hold an address at byte 20"),
            (HeldAddress { holder: 1, at: 16, address: Address { resource: 2, byte: 24 } }, "byte 24 of resource 2"),
        ] {
            prepared.case.addresses = vec![held];
            let error = device.load(&prepared).unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
        }
    });
}

/// Nobody sees what kernels do at an address: even a buffer that no descriptor lets them write is a case's own.
#[test]
fn what_has_an_address_is_not_shared() {
    on_each_able_device(|device| {
        let prepared = by_address(input(4), &pushed(0, 1));
        let slots = [load(device, &prepared), load(device, &prepared), load(device, &scale(4, 4, 1).done())];
        for slot in slots.into_iter().take(2) {
            device.run_checked(slot).unwrap();
            assert_eq!(words(&device.read(slot, 0).unwrap()), [INPUT.word(0)]);
        }
        assert_eq!(words(&device.read(slots[2], 0).unwrap())[0], INPUT.word(0));
    });
}

#[test]
fn addresses_that_nothing_has_are_refused() {
    on_each_able_device(|device| {
        let alone = Step::PushAddress { offset: 0, address: Address { resource: 1, byte: 0 } };
        for (target, steps, part) in [
            (input(4), &pushed(0, 2)[..], "byte 0 of resource 2, which is no buffer that has it"),
            (input(4), &pushed(4, 1), "from byte 4 on, of which 8 are set"),
            (input(4), &pushed(2, 1), "from byte 2 on"),
            (input(4), &[alone], "from byte 0 on, of which 0 are set"),
        ] {
            let error = device.load(&by_address(target, steps)).unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
        }
    });
}

/// What `cache/latency` computes with: no buffer of the tests lies across a border of 4 GiB, or is that large.
#[test]
fn addresses_carry_from_word_to_word() {
    const POINTERS: &str = include_str!("../../../glsl/cache/pointers.glsl");
    let kernel = format!(
        "{POINTERS}
        layout(set = 0, binding = 0) readonly buffer Input {{ uvec4 source[]; }};
        layout(set = 0, binding = 1) writeonly buffer Output {{ uvec4 result[]; }};
        void main() {{
            uvec4 given = source[gl_GlobalInvocationID.x];
            uvec2 address = address_of(given.xy, given.z);
            result[gl_GlobalInvocationID.x] = uvec4(address, word_at(given.xy, address), 0u);
        }}"
    );
    let halves = |address: u64| [0, 32].map(|shift| u32::try_from(address >> shift & 0xFFFF_FFFF).unwrap());
    let bases = [0, 0x7F12_FFFF_FFF0, 0x7F12_8000_0000, 0xFFFF_FFFC];
    let word_numbers = [0, 1, 3, 4, 0x3FFF_FFFF, 0x4000_0000, 0x7654_3210, 0xFFFF_FFFF];
    let given: Vec<(u64, u32)> = bases.iter().flat_map(|base| word_numbers.map(|word| (*base, word))).collect();
    let bytes = given.iter().flat_map(|(base, word)| [halves(*base)[0], halves(*base)[1], *word, 0]);
    let bytes: Vec<u8> = bytes.flat_map(u32::to_ne_bytes).collect();
    let expected = given.iter().flat_map(|(base, word)| {
        let [low, high] = halves(base + 4 * u64::from(*word));
        [low, high, *word, 0]
    });
    let expected: Vec<u32> = expected.collect();
    on_each_able_device(|device| {
        let count = u32::try_from(given.len()).unwrap();
        let source = Contents::Data(lanescope::model::Data::new(bytes.clone()));
        let resources = vec![Resource::words("input", 4 * u64::from(count), source), output(4 * u64::from(count))];
        let builder = Builder::new(resources).kernel(&kernel, LOCAL, &[], &[0, 1]).pass(dispatch(0, count));
        assert_eq!(run_and_read(device, &builder.done(), 1), expected);
    });
}
