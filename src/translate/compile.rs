//! From loops to memory that can be called: one Cranelift module a generation of code.
//!
//! Together with the one call in `engine::translated`, this is where the translator is unsafe.

use std::ffi::c_void;
use std::mem;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use cranelift_codegen::Context as Compiler;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{AbiParam, Block, InstBuilder, Signature, UserFuncName};
use cranelift_codegen::isa::{OwnedTargetIsa, TargetFrontendConfig};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{ArenaMemoryProvider, JITBuilder, JITModule};
use cranelift_module::{FuncId, Module, ModuleError, default_libcall_names};
use seqjit_runtime::num::Level;
use target_lexicon::Architecture;

use super::emit::Emit;
use super::registers::RegisterContext;
use super::{Refusal, fused, registers};
use crate::block::CodeKey;

/// Bytes between the values of two scalars of a word: one of four bytes a lane.
pub const SCALAR_ROW: usize = 4 * seqjit_runtime::isa::PARTITIONS;
/// Offsets in [`Context`].
pub const CONTEXT_SBUF: i32 = mem::offset_of!(Context, sbuf) as i32;
/// See [`CONTEXT_SBUF`].
pub const CONTEXT_PSUM: i32 = mem::offset_of!(Context, psum) as i32;
/// See [`CONTEXT_SBUF`].
pub const CONTEXT_SCALARS: i32 = mem::offset_of!(Context, scalars) as i32;

/// What native code sees of the machine.
#[repr(C)]
pub struct Context {
    /// SBUF of the core, partition 0.
    pub sbuf: *mut u8,
    /// PSUM of the core, partition 0.
    pub psum: *mut u8,
    /// [`SCALAR_ROW`] bytes for each scalar.
    pub scalars: *const u32,
}

/// Native code: its context, and its table. For a shape, a [`Context`] and the offset of each operand from its memory's
/// partition 0, sources first; for a run of register words, a [`RegisterContext`] and its numbers.
type Entry = unsafe extern "C" fn(*mut c_void, *const u64);

/// Why there is no code.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// Cranelift does not support this host.
    #[error("no native code for this host: {0}")]
    Host(String),
    /// Memory for code cannot be had, or is used up.
    #[error("no memory for native code: {0}")]
    Memory(String),
    /// The shape has no lowering.
    #[error("{0}")]
    Refused(Refusal),
    /// A defect of the lowering.
    #[error("native code: {0}")]
    Compiler(Box<ModuleError>),
}

/// The instruction set of this host, for Cranelift.
#[derive(Clone)]
pub struct Isa(OwnedTargetIsa);

/// Features of x86-64 that Cranelift knows, with the first level that has them. Where a level lacks one, Cranelift makes
/// do with SSE2, which every x86-64 has.
const FEATURES: [(&str, Level); 18] = [
    ("has_sse3", Level::Avx2),
    ("has_ssse3", Level::Avx2),
    ("has_sse41", Level::Avx2),
    ("has_sse42", Level::Avx2),
    ("has_popcnt", Level::Avx2),
    ("has_avx", Level::Avx2),
    ("has_avx2", Level::Avx2),
    ("has_fma", Level::Avx2),
    ("has_bmi1", Level::Avx2),
    ("has_bmi2", Level::Avx2),
    ("has_lzcnt", Level::Avx2),
    ("has_avx_vnni", Level::Avx512),
    ("has_avx512vnni", Level::Avx512),
    ("has_avx512bitalg", Level::Avx512),
    ("has_avx512dq", Level::Avx512),
    ("has_avx512f", Level::Avx512),
    ("has_avx512vl", Level::Avx512),
    ("has_avx512vbmi", Level::Avx512),
];

