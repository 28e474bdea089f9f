//! The `seqjit` command.

fn main() {}
