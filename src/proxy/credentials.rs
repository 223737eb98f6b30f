//! AWS credentials of the user who runs this: environment, shared files, `credential_process`.
//!
//! They are looked for where the AWS tools look, in their order: `AWS_ACCESS_KEY_ID` and its companions; then the
//! profile that `AWS_PROFILE` names, else `default`, in `AWS_SHARED_CREDENTIALS_FILE` or `~/.aws/credentials` and in
//! `AWS_CONFIG_FILE` or `~/.aws/config`: its keys, else its `credential_process` (the AWS SDKs and Tools Reference
//! Guide, "Standardized credential providers"). Roles, SSO, web identity and instance metadata are left to the AWS CLI:
//! `credential_process = aws configure export-credentials --profile NAME --format process`. Credentials are kept in
//! memory while they are good, and nowhere else; no message has any part of them.

use std::{
    collections::BTreeMap,
    fmt,
    path::PathBuf,
    process::Stdio,
    time::{Duration, SystemTime},
};

use aws_credential_types::Credentials;
use serde::Deserialize;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};
use tokio::{process::Command, sync::Mutex, time::timeout};

/// Where credentials come from, with those that were found last.
pub struct Chain {
    variable: Box<Variables>,
    /// One request looks, the others wait for what it finds.
    last: Mutex<Option<Looked>>,
}

/// Why there are no credentials. None of them says more than names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Neither variables nor files have any.
    NotFound,
    /// The profile assumes a role, signs in or the like.
    OtherProvider,
    /// `credential_process` failed, or took too long.
    Process,
    /// `credential_process` wrote what it should not.
    Output,
    /// They are no longer valid.
    Expired,
}

/// What was found when it was looked for, and until when nobody looks again.
struct Looked {
    found: Result<Credentials, Missing>,
    until: SystemTime,
}

/// The value of an environment variable.
type Variables = dyn Fn(&str) -> Option<String> + Send + Sync;

/// Files are read again after so long: tools that refresh keys rewrite them.
const STATIC: Duration = Duration::from_secs(60);
/// The same for a process that names no end.
const ENDLESS: Duration = Duration::from_secs(900);
/// Credentials with an end are replaced so long before it, where that can be.
const EARLY: Duration = Duration::from_secs(300);
/// After a failure nobody looks for so long.
const AGAIN: Duration = Duration::from_secs(10);
const PROCESS_TIMEOUT: Duration = Duration::from_secs(30);

impl Chain {
    /// The chain of this process's own environment.
    pub fn of_user() -> Self {
        Self::new(|name| std::env::var(name).ok())
    }

    /// The chain of an environment.
    pub fn new(variable: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self {
            variable: Box::new(variable),
            last: Mutex::new(None),
        }
    }

    /// Credentials that are valid at `now`.
    ///
    /// # Errors
    /// There are none, and why.
    pub async fn credentials(&self, now: SystemTime) -> Result<Credentials, Missing> {
        let mut last = self.last.lock().await;
        if let Some(looked) = last.as_ref().filter(|looked| now < looked.until) {
            return looked.found.clone();
        }
        let looked = self.look(now).await;
        // What was found earlier may outlive a source that fails now.
        let earlier = last
            .take()
            .and_then(|looked| looked.found.ok())
            .filter(|earlier| valid(earlier, now));
        let looked = match (looked.found, earlier) {
            (Err(_), Some(earlier)) if earlier.expiry().is_some() => Looked {
                found: Ok(earlier),
                until: looked.until,
            },
            (found, _) => Looked { found, ..looked },
        };
        last.insert(looked).found.clone()
    }

    async fn look(&self, now: SystemTime) -> Looked {
        let (found, good_for) = match self.find().await {
            Ok((found, _)) if !valid(&found, now) => (Err(Missing::Expired), AGAIN),
            Ok((found, good_for)) => {
                let left = found
                    .expiry()
                    .map(|end| end.duration_since(now).unwrap_or_default());
                let good_for = left.map_or(good_for, |left| left.saturating_sub(EARLY).max(AGAIN.min(left)));
                (Ok(found), good_for)
            }
            Err(missing) => (Err(missing), AGAIN),
        };
        Looked {
            found,
            until: now + good_for,
        }
    }