impl Isa {
    /// What this CPU has, up to a level.
    pub fn host(level: Level) -> Result<Isa, CompileError> {
        let host = |error: &dyn std::fmt::Display| CompileError::Host(error.to_string());
        let mut flags = settings::builder();
        // The verifier adds half to the time of a translation: it is for tests.
        let verifier = if cfg!(debug_assertions) { "true" } else { "false" };
        let wanted = [
            ("opt_level", "speed"),
            ("enable_verifier", verifier),
            ("unwind_info", "false"),
            ("is_pic", "false"),
            ("use_colocated_libcalls", "false"),
            ("enable_probestack", "false"),
        ];
        for (name, value) in wanted {
            flags.set(name, value).map_err(|e| host(&e))?;
        }
        let mut builder = cranelift_native::builder().map_err(|e| host(&e))?;
        let x64 = builder.triple().architecture == Architecture::X86_64;
        for (name, _) in FEATURES.iter().filter(|(_, first)| x64 && level < *first) {
            builder.set(name, "false").map_err(|e| host(&e))?;
        }
        let isa = builder.finish(settings::Flags::new(flags)).map_err(|e| host(&e))?;
        Ok(Isa(isa))
    }
}

/// Code before and behind Cranelift.
pub struct Listed {
    /// As it goes in.
    pub clif: String,
    /// Instructions and constants, before relocation.
    pub native: Vec<u8>,
}

/// Compiles code to be looked at, as [`CodeMemory::compile`] does to call it.
pub fn list(isa: &Isa, key: &CodeKey) -> Result<Listed, CompileError> {
    let mut compiler = Compiler::new();
    compiler.func.signature = Signature::new(isa.0.default_call_conv());
    compiler.func.signature.params = vec![AbiParam::new(I64); 2];
    emit(&mut compiler, &mut FunctionBuilderContext::new(), isa.0.frontend_config(), key, None)
        .map_err(CompileError::Refused)?;
    let clif = compiler.func.display().to_string();
    match compiler.compile(&*isa.0, &mut ControlPlane::default()) {
        Ok(code) => Ok(Listed { clif, native: code.code_buffer().to_vec() }),
        Err(error) => Err(CompileError::Compiler(Box::new(ModuleError::Compilation(error.inner)))),
    }
}

/// Memory for native code, freed as a whole when nobody may call into it any more.
pub struct CodeMemory {
    /// Which generation this is.
    pub number: u64,
    module: Mutex<Option<JITModule>>,
}

impl CodeMemory {
    /// Reserves room for so many bytes.
    pub fn new(isa: &Isa, number: u64, bytes: usize) -> Result<Arc<CodeMemory>, CompileError> {
        let arena =
            ArenaMemoryProvider::new_with_size(bytes).map_err(|e| CompileError::Memory(e.to_string()))?;
        let mut builder = JITBuilder::with_isa(isa.0.clone(), default_libcall_names());
        builder.memory_provider(Box::new(arena));
        let module = Mutex::new(Some(JITModule::new(builder)));
        Ok(Arc::new(CodeMemory { number, module }))
    }

    /// Compiles code for keys, all made callable at once; the results are in the order of `keys`. Code of the opcode
    /// `defect` is made wrong.
    pub fn compile(
        self: &Arc<Self>,
        keys: &[CodeKey],
        defect: Option<u8>,
    ) -> Vec<Result<Code, CompileError>> {
        let mut module = self.module.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(module) = module.as_mut() else {
            return keys.iter().map(|_| Err(CompileError::Memory("freed".into()))).collect();
        };
        let mut scratch = (module.make_context(), FunctionBuilderContext::new());
        let defined: Vec<_> = keys.iter().map(|key| define(module, &mut scratch, key, defect)).collect();
        if let Err(error) = module.finalize_definitions() {
            let text = error.to_string();
            return defined.into_iter().map(|one| one.and(Err(CompileError::Memory(text.clone())))).collect();
        }
        let callable = |(id, native): (FuncId, Vec<u8>)| {
            let address = module.get_finalized_function(id);
            // SAFETY: the function was declared with the parameters of `Entry` in the host's C convention, and
            // it stays where it is as long as `memory` lives.
            let entry = unsafe { mem::transmute::<*const u8, Entry>(address) };
            Code { memory: self.clone(), entry, native: native.into() }
        };
        defined.into_iter().map(|one| one.map(callable)).collect()
    }
}

