//! The code cache: native code by shape, in generations of bounded size.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::block::ShapeKey;
use crate::translate::{Code, CodeMemory, CompileError, Isa, Refusal};

/// Code of a shape, or why it has none.
pub(super) type Translation = Result<Code, Refusal>;

/// What the cache has done since it was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct CacheCounters {
    /// Shapes compiled.
    pub shapes: u64,
    /// Bytes of native code compiled, evicted code included.
    pub code_bytes: u64,
    /// Time spent on compiling.
    pub translate_ns: u64,
    /// Generations of code memory given up because they were full.
    pub evictions: u64,
}

impl CacheCounters {
    fn since(&self, earlier: &CacheCounters) -> CacheCounters {
        CacheCounters {
            shapes: self.shapes - earlier.shapes,
            code_bytes: self.code_bytes - earlier.code_bytes,
            translate_ns: self.translate_ns - earlier.translate_ns,
            evictions: self.evictions - earlier.evictions,
        }
    }
}

/// Native code by shape. When a generation of code memory is full, the cache forgets all of it and starts the
/// next one; sessions keep the generations whose code they may still call.
pub(super) struct CodeCache {
    limit: usize,
    /// See [`Engine::with_defect`](super::Engine::with_defect).
    defect: Option<u8>,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    isa: Option<Isa>,
    memory: Option<Arc<CodeMemory>>,
    generations: u64,
    shapes: HashMap<ShapeKey, Translation>,
    counters: CacheCounters,
}

impl CodeCache {
    /// An empty cache whose generations take at most so many bytes.
    pub(super) fn new(limit: usize, defect: Option<u8>) -> CodeCache {
        CodeCache { limit, defect, inner: Mutex::default() }
    }

    /// The opcode whose code is wrong.
    pub(super) fn defect(&self) -> Option<u8> {
        self.defect
    }

    pub(super) fn counters(&self) -> CacheCounters {
        self.lock().counters
    }

    /// All code that the current generation holds.
    pub(super) fn listing(&self) -> Vec<(ShapeKey, Code)> {
        let inner = self.lock();
        inner.shapes.iter().filter_map(|(key, code)| Some((key.clone(), code.clone().ok()?))).collect()
    }

    /// The code of a shape, or why it has none, if it has been compiled.
    pub(super) fn find(&self, key: &ShapeKey) -> Option<Translation> {
        self.lock().shapes.get(key).cloned()
    }

    /// Compiles shapes in one batch, so that one change of page protections serves all of them. Those that have been compiled in the
    /// meantime are only looked up. The results are in the order of `keys`; with them, what it took.
    pub(super) fn compile(&self, keys: &[ShapeKey]) -> (Vec<Translation>, CacheCounters) {
        let mut inner = self.lock();
        let before = inner.counters;
        let started = Instant::now();
        let mut results = vec![None; keys.len()];
        // A memory that is full is given up with what it holds, so that the rest needs another round.
        loop {
            let mut missing = Vec::new();
            for (key, result) in keys.iter().zip(&mut results) {
                *result = result.take().or_else(|| inner.shapes.get(key).cloned());
                if result.is_none() && !missing.contains(key) {
                    missing.push(key.clone());
                }
            }
            if missing.is_empty() {
                break;
            }
            inner.compile(&missing, self.limit, self.defect);
        }
        let work = CacheCounters {
            translate_ns: started.elapsed().as_nanos() as u64,
            ..inner.counters.since(&before)
        };
        inner.counters.translate_ns += work.translate_ns;
        (results.into_iter().flatten().collect(), work)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn compile(&mut self, batch: &[ShapeKey], limit: usize, defect: Option<u8>) {
        if !self.compile_into_memory(batch, limit, defect) {
            // Full: once more in a new generation, the first shape alone, which is the one that is wanted.
            self.memory = None;
            self.shapes.clear();
            self.counters.evictions += 1;
            if !self.compile_into_memory(&batch[..1], limit, defect) {
                self.shapes.insert(batch[0].clone(), Err(Refusal::CacheFull));
            }
        }
    }

    /// `false`: the memory is full.
    fn compile_into_memory(&mut self, batch: &[ShapeKey], limit: usize, defect: Option<u8>) -> bool {
        let memory = match self.memory(limit) {
            Ok(memory) => memory,
            Err(error) => {
                tracing::warn!("{error}");
                let none = batch.iter().map(|key| (key.clone(), Err(Refusal::Compiler)));
                self.shapes.extend(none);
                return true;
            }
        };
        let mut room = true;
        for (key, compiled) in batch.iter().zip(memory.compile(batch, defect)) {
            let translation = match compiled {
                Ok(code) => {
                    self.counters.shapes += 1;
                    self.counters.code_bytes += code.native().len() as u64;
                    Ok(code)
                }
                Err(CompileError::Refused(why)) => Err(why),
                Err(CompileError::Memory(_)) => {
                    room = false;
                    continue;
                }
                Err(error) => {
                    debug_assert!(false, "{error}: {key:?}");
                    tracing::error!("{error}");
                    Err(Refusal::Compiler)
                }
            };
            self.shapes.insert(key.clone(), translation);
        }
        room
    }

    fn memory(&mut self, limit: usize) -> Result<Arc<CodeMemory>, CompileError> {
        if let Some(memory) = &self.memory {
            return Ok(memory.clone());
        }
        let isa = match &self.isa {
            Some(isa) => isa.clone(),
            None => self.isa.insert(Isa::host()?).clone(),
        };
        self.generations += 1;
        let memory = CodeMemory::new(&isa, self.generations, limit)?;
        Ok(self.memory.insert(memory).clone())
    }
}
