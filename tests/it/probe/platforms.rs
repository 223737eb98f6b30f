//! The same on platforms and hosts with ways of their own: the model in the path, no cache markers, signatures.

use super::*;

#[test]
fn platforms_name_the_model_in_the_path_and_their_version_in_the_body() {
    let vertex = "/v1/projects/p/locations/l/publishers";
    for (path, model, asked) in [
        (
            &*format!("{vertex}/anthropic"),
            "claude-opus-5@20260801",
            &*format!("{vertex}/anthropic/models/claude-opus-5@20260801:rawPredict"),
        ),
        (
            &format!("{vertex}/google"),
            "gemini-3.5-flash",
            &format!("{vertex}/google/models/gemini-3.5-flash:generateContent"),
        ),
        (
            "/model/us.anthropic.claude-opus-5/invoke",
            "us.anthropic.claude-opus-5",
            "/model/us.anthropic.claude-opus-5/invoke",
        ),
        (
            "/model/us.anthropic.claude-opus-4-8-v1%3A0/converse-stream",
            ON_BEDROCK,
            "/model/us.anthropic.claude-opus-4-8-v1%3A0/converse-stream",
        ),
    ] {
        let provider = Provider::start(obedient(LaterSystem::InPlace)).unwrap();
        let url = format!("{}{path}", provider.url());
        let keys = [
            ("CLOUDSDK_AUTH_ACCESS_TOKEN", "token"),
            ("AWS_BEARER_TOKEN_BEDROCK", "token"),
        ];
        let arguments = [
            "--upstream",
            &url,
            "--model",
            model,
            "--tokens",
            "4200",
            "--state",
            "memory:",
        ];
        let output = probe(&keys, &[&arguments[..], &["--format", "json"]].concat());
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let best = &report["rows"][0];
        assert_eq!(
            (&best["good"], &best["obeyed"]),
            (&json!(true), &json!("new")),
            "{path} {report}"
        );
        for request in provider.recorded() {
            assert_eq!(request.target, asked);
            let bearer =
                |(name, value): &(String, String)| name == "authorization" && value == "Bearer token";
            assert!(request.headers.iter().any(bearer), "{asked}");
        }
    }
}

#[test]
fn a_host_that_knows_no_cache_markers_gets_none() {
    for (format, model) in [
        (Format::AnthropicMessages, "glm-5"),
        (Format::BedrockConverse, "amazon.nova-lite-v1:0"),
    ] {
        let provider = Provider::start(obedient(LaterSystem::InPlace)).unwrap();
        let marked = |body: &[u8]| String::from_utf8_lossy(body).contains("cache");
        provider.push(Answer::error(400, "This model does not support prompt caching."));
        let found = Found::of(&provider, format, model, &[]);
        assert_eq!(found.row("user_reminder")["kept"]["why"], "no_cache");
        let recorded = provider.recorded();
        assert!(marked(&recorded[0].body) && recorded[1..].iter().all(|request| !marked(&request.body)));
    }
}

#[test]
fn requests_are_signed_where_the_upstream_says_so_and_no_key_is_set() {
    let key = AwsKey {
        id: "AKIDEXAMPLE".into(),
        secret: "a-secret".into(),
    };
    let provider = Provider::start(Config {
        aws: Some(key),
        ..obedient(LaterSystem::InPlace)
    })
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("inkfast.toml");
    let signed = "sign = \"sigv4\"\nregion = \"us-east-1\"\n";
    let text = format!("[upstreams.bedrock]\nurl = \"{}\"\n{signed}", provider.url());
    std::fs::write(&config, text).unwrap();
    let variables = [
        ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"),
        ("AWS_SECRET_ACCESS_KEY", "a-secret"),
    ];
    let url = provider.url();
    let arguments = ["--upstream", &url, "--model", ON_BEDROCK, "--state", "memory:"];
    // The upstream's name tells the format.
    let with = [&arguments[..], &["--config", config.to_str().unwrap()]].concat();
    let output = probe(&variables, &with);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(
        String::from_utf8(output.stdout)
            .unwrap()
            .contains("format = \"bedrock_converse\"")
    );
    let without = [&arguments[..], &["--wire", "bedrock_converse"]].concat();
    let output = probe(&variables, &without);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("403"));
}
