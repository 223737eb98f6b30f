//! Whose conversations a request may be compared with. Pure.
//!
//! On one person's machine there is one tenant. Elsewhere it is a digest of the credential, keyed with the store's own
//! secret so that nobody can look a key up in a ledger. A signed token is refreshed now and then; its issuer and
//! subject stay, and they are what counts of it. The signature is the upstream's to check.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use hyper::{HeaderMap, header::HeaderValue};
use serde::Deserialize;

use crate::prefix::digest::{Digest, Hasher};

/// How tenants are told apart.
pub struct Tenants {
    /// None on one person's machine.
    secret: Option<[u8; 32]>,
}

const KEYS: [&str; 4] = ["x-api-key", "api-key", "x-goog-api-key", "authorization"];

impl Tenants {
    /// One person's machine: a loopback listener with local state.
    pub fn one_person() -> Self {
        Self { secret: None }
    }

    /// Many people, told apart by their credentials.
    pub fn many(secret: [u8; 32]) -> Self {
        Self { secret: Some(secret) }
    }

    /// Whether this is one person's machine.
    pub fn is_one_person(&self) -> bool {
        self.secret.is_none()
    }

    /// The tenant of a request with this query; none where there is only one.
    pub fn of(&self, headers: &HeaderMap, query: Option<&str>) -> Option<Digest> {
        let mut hasher = Hasher::keyed(self.secret.as_ref()?, "inkfast tenant v1");
        let credential = KEYS.iter().find_map(|name| headers.get(*name));
        match credential.and_then(subject) {
            Some(subject) => hasher.part(subject.iss.as_bytes()).part(subject.sub.as_bytes()),
            None => hasher.part(credential.map_or(in_query(query), HeaderValue::as_bytes)),
        };
        Some(hasher.finish())
    }

    /// A session as logs show it: a short digest, which where many people are served nobody can look up.
    pub fn session_label(&self, session: Digest) -> String {
        let shown = match &self.secret {
            Some(secret) => Digest::keyed(secret, "inkfast session v1", &session.0),
            None => session,
        };
        shown.to_string()[..16].to_owned()
    }
}

/// The key that clients of Google's put into the query; nothing where there is none.
fn in_query(query: Option<&str>) -> &[u8] {
    let mut pairs = query.unwrap_or_default().split('&');
    let key = pairs.find_map(|pair| pair.strip_prefix("key="));
    key.unwrap_or_default().as_bytes()
}

/// What stays in a token that is refreshed.
#[derive(Deserialize)]
struct Subject {
    iss: String,
    sub: String,
}

/// Issuer and subject of a JSON Web Token (RFC 7519, sections 4.1.1 and 4.1.2).
fn subject(credential: &HeaderValue) -> Option<Subject> {
    let (scheme, token) = credential.to_str().ok()?.split_once(' ')?;
    let mut parts = token.trim().split('.');
    let (_, claims, _) = (parts.next()?, parts.next()?, parts.next()?);
    let whole = scheme.eq_ignore_ascii_case("bearer") && parts.next().is_none();
    whole
        .then(|| URL_SAFE_NO_PAD.decode(claims).ok())
        .flatten()
        .and_then(|claims| serde_json::from_slice(&claims).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// {"alg":"none"} . {"iss":"https://id","sub":"ann","exp":1} and the same with exp 2, then with sub bob.
    const ANN_1: &str = "eyJhbGciOiJub25lIn0.eyJpc3MiOiJodHRwczovL2lkIiwic3ViIjoiYW5uIiwiZXhwIjoxfQ.x";
    const ANN_2: &str = "eyJhbGciOiJub25lIn0.eyJpc3MiOiJodHRwczovL2lkIiwic3ViIjoiYW5uIiwiZXhwIjoyfQ.y";
    const BOB: &str = "eyJhbGciOiJub25lIn0.eyJpc3MiOiJodHRwczovL2lkIiwic3ViIjoiYm9iIiwiZXhwIjoxfQ.x";

    fn tenant(tenants: &Tenants, name: &'static str, value: &str) -> Option<Digest> {
        let mut headers = HeaderMap::new();
        headers.insert(name, value.parse().unwrap());
        tenants.of(&headers, None)
    }

    #[test]
    fn a_key_in_the_query_is_a_tenant() {
        let of = |query: &str| Tenants::many([7; 32]).of(&HeaderMap::new(), Some(query));
        assert_ne!(of("alt=sse&key=a"), of("alt=sse&key=b"));
        assert_eq!(of("alt=sse&key=a"), of("key=a"));
        assert_ne!(of("key=a"), of("monkey=a"));
    }

    #[test]
    fn one_person_is_one_tenant() {
        assert_eq!(tenant(&Tenants::one_person(), "x-api-key", "a"), None);
    }

    #[test]
    fn a_key_is_a_tenant_and_a_refreshed_token_the_same_one() {
        let many = Tenants::many([7; 32]);
        assert_ne!(tenant(&many, "x-api-key", "a"), tenant(&many, "x-api-key", "b"));
        assert_ne!(
            tenant(&many, "x-api-key", "a"),
            tenant(&Tenants::many([8; 32]), "x-api-key", "a")
        );
        let bearer = |token: &str| tenant(&many, "authorization", &format!("Bearer {token}"));
        assert_eq!(bearer(ANN_1), bearer(ANN_2));
        assert_ne!(bearer(ANN_1), bearer(BOB));
        assert_ne!(bearer("sk-1"), bearer("sk-2"));
        assert_ne!(bearer("a.b.c"), bearer("a.b.d"));
    }
}
