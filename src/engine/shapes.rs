//! The shapes that the words of a session have: known by number, with or without code.

use std::collections::HashMap;

use super::cache::{CacheCounters, CodeCache};
use super::fused::FusedCodes;
use super::native::Packing;
use super::tier::{Tier, cost, pays};
use crate::block::{CodeKey, Place, ShapeKey, overlaps_of, sources_of};
use crate::translate::{Binding, Code, Refusal};
use rustc_hash::FxBuildHasher;

/// A shape of a session.
pub(super) struct Shape {
    pub(super) key: ShapeKey,
    pub(super) packing: Packing,
    pub(super) native: Native,
    /// What one word of it costs in the interpreter, in the unit of [`pays`].
    cost: u64,
    /// What its words have cost or, where they are planned, are expected to.
    heat: u64,
}

/// Whether a shape has code.
pub(super) enum Native {
    /// Not yet.
    Cold,
    /// It has.
    Code(Code),
    /// It never will.
    Refused(Refusal),
}

/// All shapes of a session.
#[derive(Default)]
pub(super) struct Shapes {
    list: Vec<Shape>,
    numbers: HashMap<ShapeKey, u32, FxBuildHasher>,
    /// Shapes that are due for compiling.
    due: Vec<u32>,
    /// Of runs of several words.
    pub(super) fused: FusedCodes,
}

impl Shape {
    /// Whether a word of this shape still has it with other operands.
    pub(super) fn is_of(&self, binding: &Binding) -> bool {
        self.key.variant == binding.variant
            && self.key.destination == Place::of(&binding.destination)
            && self.key.sources == sources_of(binding)
            && self.key.overlaps == overlaps_of(binding)
    }
}

impl Shapes {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        *self = Shapes::default();
    }

    pub(super) fn get(&self, number: u32) -> &Shape {
        &self.list[number as usize]
    }

    /// The number of a word's shape; the flag tells that it was known.
    pub(super) fn intern(&mut self, key: ShapeKey, binding: &Binding, cache: &CodeCache) -> (u32, bool) {
        if let Some(number) = self.numbers.get(&key) {
            return (*number, true);
        }
        let number = self.list.len() as u32;
        let native = match cache.find(&CodeKey::Word(key.clone())) {
            None => Native::Cold,
            Some(Ok(code)) => Native::Code(code),
            Some(Err(why)) => Native::Refused(why),
        };
        let known = !matches!(native, Native::Cold);
        let cost = cost(binding.lanes, binding.destination.count);
        self.list.push(Shape { key: key.clone(), packing: Packing::of(binding), native, cost, heat: 0 });
        self.numbers.insert(key, number);
        (number, known)
    }

    /// Adds one execution of a word, past or expected, to what a shape without code costs.
    pub(super) fn warm(&mut self, number: u32, tier: Tier) {
        let shape = &mut self.list[number as usize];
        if !matches!(shape.native, Native::Cold) {
            return;
        }
        let before = shape.heat;
        shape.heat += shape.cost;
        let was_due = before > 0 && (tier == Tier::Jit || pays(before));
        if !was_due && (tier == Tier::Jit || pays(shape.heat)) {
            self.due.push(number);
        }
    }

    /// Compiles all shapes that are due, in one batch; what that took.
    pub(super) fn compile_due(&mut self, cache: &CodeCache) -> Option<CacheCounters> {
        if self.due.is_empty() {
            return None;
        }
        let due = std::mem::take(&mut self.due);
        let keys: Vec<CodeKey> =
            due.iter().map(|number| CodeKey::Word(self.get(*number).key.clone())).collect();
        let (translations, work) = cache.compile(&keys);
        for (number, translation) in due.into_iter().zip(translations) {
            let shape = &mut self.list[number as usize];
            shape.native = match translation {
                Ok(code) => Native::Code(code),
                // It is asked for again when it has become due once more.
                Err(Refusal::Pending) => {
                    shape.heat = 0;
                    Native::Cold
                }
                Err(why) => Native::Refused(why),
            };
        }
        Some(work)
    }
}