    /// The credentials, and how long they are good if they do not say it.
    async fn find(&self) -> Result<(Credentials, Duration), Missing> {
        let variable = |name: &str| self.variable(name);
        if let Some(found) = of_keys(
            variable,
            ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"],
        ) {
            return Ok((found, STATIC));
        }
        let profile = self.variable("AWS_PROFILE").unwrap_or_else(|| "default".into());
        let shared = self
            .file("AWS_SHARED_CREDENTIALS_FILE", "credentials", &[&profile])
            .await;
        let config = self
            .file(
                "AWS_CONFIG_FILE",
                "config",
                &[&format!("profile {profile}"), &profile],
            )
            .await;
        let has = |name: &str| shared.contains_key(name) || config.contains_key(name);
        // The keys of such a profile are those of whoever may assume the role.
        if has("role_arn") {
            return Err(Missing::OtherProvider);
        }
        let keys = ["aws_access_key_id", "aws_secret_access_key", "aws_session_token"];
        for section in [&shared, &config] {
            if let Some(found) = of_keys(|name| section.get(name).cloned(), keys) {
                return Ok((found, STATIC));
            }
        }
        match shared
            .get("credential_process")
            .or(config.get("credential_process"))
        {
            Some(command) => Ok((of_process(command).await?, ENDLESS)),
            None if has("sso_session") || has("sso_start_url") => Err(Missing::OtherProvider),
            None => Err(Missing::NotFound),
        }
    }

    /// The first of `sections` that a file has; empty where there is none.
    async fn file(&self, variable: &str, name: &str, sections: &[&str]) -> BTreeMap<String, String> {
        let home = || self.variable("HOME").or_else(|| self.variable("USERPROFILE"));
        let path = match self.variable(variable) {
            Some(path) => Some(PathBuf::from(path)),
            None => home().map(|home| [home.as_str(), ".aws", name].iter().collect()),
        };
        let text = match path {
            Some(path) => tokio::fs::read_to_string(path).await.unwrap_or_default(),
            None => String::new(),
        };
        let found = sections.iter().map(|section| read_section(&text, section));
        found
            .into_iter()
            .find(|section| !section.is_empty())
            .unwrap_or_default()
    }

    fn variable(&self, name: &str) -> Option<String> {
        (self.variable)(name).filter(|value| !value.is_empty())
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotFound => "neither the environment nor the profile has AWS credentials",
            Self::OtherProvider => {
                "the profile uses a role or SSO: give it `credential_process = aws configure export-credentials \
                 --profile NAME --format process`"
            }
            Self::Process => "the profile's credential_process failed",
            Self::Output => "the profile's credential_process wrote no credentials of version 1",
            Self::Expired => "the AWS credentials that were found have expired",
        })
    }
}

fn valid(credentials: &Credentials, now: SystemTime) -> bool {
    credentials.expiry().is_none_or(|end| now < end)
}

fn of_keys(value: impl Fn(&str) -> Option<String>, names: [&str; 3]) -> Option<Credentials> {
    let [id, secret, token] = names.map(value);
    Some(Credentials::new(id?, secret?, token, None, "inkfast"))
}

/// What a `credential_process` writes.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Written {
    version: u8,
    access_key_id: String,
    secret_access_key: String,
    session_token: Option<String>,
    expiration: Option<String>,
}

/// Runs the command by the shell, as the AWS tools do. What it says on standard error is not ours to show.
async fn of_process(command: &str) -> Result<Credentials, Missing> {
    let (shell, flag) = if cfg!(windows) {
        ("cmd", "/C")
    } else {
        ("sh", "-c")
    };
    let running = Command::new(shell)
        .args([flag, command])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = match timeout(PROCESS_TIMEOUT, running).await {
        Ok(Ok(output)) if output.status.success() => output.stdout,
        _ => return Err(Missing::Process),
    };
    let written: Written = serde_json::from_slice(&output).map_err(|_| Missing::Output)?;
    let end = written
        .expiration
        .as_deref()
        .map(|end| OffsetDateTime::parse(end, &Rfc3339));
    let end = end
        .transpose()
        .map_err(|_| Missing::Output)?
        .map(SystemTime::from);
    if written.version != 1 {
        return Err(Missing::Output);
    }
    let (id, secret) = (written.access_key_id, written.secret_access_key);
    Ok(Credentials::new(
        id,
        secret,
        written.session_token,
        end,
        "inkfast",
    ))
}

