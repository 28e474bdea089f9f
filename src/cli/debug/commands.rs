//! The table of commands, from which `help` is made.

use std::io::Write;

use super::error::CommandError;
use super::parse::Line;
use super::{Debugger, change, go, show, state};

/// A command.
pub struct Command {
    /// Name, then abbreviations.
    names: &'static [&'static str],
    /// Form of what follows the name.
    syntax: &'static str,
    /// What it does.
    help: &'static str,
    run: fn(&mut Debugger<'_>, &mut Line<'_>) -> Result<(), CommandError>,
}

macro_rules! commands {
    ($($names:tt $syntax:literal $run:path, $help:literal;)*) => {
        /// Every command.
        const COMMANDS: &[Command] = &[$(Command { names: &$names, syntax: $syntax, help: $help, run: $run }),*];
    };
}

commands! {
    ["break", "b"] "break ENGINE WORD | op OPCODE [ENGINE] | COMPARISON [and COMPARISON ...]  [if COMPARISON [and ...]]"
        change::set_break, "stop when an engine comes to a word or an opcode, or when a comparison comes to hold";
    ["watch", "w"] "watch MEMORY BYTES [if COMPARISON [and ...]]"
        change::watch, "stop behind a word or transfer that writes to bytes, also if they keep their values";
    ["breaks"] "breaks" change::list, "list what stops a run";
    ["delete", "d"] "delete NUMBER | all" change::delete, "delete a break";
    ["step", "s"] "step [ENGINE] [WORDS]" go::step, "run words of one engine while all others stand still";
    ["continue", "c"] "continue" go::go_on, "run until something stops";
    ["finish", "f"] "finish" go::finish, "run to the end, whatever breaks there are";
    ["restart"] "restart" go::restart, "start the program again; breaks, inputs and memory stay";
    ["engines", "e"] "engines" show::engines, "show what every engine and queue does";
    ["list", "l"] "list [ENGINE] [WORD] [COUNT]" show::list, "show words: `=>` runs next, `b` has a break";
    ["regs", "r"] "regs [ENGINE] [REGISTER ...]" show::registers, "show registers; without REGISTER those that are not zero";
    ["csr"] "csr [ENGINE] [NAME | 0xOFFSET]" show::csr, "show control registers; without NAME those that do not hold their reset value";
    ["sems"] "sems [INDEX ...]" show::semaphores, "show semaphores; without INDEX those that are not zero, and events";
    ["print", "p"] "print MEMORY COUNT DTYPE" show::print, "show memory";
    ["set"] "set reg ENGINE REGISTER VALUE | csr ENGINE NAME VALUE | sem INDEX VALUE | event INDEX 0|1 | MEMORY DTYPE VALUE ..."
        change::set, "change the machine";
    ["save"] "save NAME" state::save, "remember the state of the whole machine";
    ["compare"] "compare NAME [NAME]" state::compare, "show what differs between a saved state and now, or another saved one";
    ["core"] "core [CORE]" show::core, "show or choose the core whose memories and semaphores are meant";
    ["help", "h"] "help [COMMAND]" help, "show commands";
    ["quit", "q"] "quit" quit, "leave";
}

/// What the words in the forms stand for.
const TERMS: &[(&str, &str)] = &[
    (
        "ENGINE",
        "PE, ACT, POOL, DVE or SP of the chosen core, or CORE.ENGINE; where it may be missing, the one that stopped last",
    ),
    ("WORD", "position in the engine's stream, from 0"),
    (
        "MEMORY",
        "sbuf PARTITION[-LAST] OFFSET, psum PARTITION[-LAST] OFFSET or dram NAME OFFSET; OFFSET in bytes",
    ),
    (
        "COMPARISON",
        "sem INDEX, event INDEX or reg ENGINE REGISTER, then ==, !=, <, <=, > or >=, then a number",
    ),
    ("DTYPE", "fp32, bfloat16, fp16, int32, uint8, ..."),
];

/// Runs a command line. An empty one, and what follows `#`, does nothing.
pub fn run(debugger: &mut Debugger<'_>, text: &str) -> Result<(), CommandError> {
    let text = text.split('#').next().unwrap_or_default().trim();
    let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    if name.is_empty() {
        return Ok(());
    }
    let command = find(name)?;
    (command.run)(debugger, &mut Line::new(rest, command.syntax))
}

fn find(name: &str) -> Result<&'static Command, CommandError> {
    let found = COMMANDS.iter().find(|c| c.names.contains(&name));
    found.ok_or_else(|| CommandError::Unknown(name.to_owned()))
}

fn help(debugger: &mut Debugger<'_>, line: &mut Line<'_>) -> Result<(), CommandError> {
    let only = line.optional().map(find).transpose()?;
    line.end()?;
    let shown = COMMANDS.iter().filter(|c| only.is_none_or(|only| std::ptr::eq(only, *c)));
    for command in shown {
        writeln!(debugger.out, "{}\n    {}", command.syntax, command.help)?;
        if let [_, short @ ..] = command.names
            && !short.is_empty()
        {
            writeln!(debugger.out, "    short: {}", short.join(", "))?;
        }
    }
    if only.is_none() {
        TERMS.iter().try_for_each(|(term, meaning)| writeln!(debugger.out, "{term}: {meaning}"))?;
    }
    Ok(())
}

fn quit(debugger: &mut Debugger<'_>, line: &mut Line<'_>) -> Result<(), CommandError> {
    line.end()?;
    debugger.left = true;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{COMMANDS, TERMS};

    #[test]
    fn names_are_unique_and_begin_their_forms() {
        let names: Vec<&str> = COMMANDS.iter().flat_map(|c| c.names).copied().collect();
        for (position, name) in names.iter().enumerate() {
            assert!(!names[..position].contains(name), "{name}");
        }
        assert!(COMMANDS.iter().all(|c| c.syntax.split(' ').next() == Some(c.names[0])));
    }

    #[test]
    fn the_documentation_lists_every_command() {
        let page = include_str!("../../../docs/debugger.md");
        for c in COMMANDS {
            let row = format!("| `{}` | {} |", c.syntax.replace('|', "\\|"), c.help);
            assert!(page.contains(&row), "docs/debugger.md lacks: {row}");
        }
        for (term, meaning) in TERMS {
            let row = format!("| {term} | {meaning} |");
            assert!(page.contains(&row), "docs/debugger.md lacks: {row}");
        }
    }
}
