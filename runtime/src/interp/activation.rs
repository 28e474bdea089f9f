use super::*;
pub fn activate(_x: &mut Exec<'_>, _w: &Decoded) -> Result<Flow, FaultKind> { Ok(Flow::Next) }
pub fn table_load(_x: &mut Exec<'_>, _w: &Decoded) -> Result<Flow, FaultKind> { Ok(Flow::Next) }
