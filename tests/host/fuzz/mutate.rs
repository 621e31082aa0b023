//! Changes to a module that leave most of it standing: changed bits alone rarely get past the header.

use rand::Rng;
use rand::seq::IndexedRandom;

const HEADER_WORDS: usize = 5;

/// Changes one thing about the words; the result has at most so many.
pub fn change(words: &mut Vec<u32>, most_words: usize, random: &mut impl Rng) {
    let instructions = instructions(words);
    let Some((start, length)) = instructions.choose(random).copied() else {
        words.push(random.random());
        return words.truncate(most_words);
    };
    match random.random_range(0..9) {
        0..3 => set_operand(words, start, length, random),
        3 => words[start] = (words[start] & 0xffff_0000) | random.random_range(0..420),
        4 => drop(words.drain(start..start + length)),
        5 => {
            let copy = words[start..start + length].to_vec();
            let place = instructions.choose(random).map_or(start, |(place, _)| *place);
            let times = if random.random_bool(0.1) { 50 } else { 1 };
            words.splice(place..place, copy.repeat(times));
        }
        6 => {
            let other = instructions.choose(random).copied().unwrap_or((start, length));
            swap(words, (start, length), other);
        }
        7 if length > 1 => {
            words.remove(start + length - 1);
            words[start] -= 1 << 16;
        }
        7 | 8 => {
            words.insert(start + length, any_word(words, start, random));
            words[start] = words[start].wrapping_add(1 << 16);
        }
        _ => unreachable!("the range ends before"),
    }
    words.truncate(most_words);
}

fn instructions(words: &[u32]) -> Vec<(usize, usize)> {
    let (mut found, mut at) = (Vec::new(), HEADER_WORDS);
    while let Some(first) = words.get(at) {
        let length = (first >> 16) as usize;
        if length == 0 || at + length > words.len() {
            break;
        }
        found.push((at, length));
        at += length;
    }
    found
}

fn set_operand(words: &mut [u32], start: usize, length: usize, random: &mut impl Rng) {
    if length > 1 {
        let place = start + random.random_range(1..length);
        words[place] = any_word(words, place, random);
    }
}

/// A small number, a number at an edge, or a word that the module has, which may well be an id: anywhere, or near this place,
/// where what refers to itself is made.
fn any_word(words: &[u32], place: usize, random: &mut impl Rng) -> u32 {
    match random.random_range(0..5) {
        0 => random.random_range(0..80),
        1 => [0, 1, 64, u32::MAX, 1 << 31, i32::MAX.unsigned_abs(), 1 << 16].choose(random).copied().unwrap_or_default(),
        2 => random.random(),
        3 => words[place.saturating_sub(4)..words.len().min(place + 4)].choose(random).copied().unwrap_or_default(),
        _ => words.choose(random).copied().unwrap_or_default(),
    }
}

fn swap(words: &mut Vec<u32>, one: (usize, usize), other: (usize, usize)) {
    let ((first, first_length), (second, second_length)) = if one.0 <= other.0 { (one, other) } else { (other, one) };
    if first == second {
        return;
    }
    let late = words[second..second + second_length].to_vec();
    let early = words[first..first + first_length].to_vec();
    words.splice(second..second + second_length, early);
    words.splice(first..first + first_length, late);
}
