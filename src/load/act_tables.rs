//! TEMP
use crate::neff::ActivationSet;
#[derive(Debug, thiserror::Error)]
#[error("x")]
pub struct TableError;
pub fn table_set(_s: &ActivationSet) -> Result<seqjit_runtime::act::TableSet, TableError> { Ok(seqjit_runtime::act::TableSet) }
