//! What the translator has counted, as text and in JSON.

use seqjit::Translations;
use serde_json::{Map, Value, json};

/// As an object.
pub fn to_json(t: &Translations) -> Value {
    json!({
        "words": t.words, "fused_runs": t.fused_runs, "interpreted": t.interpreted, "calls": t.calls, "blocks": t.blocks,
        "exits": by_reason(&t.exits), "hits": t.hits, "shapes": t.shapes, "code_bytes": t.code_bytes,
        "translate_ns": t.translate_ns, "fallbacks": by_reason(&t.fallbacks),
    })
}

/// Counts by the texts of their reasons.
pub fn by_reason<'a, R: ToString + 'a>(
    counts: impl IntoIterator<Item = (&'a R, &'a u64)>,
) -> Map<String, Value> {
    counts.into_iter().map(|(why, count)| (why.to_string(), json!(count))).collect()
}

/// As lines of text.
pub fn to_text(t: &Translations) -> String {
    let mut text = format!(
        "{} words in native code ({} runs fused), {} not worth it, {} calls; {} blocks; {} shapes compiled in {} us to {} bytes, {} found",
        t.words,
        t.fused_runs,
        t.interpreted,
        t.calls,
        t.blocks,
        t.shapes,
        t.translate_ns / 1000,
        t.code_bytes,
        t.hits
    );
    if !t.exits.is_empty() {
        let exits: Vec<String> = t.exits.iter().map(|(why, count)| format!("{count} {why}")).collect();
        text += &format!("\nleft native code: {}", exits.join(", "));
    }
    for (why, words) in &t.fallbacks {
        text += &format!("\n{words} words interpreted: {why}");
    }
    text
}
