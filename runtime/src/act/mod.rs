//! TEMP
#[derive(Clone,Copy,PartialEq,Eq,Debug,Default)]
pub enum ActMode { #[default] Auto }
#[derive(Clone,Debug)]
pub struct TableSet;
