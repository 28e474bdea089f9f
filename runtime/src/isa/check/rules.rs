//! The list of validity rules: stable names, what a broken rule means, and where the manual states it.

/// When a broken rule stops a program (chapter 00, A2 03-E2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RuleClass {
    /// Opcode, length, mode, enum, dtype, count, alignment or bounds: an error in both modes.
    Hard,
    /// The word or its operator stands in the wrong engine's stream: lenient mode warns.
    Engine,
    /// A reserved byte is set: lenient mode warns.
    Reserved,
    /// The generation's tables hold nothing that runs the word: lenient mode warns.
    GenerationTable,
    /// Memory space, start partition, quadrant, bank or cell width: lenient mode warns.
    Region,
    /// The manual leaves the meaning undefined: an unsupported word in both modes.
    Unsupported,
    /// The meaning rests on a guess: an unsupported word in strict mode, a warning in lenient mode.
    Unproven,
    /// Always a warning.
    Notice,
}

impl RuleClass {
    /// What a broken rule of this class is in strict or lenient mode.
    pub const fn severity(self, strict: bool) -> Severity {
        match self {
            RuleClass::Hard => Severity::Error,
            RuleClass::Unsupported => Severity::Unsupported,
            RuleClass::Unproven if strict => Severity::Unsupported,
            RuleClass::Engine | RuleClass::Reserved | RuleClass::GenerationTable | RuleClass::Region
                if strict =>
            {
                Severity::Error
            }
            _ => Severity::Warning,
        }
    }
}

/// How bad a finding is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Severity {
    /// The word runs.
    Warning,
    /// The word is well formed, but what it means is not known: it must not run.
    Unsupported,
    /// The word is malformed: it must not run.
    Error,
}

impl std::fmt::Display for Severity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Severity::Warning => "warning",
            Severity::Unsupported => "unsupported",
            Severity::Error => "error",
        })
    }
}

/// One validity rule.
#[derive(PartialEq, Eq, Debug)]
pub struct Rule {
    /// Stable name in kebab case.
    pub name: &'static str,
    /// What breaking it means.
    pub class: RuleClass,
    /// Chapter and section of the manual.
    pub source: &'static str,
    /// The rule in one line.
    pub text: &'static str,
}

/// Declares the rules as constants and as the list [`RULES`].
macro_rules! rules {
    ($($constant:ident $name:literal $class:ident $source:literal $text:literal;)*) => {
        $(pub(crate) const $constant: &Rule =
            &Rule { name: $name, class: RuleClass::$class, source: $source, text: $text };)*
        /// Every validity rule.
        pub const RULES: &[&Rule] = &[$($constant),*];
    };
}

