//! What was recorded of accesses, as files: a row for each instruction, and a row for each access.

use std::io::{self, Write};

use serde::Serialize;

use crate::record::{Column, Kind};

/// The version of both tables, as their column `schema` holds it. Adding a column raises the minor version, renaming or removing one the
/// major version.
pub const TRACE_SCHEMA: &str = "t1.1";

/// What a field's type says of its column.
trait Typed {
    const KIND: Kind;
}

impl Typed for String {
    const KIND: Kind = Kind::Text;
}

impl Typed for &str {
    const KIND: Kind = Kind::Text;
}

impl Typed for u64 {
    const KIND: Kind = Kind::Integer;
}

impl Typed for Option<u64> {
    const KIND: Kind = Kind::Integer;
}

impl Typed for Option<f64> {
    const KIND: Kind = Kind::Real;
}

impl Typed for bool {
    const KIND: Kind = Kind::Boolean;
}

macro_rules! table {
    ($(#[$about:meta])* $row:ident $(<$life:lifetime>)? {
        $($group:ident { $($name:ident: $ty:ty $([$unit:literal])?, $description:literal;)* })*
    }) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize)]
        pub struct $row $(<$life>)? {
            $($(#[doc = $description] $(#[doc = concat!("\n\nUnit: ", $unit)])? pub $name: $ty,)*)*
        }

        impl $(<$life>)? $row $(<$life>)? {
            pub const COLUMNS: &'static [Column] = &[$($(
                Column::new(stringify!($name), stringify!($group), concat!($($unit)?), <$ty as Typed>::KIND, $description)
            ),*),*];
        }
    };
}