impl Drop for CodeMemory {
    fn drop(&mut self) {
        let module = self.module.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(module) = module.take() {
            // SAFETY: every `Code` holds an Arc of its memory, so that none is left, and none is running.
            unsafe { module.free_memory() };
        }
    }
}

/// Compiles one function; it cannot be called before the module is finalized.
fn define(
    module: &mut JITModule,
    (compiler, builder): &mut (Compiler, FunctionBuilderContext),
    key: &CodeKey,
    defect: Option<u8>,
) -> Result<(FuncId, Vec<u8>), CompileError> {
    let failed = |error: ModuleError| match error {
        ModuleError::Allocation { .. } => CompileError::Memory(error.to_string()),
        other => CompileError::Compiler(Box::new(other)),
    };
    module.clear_context(compiler);
    compiler.func.signature.params = vec![AbiParam::new(I64); 2];
    let id = module.declare_anonymous_function(&compiler.func.signature).map_err(failed)?;
    compiler.func.name = UserFuncName::user(0, id.as_u32());
    emit(compiler, builder, module.isa().frontend_config(), key, defect).map_err(CompileError::Refused)?;
    module.define_function(id, compiler).map_err(failed)?;
    let native = compiler.compiled_code().map_or_else(Vec::new, |code| code.code_buffer().to_vec());
    Ok((id, native))
}

fn emit(
    compiler: &mut Compiler,
    builder: &mut FunctionBuilderContext,
    frontend: TargetFrontendConfig,
    key: &CodeKey,
    defect: Option<u8>,
) -> Result<(), Refusal> {
    let mut b = FunctionBuilder::new(&mut compiler.func, builder);
    let entry = b.create_block();
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    let (context, table) = (b.block_params(entry)[0], b.block_params(entry)[1]);
    match key {
        CodeKey::Registers(run) => registers::emit(b, frontend, run, (context, table), defect),
        CodeKey::Word(shape) => emit_words(b, frontend, entry, |e| {
            e.defect = defect == Some(shape.word.opcode());
            super::build(shape)?.emit(shape, e, context, table)
        }),
        CodeKey::Fused(words) => {
            emit_words(b, frontend, entry, |e| fused::emit(words, e, context, table, defect))
        }
    }
}

/// The function around the loops of one or several words.
fn emit_words(
    mut b: FunctionBuilder<'_>,
    frontend: TargetFrontendConfig,
    entry: Block,
    words: impl FnOnce(&mut Emit<'_>) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    b.seal_block(entry);
    let mut e = Emit { b, defect: false };
    let emitted = words(&mut e);
    // Also where it is refused: what is built so far must still be a function.
    e.b.ins().return_(&[]);
    e.b.finalize(frontend);
    emitted
}

/// Native code for one key.
#[derive(Clone)]
pub struct Code {
    memory: Arc<CodeMemory>,
    entry: Entry,
    native: Arc<[u8]>,
}

impl Code {
    /// Which generation of code memory it lies in.
    pub fn generation(&self) -> u64 {
        self.memory.number
    }

    /// The instructions, before relocation.
    pub fn native(&self) -> &[u8] {
        &self.native
    }

    /// Runs the word, or the words of the run.
    ///
    /// # Safety
    /// The context's memories are those of a core of the shape's generation, the table holds the offsets of a
    /// word of this shape whose checks have passed, and scalars are there for all that the shape reads. For a run, the table
    /// holds what its words leave open, in their order.
    pub unsafe fn call(&self, context: &Context, table: &[u64]) {
        // SAFETY: the caller's promise; the code reads and writes only what the checks of the word allow.
        unsafe { (self.entry)(ptr::from_ref(context).cast_mut().cast(), table.as_ptr()) }
    }

    /// Runs words on the register file.
    ///
    /// # Safety
    /// The code is that of a run of register words, the table is that of a run with its key, and the pointers of the
    /// context are valid: 64 registers that nobody else uses, and a byte.
    pub unsafe fn call_registers(&self, context: &mut RegisterContext, table: &[u64]) {
        // SAFETY: the caller's promise; the code reads and writes only context, registers, table and the byte.
        unsafe { (self.entry)(ptr::from_mut(context).cast(), table.as_ptr()) }
    }
}
