//! AWS Signature Version 4, checked as the service checks it: over method, path, query, signed headers and body as received.
//!
//! The age of a signature is not checked, because the provider's clock is not the wall clock. Source: AWS IAM user guide, "Create
//! a signed AWS API request".

use std::fmt::Write;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use ring::{digest, hmac};

use super::exchange::Incoming;
use super::refusal::Refusal;

/// An access key and its secret, as a client signs with.
#[derive(Clone, Debug)]
pub struct AwsKey {
    /// Access key id.
    pub id: String,
    /// Secret access key.
    pub secret: String,
}

/// # Errors
///
/// 403 where there is no signature, it is by another key, or it does not fit what arrived. A bearer key needs none.
pub(super) fn check(incoming: &Incoming, key: &AwsKey) -> Result<(), Refusal> {
    let Some(authorization) = incoming.header("authorization") else {
        return Err(denied("MissingAuthenticationTokenException", MISSING));
    };
    if authorization.starts_with("Bearer ") {
        return Ok(());
    }
    let claim = Claim::parse(authorization)
        .ok_or_else(|| denied("IncompleteSignatureException", "The signature is incomplete."))?;
    if claim.access_key != key.id {
        return Err(denied("UnrecognizedClientException", FOREIGN));
    }
    let signed = signature(incoming, &claim, &key.secret);
    match signed.as_deref() == Some(claim.signature) {
        true => Ok(()),
        false => Err(denied("InvalidSignatureException", MISMATCH)),
    }
}

/// Of an `Authorization` header, the access key that signed; none for other kinds.
pub(super) fn access_key(authorization: &str) -> Option<&str> {
    Some(Claim::parse(authorization)?.access_key)
}

const MISSING: &str = "Missing Authentication Token";
const FOREIGN: &str = "The security token included in the request is invalid.";
const MISMATCH: &str = "The request signature we calculated does not match the signature you provided. Check your AWS \
    Secret Access Key and signing method. Consult the service documentation for details.";
const ALGORITHM: &str = "AWS4-HMAC-SHA256";

fn denied(kind: &'static str, message: &str) -> Refusal {
    Refusal::new(message).with_status(403).code(kind)
}

/// What an `Authorization` header says.
struct Claim<'a> {
    access_key: &'a str,
    /// Date, region, service and `aws4_request`.
    scope: &'a str,
    signed_headers: &'a str,
    signature: &'a str,
}

impl<'a> Claim<'a> {
    fn parse(authorization: &'a str) -> Option<Self> {
        let fields = authorization.strip_prefix(ALGORITHM)?;
        let field = |name: &str| {
            let mut fields = fields.split(',').map(str::trim);
            fields.find_map(|f| f.strip_prefix(name)?.strip_prefix('='))
        };
        let (access_key, scope) = field("Credential")?.split_once('/')?;
        Some(Self {
            access_key,
            scope,
            signed_headers: field("SignedHeaders")?,
            signature: field("Signature")?,
        })
    }
}

/// The signature that a request ought to have; none where it lacks what must be signed.
fn signature(incoming: &Incoming, claim: &Claim, secret: &str) -> Option<String> {
    let names: Vec<&str> = claim.signed_headers.split(';').collect();
    if !names.contains(&"host") {
        return None;
    }
    let date = incoming.header("x-amz-date")?;
    let request = canonical_request(incoming, &names)?;
    let text = format!(
        "{ALGORITHM}\n{date}\n{}\n{}",
        claim.scope,
        sha256(request.as_bytes())
    );
    let secret = format!("AWS4{secret}").into_bytes();
    let parts = claim.scope.split('/');
    let key = parts.fold(secret, |key, part| hmac_sha256(&key, part));
    Some(hex(&hmac_sha256(&key, &text)))
}

fn canonical_request(incoming: &Incoming, names: &[&str]) -> Option<String> {
    let (path, query) = incoming.target.split_once('?').unwrap_or((&incoming.target, ""));
    let mut query: Vec<&str> = query.split('&').filter(|pair| !pair.is_empty()).collect();
    query.sort_unstable();
    let mut out = format!("{}\n", incoming.method);
    // What is encoded on the wire is encoded once more, S3 aside.
    let _ = writeln!(out, "{}", utf8_percent_encode(path, PATH));
    let _ = writeln!(out, "{}", query.join("&"));
    for name in names {
        let _ = writeln!(out, "{name}:{}", incoming.joined_header(name)?);
    }
    let _ = write!(out, "\n{}\n{}", names.join(";"), sha256(&incoming.body));
    Some(out)
}

/// What stays as it is in a canonical path.
const PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'/');

impl Incoming {
    fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(n, _)| n.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// All values of a header, white space folded, as they are signed.
    fn joined_header(&self, name: &str) -> Option<String> {
        let same = self.headers.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name));
        let folded = |value: &String| value.split_whitespace().collect::<Vec<_>>().join(" ");
        let values: Vec<String> = same.map(|(_, value)| folded(value)).collect();
        (!values.is_empty()).then(|| values.join(","))
    }
}

fn hmac_sha256(key: &[u8], text: &str) -> Vec<u8> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    hmac::sign(&key, text.as_bytes()).as_ref().to_vec()
}

fn sha256(bytes: &[u8]) -> String {
    hex(digest::digest(&digest::SHA256, bytes).as_ref())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