table! {
    /// An instruction that accesses memory, and what its requests cost.
    SiteRow {
        what {
            schema: String, "The version of this table.";
            device_name: String, "The device's own name.";
            shader: String, "The shader, as its case names it.";
            entry: String, "The entry point.";
            dispatch: u64, "The dispatch's place among those of the pass, from 0.";
            workgroups: u64 ["workgroups"], "All of the dispatch.";
            recorded: u64 ["workgroups"], "Those that were recorded.";
            passes: u64, "Passes that recorded them.";
            same_outputs: bool, "Whether the outputs stayed what they are without recording, bit by bit.";
            same_accesses: bool, "Whether the first workgroups accessed the same in another pass, as far as that was looked at.";
            dispatch_fetched_bytes: Option<u64> ["bytes"], "What memory moves for the loads of all workgroups, if they are like those that were recorded: the model's blocks, each once for a workgroup.";
            dispatch_stored_bytes: Option<u64> ["bytes"], "The same for stores and atomic operations: the sectors of each request, as many as the model says for a part of one.";
            dispatch_fma_f16: Option<u64>, "Multiply-adds of f16 that all workgroups do, counted as they ran: a multiplication and the addition that takes its result are one, and so is either by itself. As the module has them; a driver may do with fewer.";
            dispatch_fma_f32: Option<u64>, "The same of f32.";
            dispatch_fma_f64: Option<u64>, "The same of f64.";
            dispatch_special: Option<u64>, "Reciprocals, roots, exponentials, logarithms, sines and cosines.";
            dispatch_integer: Option<u64>, "Operations on whole numbers, without the arithmetic of addresses.";
            model: String, "The model of hardware that sectors, lines and wavefronts are counted by.";
            grouping: String, "What makes a request: `device` (its subgroups), or `N in a row` (invocations).";
        }
        site {
            site: u64, "The instruction's number, from 0.";
            kind: String, "load, store or atomic.";
            name: String, "What it accesses, by its name in the source, or by its set and binding where it has none; may be empty.";
            file: String, "The source file, where the module says it.";
            line: Option<u64>, "The line in it.";
            space: String, "storage, uniform, push_constants, shared, address (of a buffer), chosen (one of several) or unfollowed.";
            set: Option<u64>, "The descriptor set of a buffer.";
            binding: Option<u64>, "The binding of a buffer.";
            bytes_per_lane: Option<u64> ["bytes"], "What a lane asks for.";
        }
        requests {
            requests: u64, "Invocations of one subgroup at this instruction, by one chain of calls, in the same iterations of all loops: each is one.";
            accesses: u64, "Those of single lanes.";
            active_lanes: Option<f64> ["lanes"], "Accesses over requests.";
            parts: Option<u64>, "Into how many parts the device split the requests, all together; empty where it doesn't say.";
            repeats: u64, "Further reads of loops that wait for a value; each loop counts once among the accesses.";
            unfollowed: u64, "Accesses whose place isn't known.";
            why_unfollowed: String, "Why it isn't, where that holds of all.";
            out_of_bounds: u64, "Accesses that end beyond their buffer or variable.";
            pattern: String, "How most requests go from lane to lane: uniform, linear, strided, permuted or scattered.";
            stride: Option<f64>, "By how many of its own widths a strided one goes on.";
        }
        memory {
            asked_bytes: u64 ["bytes"], "What lanes ask for, each by itself.";
            distinct_bytes: u64 ["bytes"], "Bytes that requests touch, each once in its request.";
            sectors: u64, "Aligned sectors that requests touch.";
            fewest_sectors: u64, "The fewest that so many distinct bytes could be in.";
            efficiency: Option<f64> ["ratio"], "distinct_bytes over the bytes of the sectors; buffers alone.";
            lines: u64, "Aligned lines that requests touch.";
            unaligned: Option<f64> ["ratio"], "The share of requests that begin within a sector.";
            reuse_in_request: Option<f64> ["ratio"], "asked_bytes over distinct_bytes.";
            reuse_in_workgroup: Option<f64> ["ratio"], "asked_bytes over the bytes that each workgroup touches, each once.";
            reuse_in_trace: Option<f64> ["ratio"], "asked_bytes over footprint_bytes.";
            footprint_bytes: u64 ["bytes"], "Bytes that all recorded workgroups touch, each once.";
            most_sharing: u64 ["lanes"], "The most lanes of one request that share a word: for atomics, how far they wait for each other.";
        }
        shared {
            wavefronts: Option<u64>, "What requests take of shared memory, by the model.";
            least_wavefronts: Option<u64>, "What accesses of this width take without conflicts.";
            degree: Option<f64> ["ratio"], "wavefronts over least_wavefronts.";
            worst_degree: Option<f64> ["ratio"], "The same of the worst request.";
            broadcasts: u64, "Requests of which several lanes access one word.";
            model_source: String, "Where the model's rule for this width is from; `unverified` where that is nowhere.";
            remedy: String, "The array with longer rows, which take conflicts away: `tile[32][33]`; recorded once more.";
            remedy_degree: Option<f64> ["ratio"], "The degree that is left then.";
            remedy_bytes: Option<u64> ["bytes"], "What that takes more, per workgroup.";
        }
    }
}

table! {
    /// What invocations of a workgroup did to one another.
    FindingRow {
        what {
            schema: String, "The version of this table.";
            device_name: String, "The device's own name.";
            shader: String, "The shader, as its case names it.";
            entry: String, "The entry point.";
            dispatch: u64, "The dispatch's place among those of the pass, from 0.";
            workgroups: u64 ["workgroups"], "All of the dispatch.";
            checked: u64 ["workgroups"], "Those that were looked at.";
            class: String, "race, same-value, undecided, memory, not-coherent, uninitialised, barrier, left-out, exited or bounds, as `lanescope guide check` explains them.";
            count: u64, "How often it was seen; what follows is of the first time.";
            what: String, "The element, or the byte, that is accessed; empty for barriers.";
            space: String, "storage, uniform, push_constants, shared or image; empty for barriers and addresses.";
            set: Option<u64>, "The descriptor set of a buffer or an image.";
            binding: Option<u64>, "Its binding.";
            offset: Option<u64> ["bytes"], "From the beginning of the buffer or variable.";
            workgroup: Option<u64>, "The workgroup's linear number; empty where all were looked at together, as are the invocations then.";
        }
        first {
            first_kind: String, "load, store, atomic or barrier.";
            first_name: String, "What it accesses, by its name in the source.";
            first_file: String, "The source file, where the module says it.";
            first_line: Option<u64>, "The line in it.";
            first_invocation: Option<u64>, "The invocation's linear number in its workgroup.";
            first_subgroup: Option<u64>, "The device's subgroup.";
            first_lane: Option<u64>, "The lane in it.";
        }
        second {
            second_kind: String, "The same of the other access; empty where there is none.";
            second_name: String, "What it accesses, by its name in the source.";
            second_file: String, "The source file, where the module says it.";
            second_line: Option<u64>, "The line in it.";
            second_invocation: Option<u64>, "The invocation's linear number in its workgroup.";
            second_subgroup: Option<u64>, "The device's subgroup.";
            second_lane: Option<u64>, "The lane in it.";
        }
        remedy {
            remedy: String, "Barriers to add, as `barrier() after line 12`: run with these, no race on the variable was left. Empty where none was found.";
        }
    }
}

