//! A real Prometheus on a free loopback port, scraping one target each second; it ends with the value.

use serde_json::Value;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub struct Prometheus {
    process: Child,
    address: String,
    _folder: TempDir,
}

impl Prometheus {
    /// Starts it with the repository's scrape configuration, pointed at `target`. None if the machine has no
    /// `prometheus`; with CI=true that is a failure.
    pub fn start(config: &str, target: &str) -> Option<Self> {
        if Command::new("prometheus").arg("--version").output().is_err() {
            assert!(
                std::env::var("CI").as_deref() != Ok("true"),
                "prometheus is not on PATH"
            );
            eprintln!("skipped: prometheus is not on PATH");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("prometheus.yml");
        std::fs::write(&file, pointed_at(config, target)).unwrap();
        let address = free_address();
        let process = Command::new("prometheus")
            .arg(format!("--config.file={}", file.display()))
            .arg(format!(
                "--storage.tsdb.path={}",
                folder.path().join("data").display()
            ))
            .arg(format!("--web.listen-address={address}"))
            .arg("--log.level=error")
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut started = Prometheus {
            process,
            address,
            _folder: folder,
        };
        started.wait_until_ready();
        Some(started)
    }

    /// Whether an instant query has at least one number; `NaN` and infinities are none.
    pub fn has_number(&self, query: &str) -> bool {
        let (status, body) = self
            .get(&format!("/api/v1/query?query={}", encoded(query)))
            .unwrap();
        let answer: Value = serde_json::from_str(&body).unwrap();
        assert!(status == 200, "{query}: {body}");
        let results = answer["data"]["result"].as_array().unwrap();
        results
            .iter()
            .filter_map(|result| result["value"][1].as_str()?.parse::<f64>().ok())
            .any(f64::is_finite)
    }

    fn wait_until_ready(&mut self) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while !matches!(self.get("/-/ready"), Ok((200, _))) {
            let exited = self.process.try_wait().unwrap();
            assert!(exited.is_none(), "prometheus ended: {exited:?}");
            assert!(Instant::now() < deadline, "prometheus is not ready");
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// HTTP/1.0, so that the body ends with the connection.
    fn get(&self, path: &str) -> std::io::Result<(u16, String)> {
        let mut stream = TcpStream::connect(&self.address)?;
        write!(stream, "GET {path} HTTP/1.0\r\nHost: {}\r\n\r\n", self.address)?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let status = answer
            .split(' ')
            .nth(1)
            .and_then(|code| code.parse().ok())
            .unwrap_or(0);
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        Ok((status, body.to_owned()))
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn pointed_at(config: &str, target: &str) -> String {
    let pointed = config
        .replace("127.0.0.1:4641", target)
        .replace("scrape_interval: 5s", "scrape_interval: 1s");
    assert!(
        pointed.contains(target) && pointed.contains("scrape_interval: 1s"),
        "{config}"
    );
    pointed
}

fn free_address() -> String {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .to_string()
}

fn encoded(query: &str) -> String {
    query
        .bytes()
        .map(|b| {
            if b.is_ascii_alphanumeric() {
                char::from(b).to_string()
            } else {
                format!("%{b:02X}")
            }
        })
        .collect()
}
