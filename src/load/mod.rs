//! From a container's members to what a machine is made of.

mod act_tables;

pub(crate) use act_tables::ENTRY_BYTES;
pub use act_tables::{ActTableError, load_table_sets};