table! {
    /// An access.
    AccessRow<'r> {
        what {
            schema: &'r str, "The version of this table.";
            dispatch: u64, "The dispatch's place among those of the pass, from 0.";
            pass: u64, "The recording pass, from 0. What an instruction does in a subgroup is in one.";
            site: u64, "The instruction's number, as in the table of instructions.";
            kind: &'r str, "load, store, atomic or barrier.";
            name: &'r str, "What it accesses, by its name in the source, or by its set and binding where it has none; may be empty.";
            line: Option<u64>, "The source line, where the module says it.";
        }
        who {
            workgroup: u64, "The workgroup's linear number: x + width * (y + height * z).";
            invocation: u64, "The invocation's linear number in its workgroup.";
            subgroup: Option<u64>, "The device's subgroup.";
            lane: Option<u64>, "The lane in it.";
            leader: Option<u64>, "The lowest of the lanes that the device led here together, where it says that.";
            calls: u64, "The number of the chain of calls that leads here.";
            iterations: String, "The iterations of the loops around it, from 0, the outermost first, joined by points.";
            epoch: u64, "How many barriers the invocation came to before.";
        }
        access {
            space: &'r str, "storage, uniform, push_constants, shared, address; empty for barriers and where it isn't followed.";
            set: Option<u64>, "The descriptor set of a buffer.";
            binding: Option<u64>, "The binding of a buffer.";
            element: Option<u64>, "The place in an array of descriptors.";
            offset: Option<u64> ["bytes"], "From the beginning of the buffer or variable; of `address`, the address.";
            bytes: Option<u64> ["bytes"], "What the lane asks for; not all in a row where the value has gaps.";
            value: Option<u64>, "What was read where a loop may wait for it, as 32 bits.";
            count: u64, "How often in a row it read that.";
        }
    }
}

/// Rows of one of the tables as CSV: RFC 4180, UTF-8, one header line, line feeds alone.
pub struct Rows<W: Write>(csv::Writer<W>);

impl<W: Write> Rows<W> {
    pub fn new(out: W) -> Self {
        Self(csv::Writer::from_writer(out))
    }

    pub fn write(&mut self, row: &impl Serialize) -> io::Result<()> {
        self.0.serialize(row).map_err(io::Error::other)
    }

    pub fn finish(mut self) -> io::Result<W> {
        self.0.flush()?;
        self.0.into_inner().map_err(|error| io::Error::other(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(row: &impl Serialize) -> Vec<String> {
        let mut rows = Rows::new(Vec::new());
        rows.write(row).unwrap();
        let text = String::from_utf8(rows.finish().unwrap()).unwrap();
        text.lines().next().unwrap().split(',').map(str::to_owned).collect()
    }

    #[test]
    fn columns_are_those_that_the_schema_tells() {
        let names = |columns: &[Column]| columns.iter().map(|column| column.name.to_owned()).collect::<Vec<_>>();
        assert_eq!(header(&SiteRow::default()), names(SiteRow::COLUMNS));
        assert_eq!(header(&FindingRow::default()), names(FindingRow::COLUMNS));
        assert_eq!(header(&AccessRow::default()), names(AccessRow::COLUMNS));
    }
}
