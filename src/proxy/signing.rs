//! Requests that are signed anew: AWS Signature Version 4 from the user's own credentials.
//!
//! A signature covers the body and the host that the client dialled, so a signed request can neither be edited nor,
//! unless the client signed for the upstream, be sent on. Where the configuration says so, it is signed again as it
//! leaves. A bearer token or a key of the client's stays what authorises its request. What a web page sends (browsers
//! say `Origin`) is not signed: it is not the user's.

use std::time::SystemTime;

use aws_credential_types::Credentials;
use aws_sigv4::{
    http_request::{SignableBody, SignableRequest, SigningSettings, sign},
    sign::v4,
};
use hyper::{
    HeaderMap, Request,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue, ORIGIN},
};
use ring::digest::{Context, SHA256};

use crate::{
    config::Sign,
    proxy::{Proxy, headers, rewrite::Passthrough, target::Target},
};

/// By what a request is authorised as it leaves.
pub enum Signing<'a> {
    /// What the client sent.
    Client,
    /// A signature of ours.
    Ours(&'a Sign, Box<Credentials>),
    /// What the client sent, since there are no credentials.
    NoCredentials,
}

impl<'a> Signing<'a> {
    /// The way of a request to `target`.
    pub async fn of(proxy: &Proxy, target: &Target<'a>, headers: &HeaderMap) -> Self {
        let Some(sign) = target.upstream.sign.as_ref().filter(|_| may_sign(headers)) else {
            return Self::Client;
        };
        match proxy.credentials.credentials(SystemTime::now()).await {
            Ok(credentials) => Self::Ours(sign, Box::new(credentials)),
            Err(missing) => {
                let upstream = &target.upstream.name;
                tracing::warn!(event = "no_credentials", %upstream, reason = %missing, "a request is not signed anew");
                Self::NoCredentials
            }
        }
    }

    /// Why no byte of the body may change, if that is so.
    pub fn pins(&self, headers: &HeaderMap) -> Option<Passthrough> {
        match self {
            Self::NoCredentials => Some(Passthrough::NoCredentials),
            Self::Client => headers::is_signed(headers).then_some(Passthrough::Signed),
            Self::Ours(..) => headers::has_digest(headers).then_some(Passthrough::Signed),
        }
    }

    /// Whether [`Self::authorise`] changes anything.
    pub fn is_ours(&self) -> bool {
        matches!(self, Self::Ours(..))
    }

    /// Replaces the client's signature by one over `request`, whose body has the SHA-256 `digest`.
    pub fn authorise<B>(&self, request: &mut Request<B>, digest: &str) {
        let Self::Ours(to, credentials) = self else { return };
        let unsigned = headers::without_signature(request.headers());
        match signature(to, credentials, request, &unsigned, digest) {
            Some(added) => {
                *request.headers_mut() = unsigned;
                request.headers_mut().extend(added);
            }
            None => tracing::error!(event = "internal", "a request could not be signed"),
        }
    }
}

/// The SHA-256 of a body in pieces, in hexadecimal digits.
pub fn digest<'b>(pieces: impl IntoIterator<Item = &'b [u8]>) -> String {
    let mut context = Context::new(&SHA256);
    pieces.into_iter().for_each(|piece| context.update(piece));
    let digest = context.finish();
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn may_sign(headers: &HeaderMap) -> bool {
    let mut authorizations = headers.get_all(AUTHORIZATION).iter();
    authorizations.all(headers::is_aws_signature)
        && !headers.contains_key(ORIGIN)
        && !headers.contains_key("x-api-key")
}

/// The headers of a signature over what must be signed: the host, the content's type, and all of AWS's own headers.
/// Others may change on the way.
fn signature<B>(
    to: &Sign,
    credentials: &Credentials,
    request: &Request<B>,
    headers: &HeaderMap,
    digest: &str,
) -> Option<Vec<(HeaderName, HeaderValue)>> {
    let identity = credentials.clone().into();
    let params = v4::SigningParams::builder()
        .identity(&identity)
        .region(&to.region)
        .name(&to.service)
        .time(SystemTime::now())
        // The defaults are those of every service but S3: the path, as encoded as it is sent, is encoded once more.
        .settings(SigningSettings::default())
        .build()
        .ok()?
        .into();
    let covered = |name: &HeaderName| name == CONTENT_TYPE || name.as_str().starts_with("x-amz-");
    let covered = headers
        .iter()
        .filter(|(name, _)| covered(name))
        .map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
        .collect::<Option<Vec<_>>>()?;
    let body = SignableBody::Precomputed(digest.to_owned());
    let uri = request.uri().to_string();
    let signable = SignableRequest::new(request.method().as_str(), uri, covered.into_iter(), body).ok()?;
    let (instructions, _) = sign(signable, &params).ok()?.into_parts();
    let (added, _) = instructions.into_parts();
    added
        .into_iter()
        .map(|header| {
            let mut value = HeaderValue::from_str(header.value()).ok()?;
            value.set_sensitive(true);
            Some((HeaderName::try_from(header.name()).ok()?, value))
        })
        .collect()
}