/// The keys of one section of an AWS file. Indented lines belong to the key above them and are of no use here.
fn read_section(text: &str, wanted: &str) -> BTreeMap<String, String> {
    let (mut inside, mut found) = (false, BTreeMap::new());
    for line in text
        .lines()
        .filter(|line| !line.starts_with([' ', '\t', '#', ';']))
    {
        if let Some(rest) = line.strip_prefix('[') {
            let name = rest.split(']').next().unwrap_or_default();
            inside = name.split_whitespace().eq(wanted.split_whitespace());
        } else if let Some((key, value)) = line.split_once('=').filter(|_| inside) {
            let value = value.trim();
            if !value.is_empty() {
                found.insert(key.trim().to_ascii_lowercase(), value.to_owned());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::{fs, time::UNIX_EPOCH};

    use super::*;

    /// The environment of a user whose home folder has these files.
    fn chain(folder: &tempfile::TempDir, files: [&str; 2], variables: &[(&str, &str)]) -> Chain {
        let home = folder.path().join(".aws");
        fs::create_dir_all(&home).unwrap();
        fs::write(home.join("credentials"), files[0]).unwrap();
        fs::write(home.join("config"), files[1]).unwrap();
        let mut all: BTreeMap<_, _> = variables
            .iter()
            .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
            .collect();
        all.insert("HOME".into(), folder.path().to_str().unwrap().into());
        Chain::new(move |name| all.get(name).cloned())
    }

    async fn found(files: [&str; 2], variables: &[(&str, &str)]) -> Result<String, Missing> {
        let folder = tempfile::tempdir().unwrap();
        let found = chain(&folder, files, variables)
            .credentials(SystemTime::now())
            .await?;
        let token = found.session_token().unwrap_or("-");
        Ok(format!(
            "{} {} {token}",
            found.access_key_id(),
            found.secret_access_key()
        ))
    }

    const SHARED: &str = "# c\n[default]\naws_access_key_id = D\naws_secret_access_key=d=/+\n\n[work]\n\
                          aws_access_key_id=W\naws_secret_access_key=w\naws_session_token=t\n";
    const CONFIG: &str = "[default]\nregion = x\ns3 =\n  aws_access_key_id = NO\n[profile  process]\n\
                          credential_process = echo '{\"Version\":1,\"AccessKeyId\":\"P\",\"SecretAccessKey\":\"p\"}'\n\
                          [profile role]\nrole_arn = r\nsource_profile = default\n[profile sso]\nsso_session = s\n\
                          [profile own]\naws_access_key_id = C\naws_secret_access_key = c\n\
                          [profile fails]\ncredential_process = echo x; exit 3\n\
                          [profile babble]\ncredential_process = echo x\n\
                          [profile two]\n\
                          credential_process = echo '{\"Version\":2,\"AccessKeyId\":\"P\",\"SecretAccessKey\":\"p\"}'\n";

    #[tokio::test]
    async fn the_order_of_the_sources() {
        let keys = [("AWS_ACCESS_KEY_ID", "E"), ("AWS_SECRET_ACCESS_KEY", "e")];
        let files = [SHARED, CONFIG];
        assert_eq!(found(files, &keys).await.unwrap(), "E e -");
        assert_eq!(found(files, &keys[..1]).await.unwrap(), "D d=/+ -");
        let of_profile = async |name: &'static str| found(files, &[("AWS_PROFILE", name)]).await;
        assert_eq!(of_profile("work").await.unwrap(), "W w t");
        assert_eq!(of_profile("process").await.unwrap(), "P p -");
        assert_eq!(of_profile("own").await.unwrap(), "C c -");
        assert_eq!(of_profile("").await.unwrap(), "D d=/+ -");
        assert_eq!(of_profile("nobody").await, Err(Missing::NotFound));
        assert_eq!(of_profile("role").await, Err(Missing::OtherProvider));
        assert_eq!(of_profile("sso").await, Err(Missing::OtherProvider));
        assert_eq!(of_profile("fails").await, Err(Missing::Process));
        assert_eq!(of_profile("babble").await, Err(Missing::Output));
        assert_eq!(of_profile("two").await, Err(Missing::Output));
        assert_eq!(found(["", CONFIG], &[]).await, Err(Missing::NotFound));
    }

    #[tokio::test]
    async fn credentials_with_an_end_are_replaced_before_it() {
        let folder = tempfile::tempdir().unwrap();
        let counter = folder.path().join("runs");
        let written =
            r#"{"Version":1,"AccessKeyId":"P","SecretAccessKey":"p","Expiration":"2030-01-01T01:00:00Z"}"#;
        let config = format!(
            "[default]\ncredential_process = echo >> {0}; test $(wc -l < {0}) -le 2 && echo '{written}'\n",
            counter.display()
        );
        let chain = chain(&folder, ["", &config], &[]);
        let at = |seconds: u64| UNIX_EPOCH + Duration::from_secs(1_893_456_000 + seconds);
        let runs = || fs::read_to_string(&counter).unwrap().len();
        for (seconds, wanted, expected_runs) in [
            (0, true, 1),
            (3000, true, 1),
            // Its second run tells the same end, its third fails.
            (3301, true, 2),
            (3320, true, 3),
            (3605, false, 4),
            (3606, false, 4),
        ] {
            let found = chain.credentials(at(seconds)).await;
            assert_eq!((found.is_ok(), runs()), (wanted, expected_runs), "{seconds}");
        }
    }

    #[tokio::test]
    async fn a_rewritten_file_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let chain = chain(&folder, [SHARED, ""], &[]);
        let now = SystemTime::now();
        chain.credentials(now).await.unwrap();
        fs::write(
            folder.path().join(".aws/credentials"),
            SHARED.replace("= D", "= N"),
        )
        .unwrap();
        let id = async |now| chain.credentials(now).await.unwrap().access_key_id().to_owned();
        assert_eq!(id(now + STATIC / 2).await, "D");
        assert_eq!(id(now + STATIC).await, "N");
    }
}
