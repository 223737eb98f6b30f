//! The import rules of ARCHITECTURE.md, checked on the source text: which module may name which, and which
//! libraries are kept to one place. Inline `#[cfg(test)]` modules are exempt.

mod source;

use source::{Masked, names, without_tests};
use std::path::{Path, PathBuf};

/// A module may name modules of its own row and of the rows above it.
const LAYERS: [&[&str]; 10] = [
    &["prompt"],
    &["prefix"],
    &["wire"],
    &["route"],
    &["bodies", "config", "encoding", "identity"],
    &["ledger", "metrics"],
    &["audit", "report"],
    &["proxy", "error"],
    &["cli"],
    &["main", "lib"],
];

/// Outside the order: imports nothing of the crate, and only these may import it.
const ALONE: &str = "sim";
const USERS_OF_SIM: [&str; 3] = ["cli", "main", "lib"];

/// Modules of bytes in, bytes out.
const PURE: [&str; 4] = ["prompt", "prefix", "wire", "route"];
const NOT_IN_PURE: &str = "async tokio tokio_util hyper hyper_util axum rusqlite std::fs std::net std::thread std::env \
     std::time::Instant std::time::SystemTime Instant::now SystemTime::now";

const DOCUMENT_TYPES: [&str; 7] = ["Value", "Map", "json", "to_value", "from_value", "Number", "*"];

const PROVIDERS: &str = "anthropic openai claude gpt gemini google ollama bedrock deepseek mistral openrouter azure \
     llama vllm sglang qwen grok groq cohere";

#[test]
fn sources_follow_the_rules() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let found: Vec<String> = rust_files(&root.join("src"))
        .iter()
        .flat_map(|file| {
            let path = file.strip_prefix(root).unwrap().to_str().unwrap();
            check(path, &std::fs::read_to_string(file).unwrap())
        })
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn violations_are_caught() {
    let caught = [
        ("src/prompt/derive.rs", "use crate::prefix::Item;", "prefix"),
        (
            "src/prefix/decide.rs",
            "use crate::{prompt::Block, wire::sse};",
            "wire",
        ),
        ("src/prefix/mod.rs", "use super::proxy::Server;", "proxy"),
        (
            "src/wire/sse.rs",
            "fn f() { let t = std::time::Instant::now(); }",
            "Instant",
        ),
        (
            "src/route.rs",
            "use std::{\n    collections::BTreeMap,\n    fs::File,\n};",
            "std::fs",
        ),
        ("src/wire/mod.rs", "use tokio::sync::Mutex;", "tokio"),
        ("src/wire/mod.rs", "pub async fn parse() {}", "async"),
        (
            "src/wire/openai_chat.rs",
            "type Tree = serde_json::Map<String, u8>;",
            "Map",
        ),
        (
            "src/prefix/item.rs",
            "use serde_json::{Value, value::RawValue};",
            "Value",
        ),
        (
            "src/prefix/policy.rs",
            "const NAME: &str = \"is \\\"Claude\\\"\";",
            "claude",
        ),
        ("src/prefix/policy.rs", "enum Family { OpenAi }", "openai"),
        ("src/proxy/server.rs", "use prometheus::Registry;", "prometheus"),
        ("src/prefix/keys.rs", "fn f() { blake3::hash(b\"\"); }", "blake3"),
        ("src/ledger/mod.rs", "use crate::proxy;", "proxy"),
        ("src/ledger/mod.rs", "use crate::sim::Provider;", "sim"),
        ("src/sim/rules.rs", "use crate::wire::usage;", "wire"),
        ("src/sim/mod.rs", "use super::prefix::Item;", "prefix"),
        ("src/cli/run.rs", "fn f() { unsafe { g() } }", "unsafe"),
        (
            "src/prompt/mod.rs",
            "#[cfg(test)]\nmod tests { fn a() {} }\nuse crate::cli;",
            "cli",
        ),
        ("src/helpers.rs", "", "helpers"),
        ("src/proxy/mod.rs", "use crate::Anything;", "Anything"),
    ];
    for (path, text, named) in caught {
        let found = check(path, text);
        assert_eq!(found.len(), 1, "{path}: {text}: {found:?}");
        assert!(found[0].contains(named), "{path}: {text}: {found:?}");
    }
}

