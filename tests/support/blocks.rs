//! Blocks of SPIR-V functions, and the loops that they stand in.

use std::collections::{BTreeSet, HashMap, HashSet};

use rspirv::dr::{Block, Function, Operand};
use rspirv::spirv::{Op, Word};

pub fn id(operand: &Operand) -> Word {
    operand.id_ref_any().unwrap_or_else(|| panic!("{operand:?} is no id"))
}

pub fn label(block: &Block) -> Word {
    block.label.as_ref().unwrap().result_id.unwrap()
}

/// In how many loops each block stands: in those from whose header it can be reached without passing their merge block.
pub fn depths(main: &Function) -> HashMap<Word, usize> {
    let labels: HashSet<Word> = main.blocks.iter().map(label).collect();
    let is_label = |id: &Word| labels.contains(id);
    // What a block's last instruction names of blocks is where it may go.
    let next = |block: &Block| -> Vec<Word> {
        block.instructions.last().unwrap().operands.iter().filter_map(Operand::id_ref_any).filter(is_label).collect()
    };
    let next: HashMap<Word, Vec<Word>> = main.blocks.iter().map(|block| (label(block), next(block))).collect();
    let mut depths: HashMap<Word, usize> = labels.iter().map(|label| (*label, 0)).collect();
    for block in &main.blocks {
        let merge = block.instructions.iter().find(|instruction| instruction.class.opcode == Op::LoopMerge);
        let Some(merge) = merge.map(|merge| id(&merge.operands[0])) else { continue };
        let mut reached = BTreeSet::from([merge]);
        let mut ahead = vec![label(block)];
        while let Some(at) = ahead.pop() {
            if reached.insert(at) {
                *depths.get_mut(&at).unwrap() += 1;
                ahead.extend(&next[&at]);
            }
        }
    }
    depths
}
