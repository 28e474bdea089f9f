//! The code cache: native code by shape, in generations of bounded size.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::background::Worker;
use super::options::EngineOptions;
use crate::block::CodeKey;
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
    worker: Option<Worker>,
    shapes: Arc<Shapes>,
}

struct Shapes {
    options: EngineOptions,
    /// See [`Engine::with_defect`](super::Engine::with_defect).
    defect: Option<u8>,
    /// Held by who compiles, so that no shape is compiled twice; those who only look up need not wait for it.
    compiling: Mutex<()>,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    isa: Option<Isa>,
    memory: Option<Arc<CodeMemory>>,
    generations: u64,
    known: HashMap<CodeKey, Translation>,
    /// Shapes that the worker has been sent.
    pending: HashSet<CodeKey>,
    counters: CacheCounters,
}

impl CodeCache {
    /// An empty cache that compiles where it is asked for code.
    pub(super) fn new(options: &EngineOptions, defect: Option<u8>) -> CodeCache {
        let (compiling, inner) = Default::default();
        CodeCache { worker: None, shapes: Arc::new(Shapes { options: *options, defect, compiling, inner }) }
    }

    /// Leaves compiling to a thread from now on.
    pub(super) fn compile_in_background(&mut self) -> io::Result<()> {
        let shapes = self.shapes.clone();
        self.worker = Some(Worker::start(move |batch| {
            shapes.compile(batch);
        })?);
        Ok(())
    }

    /// The opcode whose code is wrong.
    pub(super) fn defect(&self) -> Option<u8> {
        self.shapes.defect
    }

    pub(super) fn counters(&self) -> CacheCounters {
        self.shapes.lock().counters
    }

    /// All code that the current generation holds.
    pub(super) fn listing(&self) -> Vec<(CodeKey, Code)> {
        let inner = self.shapes.lock();
        inner.known.iter().filter_map(|(key, code)| Some((key.clone(), code.clone().ok()?))).collect()
    }

    /// The code of a shape, or why it has none, if it has been compiled.
    pub(super) fn find(&self, key: &CodeKey) -> Option<Translation> {
        self.shapes.lock().known.get(key).cloned()
    }

    /// Compiles shapes in one batch, so that one change of page protections serves all of them. Those that have been compiled in the
    /// meantime are only looked up. The results are in the order of `keys`; with them, what it took. Where a thread compiles, the answer
    /// is [`Refusal::Pending`] until it has.
    pub(super) fn compile(&self, keys: &[CodeKey]) -> (Vec<Translation>, CacheCounters) {
        if let Some(worker) = &self.worker
            && let Some(results) = self.shapes.request(worker, keys)
        {
            return (results, CacheCounters::default());
        }
        self.shapes.compile(keys)
    }
}

impl Shapes {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known of shapes, and those of them, each once, of which nothing is known.
    fn look_up(&self, keys: &[CodeKey], results: &mut [Option<Translation>]) -> Vec<CodeKey> {
        let inner = self.lock();
        let mut missing = Vec::new();
        for (key, result) in keys.iter().zip(results) {
            *result = result.take().or_else(|| inner.known.get(key).cloned());
            if result.is_none() && !missing.contains(key) {
                missing.push(key.clone());
            }
        }
        missing
    }

    /// Sends what is missing to the worker, once; `None` if it has ended.
    fn request(&self, worker: &Worker, keys: &[CodeKey]) -> Option<Vec<Translation>> {
        let mut results = vec![None; keys.len()];
        let mut missing = self.look_up(keys, &mut results);
        missing.retain(|key| self.lock().pending.insert(key.clone()));
        if !missing.is_empty() && !worker.send(missing) {
            return None;
        }
        Some(results.into_iter().map(|result| result.unwrap_or(Err(Refusal::Pending))).collect())
    }

    /// Compiles what is missing, in one batch.
    fn compile(&self, keys: &[CodeKey]) -> (Vec<Translation>, CacheCounters) {
        let _turn = self.compiling.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.lock().counters;
        let started = Instant::now();
        let mut results = vec![None; keys.len()];
        // A memory that is full is given up with what it holds, so that the rest needs another round.
        loop {
            let missing = self.look_up(keys, &mut results);
            if missing.is_empty() {
                break;
            }
            if !self.compile_into_memory(&missing) {
                // Full: once more in a new generation, the first shape alone, which is the one that is wanted.
                self.lock().forget();
                if !self.compile_into_memory(&missing[..1]) {
                    self.lock().known.insert(missing[0].clone(), Err(Refusal::CacheFull));
                }
            }
        }
        let mut inner = self.lock();
        inner.pending.retain(|key| !keys.contains(key));
        let work = CacheCounters {
            translate_ns: started.elapsed().as_nanos() as u64,
            ..inner.counters.since(&before)
        };
        inner.counters.translate_ns += work.translate_ns;
        (results.into_iter().flatten().collect(), work)
    }

    /// `false`: the memory is full.
    fn compile_into_memory(&self, batch: &[CodeKey]) -> bool {
        let memory = self.lock().memory(&self.options);
        let memory = match memory {
            Ok(memory) => memory,
            Err(error) => {
                tracing::warn!("{error}");
                let none = batch.iter().map(|key| (key.clone(), Err(Refusal::Compiler)));
                self.lock().known.extend(none);
                return true;
            }
        };
        let compiled = memory.compile(batch, self.defect);
        let mut inner = self.lock();
        batch.iter().zip(compiled).fold(true, |room, (key, compiled)| inner.publish(key, compiled) && room)
    }
}

impl Inner {
    /// Makes the code of a shape known; `false`: there was no room for it.
    fn publish(&mut self, key: &CodeKey, compiled: Result<Code, CompileError>) -> bool {
        let translation = match compiled {
            Ok(code) => {
                self.counters.shapes += 1;
                self.counters.code_bytes += code.native().len() as u64;
                Ok(code)
            }
            Err(CompileError::Refused(why)) => Err(why),
            Err(CompileError::Memory(_)) => return false,
            Err(error) => {
                debug_assert!(false, "{error}: {key:?}");
                tracing::error!("{error}");
                Err(Refusal::Compiler)
            }
        };
        self.known.insert(key.clone(), translation);
        true
    }

    /// Gives up the generation.
    fn forget(&mut self) {
        self.memory = None;
        self.known.clear();
        self.counters.evictions += 1;
    }

    fn memory(&mut self, options: &EngineOptions) -> Result<Arc<CodeMemory>, CompileError> {
        if let Some(memory) = &self.memory {
            return Ok(memory.clone());
        }
        let isa = match &self.isa {
            Some(isa) => isa.clone(),
            None => self.isa.insert(Isa::host(options.cpu)?).clone(),
        };
        self.generations += 1;
        let memory = CodeMemory::new(&isa, self.generations, options.code_limit)?;
        Ok(self.memory.insert(memory).clone())
    }
}
