//! The text of `seqjit info`.

use std::io::Write;
use std::path::Path;

use seqjit::neff::{Variable, VariableKind};
use seqjit::{IoTensor, Program, WordFinding};

use super::facts::{CoreFacts, QueueFacts, Traffic};
use super::json::{digest, package};
use crate::cli::failure::Failure;
use crate::cli::output::Output;

/// Everything.
pub fn write(
    file: &Path,
    program: &Program,
    cores: &[CoreFacts],
    findings: &[WordFinding],
    out: &mut Output,
) -> Result<(), Failure> {
    header(file, program, cores, out)?;
    tensors("inputs", program.inputs(), program, out)?;
    tensors("outputs", program.outputs(), program, out)?;
    for (number, facts) in cores.iter().enumerate() {
        core(number, facts, out)?;
    }
    section("warnings", program.warnings(), out)?;
    let (fatal, unusual): (Vec<&WordFinding>, Vec<&WordFinding>) =
        findings.iter().partition(|f| f.is_fatal());
    section("words that cannot run", &fatal, out)?;
    section("unusual words", &unusual, out)?;
    if fatal.is_empty() {
        writeln!(out, "\nevery word can run")?;
    }
    Ok(())
}

fn section<T: std::fmt::Display>(title: &str, lines: &[T], out: &mut Output) -> Result<(), Failure> {
    if !lines.is_empty() {
        writeln!(out, "\n{title} ({})", lines.len())?;
        lines.iter().try_for_each(|line| writeln!(out, "  {line}"))?;
    }
    Ok(())
}

fn header(file: &Path, program: &Program, cores: &[CoreFacts], out: &mut Output) -> Result<(), Failure> {
    let (neff, generation) = (program.neff(), program.generation());
    let h = &neff.header;
    let words: usize = cores.iter().map(CoreFacts::words).sum();
    let plural = if cores.len() == 1 { "" } else { "s" };
    writeln!(out, "{}", file.display())?;
    writeln!(
        out,
        "  {generation} ({}), {} core{plural}, {words} words",
        generation.short_name(),
        cores.len()
    )?;
    let (major, minor) = (h.version_major, h.version_minor);
    let (form, size, digest) = (package(h.package), h.data_size, digest(neff.digest));
    writeln!(out, "  version {major}.{minor}, {form} of {size} bytes, digest {digest}")?;
    writeln!(out, "  name {}", h.name())?;
    writeln!(out, "  uuid {}", h.uuid_text())?;
    writeln!(out, "  feature bits {:#x}, virtual core size {}", h.feature_bits, h.virtual_core_size())?;
    Ok(())
}

fn tensors(title: &str, list: &[IoTensor], program: &Program, out: &mut Output) -> Result<(), Failure> {
    writeln!(out, "\n{title}")?;
    for t in list {
        let buffer = &program.image().buffers[t.buffer];
        let shape = format!("{:?}", t.shape);
        let (dtype, bytes) = (t.dtype.text(), buffer.size);
        writeln!(out, "  {:<20} {dtype:<8} {shape:<20} {bytes:>10} bytes at {:#x}", t.name, buffer.address)?;
    }
    Ok(())
}

fn core(number: usize, core: &CoreFacts, out: &mut Output) -> Result<(), Failure> {
    writeln!(out, "\ncore {number}: {}", core.graph.name)?;
    for s in &core.streams {
        let opcodes: Vec<String> = s.opcodes.iter().map(|(name, count)| format!("{name} {count}")).collect();
        writeln!(out, "  {:<4} {:>6} words, {:>6} wait", s.engine.name(), s.words, s.waiting)?;
        if s.words > 0 {
            writeln!(out, "       {}", opcodes.join(", "))?;
        }
        if s.dma_words > 0 {
            writeln!(out, "       {} words move {}", s.dma_words, moved(s.traffic))?;
        }
    }
    writeln!(out, "  variables")?;
    core.variables.iter().try_for_each(|v| variable(v, core, out))?;
    if !core.queues.is_empty() {
        writeln!(out, "  queues")?;
    }
    core.queues.iter().try_for_each(|q| queue(q, out))?;
    let sets: Vec<&str> = core.graph.activation_sets().iter().map(|set| set.name.as_str()).collect();
    if !sets.is_empty() {
        writeln!(out, "  activation tables: {}", sets.join(", "))?;
    }
    Ok(())
}

fn moved(traffic: Traffic) -> String {
    let Traffic { read, written } = traffic;
    if read == written { format!("{read} bytes") } else { format!("{read} bytes read, {written} written") }
}

fn variable(v: &Variable, core: &CoreFacts, out: &mut Output) -> Result<(), Failure> {
    let address = core.addresses.get(v.id as usize).copied().flatten();
    let address = address.map_or("no address".to_owned(), |a| format!("at {a:#x}"));
    let size = v.size.map_or("-".to_owned(), |bytes| bytes.to_string());
    let detail = match &v.kind {
        VariableKind::File { file_name } => format!(" from {file_name}"),
        VariableKind::Pointer { referenced } => format!(" to {referenced}"),
        VariableKind::Virtual { backing: Some(name), offset } => format!(" in {name} at {offset}"),
        VariableKind::DgeTable { list } | VariableKind::List { list } => {
            format!(" of {} entries", list.len())
        }
        _ => String::new(),
    };
    let kind = v.kind.name();
    Ok(writeln!(out, "    {:>4} {:<28} {kind:<12} {size:>10} bytes {address}{detail}", v.id, v.name)?)
}

fn queue(facts: &QueueFacts, out: &mut Output) -> Result<(), Failure> {
    let q = facts.queue;
    let blocks = match facts.blocks {
        0 => "no static blocks".to_owned(),
        blocks => format!("{blocks} blocks, {} descriptors, {}", facts.descriptors, moved(facts.traffic)),
    };
    let semaphores: Vec<String> = q.semaphore.iter().chain(&q.semaphore_set).map(u8::to_string).collect();
    let semaphores =
        if semaphores.is_empty() { String::new() } else { format!(", semaphores {}", semaphores.join(" ")) };
    Ok(writeln!(out, "    {:<20} {:<4} {:<8} {blocks}{semaphores}", q.name, q.owner.name(), q.kind.name())?)
}
