//! The JSON document of `seqjit info`.

use std::path::Path;

use seqjit::neff::{DigestForm, Package, Variable, VariableKind};
use seqjit::{IoTensor, Program, WordFinding};
use serde_json::{Map, Value, json};

use super::facts::{CoreFacts, QueueFacts, StreamFacts, Traffic};
use crate::cli::errors::finding_json;
use crate::cli::source::tensor_json;

/// Everything.
pub fn document(file: &Path, program: &Program, cores: &[CoreFacts], findings: &[WordFinding]) -> Value {
    let neff = program.neff();
    let tensors = |list: &[IoTensor]| -> Vec<Value> { list.iter().map(|t| tensor(t, program)).collect() };
    json!({
        "file": file.display().to_string(),
        "generation": program.generation().short_name(),
        "target": neff.kelf.target.map_or("*", |t| t.name()),
        "kelf_version": neff.kelf.version,
        "header": header(program),
        "inputs": tensors(program.inputs()),
        "outputs": tensors(program.outputs()),
        "cores": cores.iter().enumerate().map(|(number, c)| core(number, c)).collect::<Vec<_>>(),
        "warnings": program.warnings(),
        "findings": findings.iter().map(finding_json).collect::<Vec<_>>(),
    })
}

/// The way the payload is packed.
pub fn package(package: Package) -> &'static str {
    match package {
        Package::RawTar => "tar",
        Package::GzipTar => "gzip tar",
    }
}

/// The form of the digest.
pub fn digest(form: Option<DigestForm>) -> &'static str {
    match form {
        None => "not checked",
        Some(DigestForm::Sha256) => "SHA-256",
        Some(DigestForm::Plain) => "MD5",
        Some(DigestForm::WordReversed) => "MD5, words reversed",
    }
}

fn header(program: &Program) -> Value {
    let neff = program.neff();
    let h = &neff.header;
    json!({
        "version": [h.version_major, h.version_minor],
        "package": package(h.package),
        "data_size": h.data_size,
        "digest": digest(neff.digest),
        "name": h.name(),
        "uuid": h.uuid_text(),
        "build_version": h.build_version(),
        "feature_bits": h.feature_bits,
        "features": (0..64).filter(|bit| h.feature_bits >> bit & 1 == 1).collect::<Vec<u32>>(),
        "vnc_size": h.virtual_core_size(),
        "requested_cores": h.requested_tpb_count,
        "members": neff.archive.members().len(),
    })
}

fn tensor(tensor: &IoTensor, program: &Program) -> Value {
    let mut object = tensor_json(tensor);
    let buffer = &program.image().buffers[tensor.buffer];
    object["bytes"] = buffer.size.into();
    object["address"] = buffer.address.into();
    object
}

fn core(number: usize, core: &CoreFacts) -> Value {
    let graph = core.graph;
    let sets: Vec<&str> = graph.activation_sets().iter().map(|set| set.name.as_str()).collect();
    json!({
        "core": number,
        "name": graph.name,
        "features": graph.def.features,
        "words": core.words(),
        "streams": core.streams.iter().map(stream).collect::<Vec<_>>(),
        "variables": core.variables.iter().map(|v| variable(v, core)).collect::<Vec<_>>(),
        "queues": core.queues.iter().map(queue).collect::<Vec<_>>(),
        "activation_sets": sets,
        "dve_tables": graph.dve_tables.len(),
        "collective_streams": graph.def.collective_streams,
    })
}

fn traffic(traffic: Traffic) -> Value {
    json!({ "read": traffic.read, "written": traffic.written })
}

fn stream(stream: &StreamFacts) -> Value {
    let opcodes: Map<String, Value> =
        stream.opcodes.iter().map(|(n, count)| (n.clone(), (*count).into())).collect();
    json!({
        "engine": stream.engine.name(),
        "words": stream.words,
        "waiting": stream.waiting,
        "opcodes": opcodes,
        "dma_words": stream.dma_words,
        "dma_bytes": traffic(stream.traffic),
    })
}

fn variable(v: &Variable, core: &CoreFacts) -> Value {
    let mut object = json!({
        "id": v.id,
        "name": v.name,
        "type": v.kind.name(),
        "size": v.size,
        "address": core.addresses.get(v.id as usize).copied().flatten(),
        "dtype": v.dtype.map(|d| d.text()),
        "shape": v.shape,
    });
    match &v.kind {
        VariableKind::File { file_name } => object["file_name"] = file_name.as_str().into(),
        VariableKind::Pointer { referenced } => object["referenced"] = (*referenced).into(),
        VariableKind::Virtual { backing, offset } => {
            object["backing"] = backing.as_deref().into();
            object["offset"] = (*offset).into();
        }
        VariableKind::DgeTable { list } | VariableKind::List { list } => {
            object["list"] = list.as_slice().into()
        }
        _ => {}
    }
    object
}

fn queue(facts: &QueueFacts) -> Value {
    let q = facts.queue;
    json!({
        "name": q.name,
        "owner": q.owner.name(),
        "type": q.kind.name(),
        "dge": q.dge,
        "rings": q.rings,
        "semaphore": q.semaphore,
        "semaphore_set": q.semaphore_set,
        "blocks": facts.blocks,
        "descriptors": facts.descriptors,
        "dma_bytes": traffic(facts.traffic),
    })
}
