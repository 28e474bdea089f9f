//! Activation functions: evaluated from the tables that a container carries, or by definition
//! (chapter 05 sections 3.7 and 3.8, chapter 10 section 9.1).
//!
//! [`resolve`] picks the way once a word; what it returns evaluates single values or whole rows, with the
//! same bits either way and on every [`Level`](crate::num::Level).

pub mod define;
mod formula;
mod lane;
pub mod table;

pub use define::{FUNCTIONS, Function, FunctionMap, by_id, define};
pub use table::{PARAMETRIC_RELU, Refusal, TableFunction, TableSet};

/// How activation functions are evaluated (00-decisions 05-28).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ActMode {
    /// From the resident table set where it holds the function, else by definition.
    #[default]
    Auto,
    /// From tables only: a function that the resident set lacks is an error.
    Table,
    /// By definition only.
    Definition,
}

/// Why an activation function cannot be evaluated.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ActError {
    /// Neither a table nor a definition.
    #[error("unsupported activation function {id}: no resident table and no definition")]
    Unknown {
        /// Function id.
        id: u8,
    },
    /// Definitions are forced and there is none.
    #[error("activation function {id} has no definition, and tables are switched off")]
    NoDefinition {
        /// Function id.
        id: u8,
    },
    /// Tables are forced and the resident set lacks the function.
    #[error("activation function {id} is not in {}", .set.as_deref().unwrap_or("a table set: none is resident"))]
    NoTable {
        /// Function id.
        id: u8,
        /// Name of the resident set.
        set: Option<String>,
    },
    /// The table exists but cannot be evaluated, and there is no definition or tables are forced.
    #[error("the table of activation function {id} in {set} cannot be evaluated: {reason}")]
    Refused {
        /// Function id.
        id: u8,
        /// Name of the resident set.
        set: String,
        /// Why not.
        reason: Refusal,
    },
    /// No definition has this name.
    #[error("no activation function is called {name:?}")]
    UnknownName {
        /// The name asked for.
        name: String,
    },
}

/// Why a definition stands in for a table: worth one warning a function and program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fallback {
    /// The resident set lacks the function.
    Missing,
    /// The table of the resident set cannot be evaluated.
    Refused(Refusal),
}

/// How one function is evaluated.
#[derive(Clone, Copy, Debug)]
pub enum Evaluator<'a> {
    /// From a table.
    Table(TableFunction<'a>),
    /// By definition.
    Definition(&'static Function),
}

impl Evaluator<'_> {
    /// f(x); `param` is the slope of `parametric_relu` and ignored elsewhere.
    pub fn eval(&self, x: f32, param: f32) -> f32 {
        match self {
            Evaluator::Table(function) => function.eval(x),
            Evaluator::Definition(function) => function.eval(x, param),
        }
    }

    /// `eval` of every value of `xs` into `out`, the same bits at every level.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn eval_row(&self, xs: &[f32], out: &mut [f32], param: f32) {
        match self {
            Evaluator::Table(function) => function.eval_row(xs, out),
            Evaluator::Definition(function) => function.eval_row(xs, out, param),
        }
    }
}

/// The evaluator of a function, and what to warn of.
#[derive(Clone, Copy, Debug)]
pub struct Resolved<'a> {
    /// How the function is evaluated.
    pub evaluator: Evaluator<'a>,
    /// Set if a table set is resident and a definition had to stand in for it.
    pub fallback: Option<Fallback>,
}

/// Picks how function `id` is evaluated with `resident` as the table set in use (00-decisions 05-27, 05-28).
/// `parametric_relu` is always evaluated by definition.
///
/// # Errors
/// [`ActError::Unknown`] and, where a mode is forced, [`ActError::NoDefinition`], [`ActError::NoTable`];
/// [`ActError::Refused`].
pub fn resolve<'a>(
    id: u8,
    resident: Option<&'a TableSet>,
    mode: ActMode,
    functions: &FunctionMap,
) -> Result<Resolved<'a>, ActError> {
    let definition = functions.get(id);
    let by_definition =
        |function, fallback| Resolved { evaluator: Evaluator::Definition(function), fallback };
    if mode == ActMode::Definition || id == PARAMETRIC_RELU {
        return definition.map(|f| by_definition(f, None)).ok_or(ActError::NoDefinition { id });
    }
    let fallback = match resident.map(|set| (set, set.function(id))) {
        Some((_, Some(Ok(function)))) => {
            return Ok(Resolved { evaluator: Evaluator::Table(function), fallback: None });
        }
        Some((set, Some(Err(reason)))) if mode == ActMode::Table || definition.is_none() => {
            return Err(ActError::Refused { id, set: set.name().to_owned(), reason });
        }
        Some((_, Some(Err(reason)))) => Some(Fallback::Refused(reason)),
        Some((_, None)) => Some(Fallback::Missing),
        None => None,
    };
    if mode == ActMode::Table {
        return Err(ActError::NoTable { id, set: resident.map(|set| set.name().to_owned()) });
    }
    definition.map(|f| by_definition(f, fallback)).ok_or(ActError::Unknown { id })
}