#[test]
fn allowed_lines_pass() {
    let allowed = [
        (
            "src/prefix/mod.rs",
            "//! Rules of Anthropic, as of https://example.com\nuse crate::prompt::Block;",
        ),
        ("src/prefix/digest.rs", "use blake3::Hasher;"),
        (
            "src/prefix/item.rs",
            "use super::digest::Wire; // not crate::proxy\nuse serde_json::value::RawValue;",
        ),
        (
            "src/wire/mod.rs",
            "const HELP: &str = \"tokio::spawn crate::proxy\"; const C: char = '\"';",
        ),
        (
            "src/wire/mod.rs",
            "/* crate::cli /* nested */ tokio::x */ use std::time::Duration;",
        ),
        (
            "src/wire/ollama.rs",
            "const R: &str = r#\"a \" tokio::x\"#; fn f<'a>(x: &'a str) -> &'a str { x }",
        ),
        ("src/metrics.rs", "use prometheus::{Registry, Encoder};"),
        (
            "src/sim/mod.rs",
            "use crate::sim::rules; use super::sim::x; use tokio::net;",
        ),
        ("src/cli/demo.rs", "use crate::{proxy::Server, sim};"),
        ("src/main.rs", "use inkfast::cli;"),
        (
            "src/prefix/edit.rs",
            "#[cfg(test)]\nmod tests { use crate::wire::x; const S: &str = \"} openai\"; }",
        ),
    ];
    for (path, text) in allowed {
        assert_eq!(check(path, text), Vec::<String>::new(), "{path}: {text}");
    }
}

/// The violations of one source file, each as a line for people. `path` is relative to the package.
fn check(path: &str, text: &str) -> Vec<String> {
    let module = module_of(path);
    let code = without_tests(Masked::new(text));
    let names = names(&code.bare);
    let mut found = Vec::new();
    let mut report = |what: String| found.push(format!("{path}: {what}"));

    if rank(module).is_none() && module != ALONE {
        report(format!("`{module}` has no place in the import rules"));
    }
    for target in names.iter().filter_map(|name| crate_module(path, name)) {
        if let Some(reason) = import_fault(module, target) {
            report(reason);
        }
    }
    for name in &names {
        if let Some(reason) = name_fault(path, module, name) {
            report(reason);
        }
    }
    if module == "prefix" {
        let lower = code.with_strings.to_lowercase().replace('_', "");
        PROVIDERS
            .split_whitespace()
            .filter(|name| lower.contains(name))
            .for_each(|name| report(format!("names {name}")));
    }
    found
}

fn import_fault(module: &str, target: &str) -> Option<String> {
    if module == target {
        return None;
    }
    if target == ALONE {
        return (!USERS_OF_SIM.contains(&module)).then(|| format!("`{module}` imports `sim`"));
    }
    if module == ALONE {
        return Some(format!("`sim` stands alone, but imports `{target}`"));
    }
    match (rank(module), rank(target)) {
        (Some(own), Some(other)) => {
            (other > own).then(|| format!("`{module}` imports `{target}`, which is above it"))
        }
        (_, None) => Some(format!("`crate::{target}` has no place in the import rules")),
        (None, _) => None,
    }
}

fn name_fault(path: &str, module: &str, name: &str) -> Option<String> {
    let is = |prefix: &str| {
        name == prefix
            || name
                .strip_prefix(prefix)
                .is_some_and(|rest| rest.starts_with("::"))
    };
    let fault = |rule: &str| Some(format!("{name}: {rule}"));
    if is("unsafe") {
        return fault("no unsafe code");
    }
    if is("prometheus") && module != "metrics" {
        return fault("prometheus is named in metrics.rs only");
    }
    if is("blake3") && path != "src/prefix/digest.rs" {
        return fault("blake3 is named in prefix/digest.rs only");
    }
    if PURE.contains(&module) && NOT_IN_PURE.split_whitespace().any(is) {
        return fault("no runtime, clock, file or socket in the pure part");
    }
    let document = is("serde_json")
        && name
            .split("::")
            .skip(1)
            .any(|part| DOCUMENT_TYPES.contains(&part));
    if document && ["prefix", "wire"].contains(&module) {
        return fault("no JSON document here: numbers and key order would change");
    }
    None
}

fn rank(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

/// `src/prefix/item.rs` -> `prefix`, `src/route.rs` -> `route`.
fn module_of(path: &str) -> &str {
    let first = path
        .trim_start_matches("src/")
        .split('/')
        .next()
        .unwrap_or_default();
    first.trim_end_matches(".rs")
}

/// The top-level module that a path of this crate leads to, if it is one.
fn crate_module<'a>(path: &'a str, name: &'a str) -> Option<&'a str> {
    let mut parts = name.split("::");
    match parts.next()? {
        "crate" | "inkfast" => parts.next(),
        "super" => {
            // Where the file's own module lies below the root: src/a/b.rs and src/a/b/mod.rs are two deep.
            let depth = path.trim_end_matches("/mod.rs").matches('/').count();
            let ups = 1 + parts.clone().take_while(|part| *part == "super").count();
            (ups == depth).then(|| parts.nth(ups - 1)).flatten()
        }
        _ => None,
    }
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}