rules! {
    // The word and its preamble.
    OPCODE "opcode" Hard "03 §1.1" "byte 0 is in the opcode enum of the generation";
    WORD_LENGTH "word-length" Hard "03 §1.1" "byte 1 is 0x10";
    DEBUG_COMMAND "debug-command" Notice "03 §1.1" "byte 2 is a known trace level";
    WAIT_MODE "wait-mode" Hard "03 §2.2" "the wait mode is in the enum of the generation";
    WAIT_UNORDERED "wait-unordered" Notice "03 §2.2 E4" "UNORDERED exists from MARIANA on";
    UPDATE_MODE "update-mode" Hard "03 §2.3" "the update mode is in the enum";
    REGISTER_OPERAND "register-operand" Hard "03 §5" "a register in a four-byte immediate is 0..63, the rest zero";
    ENGINE "engine" Engine "03 §8.3" "the opcode may stand in this engine's stream";
    ENGINE_ARM "engine-arm" Engine "04 §3.1, §4.2, §6.1" "the engine has hardware for this operator";
    DVE_PROGRAM "dve-program" GenerationTable "10 §10" "the DVE opcode table holds a program for the opcode";
    NO_KERNEL "no-kernel" GenerationTable "03 §8.1 E24" "the generation ships something that runs the opcode";
    OPCODE_REFUSED "opcode-refused" Unsupported "00 table B" "layout and meaning of the opcode are known";
    FIELD_REFUSED "field-refused" Unsupported "00 table B" "the meaning of the field's value is known";
    FIELD_UNPROVEN "field-unproven" Unproven "00 table B" "the numbering of the field's values is proved";
    PAYLOAD_UNKNOWN "payload-unknown" Unsupported "02 §8.5" "bytes without a known meaning are zero";
    RESERVED_BYTE "reserved-byte" Reserved "03 §9" "reserved bytes are zero";

    // Field values.
    ENUM_MEMBER "enum-member" Hard "03 §5" "an enum field holds a member";
    FIELD_VALUE "field-value" Hard "03 §9" "a field holds one of the values that the opcode allows";
    DTYPE_EXISTS "dtype-exists" Hard "03 §6.1" "the dtype exists on the generation";
    DTYPE "dtype" Hard "03 §6.2" "the opcode's gate accepts the dtype";
    DTYPE_64BIT "dtype-64bit" Hard "03 §7.4" "64-bit dtypes go with operators of the integer set";
    ALU_EXISTS "alu-exists" Hard "03 §7" "the ALU operator exists on the generation";
    ALU_OP "alu-op" Hard "03 §7.3" "the opcode's predicate set holds the ALU operator";
    ALU_REFUSED "alu-refused" Unsupported "03 §7.1 E20" "what the ALU operator computes is known";
    INTEGER_DTYPE "integer-dtype" Hard "03 §7.3, 04 §3.1" "an integer operator has operands of one legal signedness and width";
    ADDRESS_FORM "address-form" Hard "03 §3.3, §3.4" "the marker of an address is a form, its reserved bytes are zero";
    ADDRESS_REFUSED "address-refused" Unsupported "00 table B" "the sub-fields of the address form are known";
    REGISTER_NUMBER "register-number" Hard "03 §5" "a register number is 0..63 or 128..131";

    // Operands.
    CHANNEL_COUNT "channel-count" Hard "03 §3.5" "1 to 128 lanes are active";
    COUNT_ZERO "count-zero" Hard "03 §4.2" "element counts are at least 1";
    ELEMENT_COUNT "element-count" Hard "03 §4.2" "element counts of operands agree";
    ADDRESS_UNMAPPED "address-unmapped" Hard "03 §3.2" "a start address lies in SBUF or PSUM";
    ALIGNMENT "alignment" Hard "03 §3.5" "a start address is a multiple of the element size";
    BOUNDS "bounds" Hard "03 §3.5" "every accessed byte exists in its partition";
    PARTITION_EXTENT "partition-extent" Hard "03 §3.5" "the last lane uses at most partition 127";
    START_PARTITION "start-partition" Region "03 §3.5" "lanes start at a partition that the quadrants allow";
    MEMORY_SPACE "memory-space" Region "03 §3.5" "operand and engine reach the memory of the address";
    PSUM_CELL "psum-cell" Region "03 §3.5" "PSUM is written in cells of four bytes";
    TWO_SOURCES "two-sources" Region "03 §3.5" "two sources: one in PSUM at most, or both in one quadrant of SBUF";

    // PE.
    FP32_MODE "fp32-mode" Hard "05 §2.4" "FP32 has a mode LOW, HIGH or LOW_HIGH, other dtypes have none";
    DOUBLE_ROW "double-row" Hard "05 §2.3.3" "DoubleRow and DoublePixel have FP8 operands on CAYMAN or later, DoubleRow all columns";
    GROUP_SIZE "group-size" Hard "05 §2.3.2" "active rows and columns fit their group";
    GROUP_PARTITION "group-partition" Region "05 §2.3.2" "an operand starts at the first partition of its group";
    TRANSPOSE_BEGIN "transpose-begin" Unsupported "05 §2.3.4" "a transposing MATMUL overwrites its cells";
    TAG_WEIGHTS "tag-weights" Hard "05 §2.2" "weights with tags are 16-bit floats, not transposed, perf_opt 0";
    MATMUL_BANK "matmul-bank" Region "09 §1" "a MATMUL result stays in one PSUM bank";

    // ACT, DVE, POOL.
    ACTIVATION_FUNCTION "activation-function" Unsupported "05 §3.7" "the function has a definition or a table";
    ACTIVATION_SET "activation-set" Unsupported "05 §3.6" "the table set is in the container's list";
    OPERATOR_ORDER "operator-order" Hard "04 §4.2" "a lone operator is op0";
    RSQRT_FORM "rsqrt-form" Hard "04 §4.2" "RSQRT has op1 BYPASS and zero instruction immediates";
    OPERATOR_PAIR "operator-pair" Hard "05 §3.5" "the function unit has this pair of operators";
    SHIFT_DTYPE "shift-dtype" Hard "04 §4.2, §6" "elements have the type that a right shift needs";
    IMMEDIATE_WIDTH "immediate-width" Hard "04 §2.5" "an inline scalar of raw bits fits the dtype";
    IMMEDIATE_QUADRANT "immediate-quadrant" Region "05 §3.5" "scalars lie in the quadrant of the source";
    BF16_PAIRS "bf16-pairs" Hard "04 §3.4, §6.3" "BF16 fast paths read pairs: even count, step 1";
    EVEN_COUNTS "even-counts" Hard "05 §4" "16-bit elements that are accumulated come in even counts";
    TRANSPOSE_TILES "transpose-tiles" Hard "04 §4.4" "a transposing word has multiples of 32 lanes and elements";
    POOL_DTYPE "pool-dtype" GenerationTable "05 §6.1" "the pooling program takes the dtype";
    ADDRESS_ARITHMETIC "address-arithmetic" Hard "05 §6.8" "operators and dtypes select one of five forms";
    FLOAT_DRAW "float-draw" Unsupported "06 §8.3, 00 A14" "random bits are stored as integers, on POOL also as FP32 or BF16";
    FILL_VALUE "fill-value" Hard "05 §6.3" "a fill value fits the dtype";

    // Sequencer, DMA.
    MOVE_DESTINATION "move-destination" Hard "02 §8.8" "destinations differ from each other and from the sources";
    BRANCH_DTYPE "branch-dtype" Hard "02 §8.10e" "a conditional branch compares INT32, UINT32 or FP32";
    TRANSFER_COUNT "transfer-count" Hard "02 §8.11, §8.12" "register transfers have 1..32 elements that fit the data";
    REGISTER_PAIR "register-pair" Hard "02 §8.11" "UINT64 transfers name even registers only";
    SPAN_16MIB "span-16mib" Region "02 §8.11b" "a register transfer stays in one aligned 16 MiB region";
    CLEAR_RANGE "clear-range" Hard "02 §8.15" "the first cleared semaphore is not above the last";
    BOUND_REGISTER "bound-register" Hard "03 §5" "a bound register byte is zero or has bit 7";
    FUNCTION_NAME "function-name" Hard "07 §9.1" "a function name is ASCII, not empty, of at most 32 characters";
    QUEUE_NAME "queue-name" Hard "07 §9.1" "a queue name is ASCII, not empty, padded with zeros";
}
