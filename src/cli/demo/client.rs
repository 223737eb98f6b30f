//! The agent's HTTP client: one POST, the whole answer as text.

use std::error::Error;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, StatusCode, header::CONTENT_TYPE};
use hyper_util::{
    client::legacy::{self, connect::HttpConnector},
    rt::TokioExecutor,
};
use serde_json::Value;

use crate::sim::Format;

/// A client without connections that wait, since servers come and go here.
pub struct Client(legacy::Client<HttpConnector, Full<Bytes>>);

/// An answer.
pub struct Response {
    /// Its status.
    pub status: StatusCode,
    text: String,
}

impl Client {
    /// A client.
    pub fn new() -> Self {
        let mut builder = legacy::Client::builder(TokioExecutor::new());
        Self(builder.pool_max_idle_per_host(0).build_http())
    }

    /// Sends one request and reads its answer to the end.
    ///
    /// # Errors
    /// There is no answer, or not all of it.
    pub async fn post(&self, base: &str, format: Format, body: String) -> Result<Response, Box<dyn Error>> {
        let (path, key) = match format {
            Format::OpenAiChat => ("/v1/chat/completions", ("authorization", "Bearer none-needed")),
            _ => ("/v1/messages", ("x-api-key", "none-needed")),
        };
        let mut request = Request::post(format!("{base}{path}"))
            .header(CONTENT_TYPE, "application/json")
            .header(key.0, key.1);
        if format == Format::AnthropicMessages {
            request = request.header("anthropic-version", "2023-06-01");
        }
        let response = self.0.request(request.body(Full::from(body))?).await?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        Ok(Response {
            status,
            text: String::from_utf8_lossy(&body).into_owned(),
        })
    }
}

impl Response {
    /// The signature of the thinking in a streamed answer.
    pub fn signature(&self) -> Option<String> {
        let events = self.text.lines().filter_map(|line| line.strip_prefix("data: "));
        let events = events.filter_map(|data| serde_json::from_str::<Value>(data).ok());
        let mut signatures =
            events.filter_map(|event| Some(event["delta"]["signature"].as_str()?.to_owned()));
        signatures.next()
    }

    /// The provider refuses thinking that it wrote behind another prompt.
    pub fn is_bound_elsewhere(&self) -> bool {
        self.status == StatusCode::BAD_REQUEST && self.text.contains("bound to a different conversation")
    }

    /// What is wrong, for people.
    pub fn complaint(&self) -> String {
        let start: String = self.text.chars().take(300).collect();
        format!("the simulated provider answered {}: {start}", self.status)
    }
}
