//! What names stand for.

use std::collections::HashMap;

use super::view::View;

/// The value of a name or an expression.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Value {
    Int(i64),
    Float(f64),
    View(View),
}

impl Value {
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Int(_) => "an integer",
            Value::Float(_) => "a number with a fraction",
            Value::View(view) if view.on_chip() => "a tile",
            Value::View(_) => "a variable",
        }
    }
}

/// The names in use: one frame for every open block, inner names hide outer ones.
#[derive(Debug, Default)]
pub(super) struct Scope {
    frames: Vec<HashMap<String, Value>>,
}

impl Scope {
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.frames.iter().rev().find_map(|frame| frame.get(name))
    }

    /// Gives a name its value; `false` if the innermost block has given it one before.
    pub fn define(&mut self, name: &str, value: Value) -> bool {
        if self.frames.is_empty() {
            self.open();
        }
        self.frames.last_mut().is_some_and(|frame| frame.insert(name.to_owned(), value).is_none())
    }

    pub fn open(&mut self) {
        self.frames.push(HashMap::new());
    }

    pub fn close(&mut self) {
        self.frames.pop();
    }
}
