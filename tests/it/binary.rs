//! The built binary as a process of its own, on loopback and free ports.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;

/// A running `inkfast serve`; ended when dropped.
pub struct Inkfast {
    child: Child,
    pub proxy: String,
    pub admin: String,
    log: Arc<Mutex<Vec<String>>>,
    reader: Option<JoinHandle<()>>,
}

impl Inkfast {
    /// Starts it with this configuration and waits until it listens.
    pub fn serve(folder: &Path, config: &str) -> Self {
        Self::serve_with(folder, config, &[])
    }

    /// The same with more variables in its environment.
    pub fn serve_with(folder: &Path, config: &str, variables: &[(&str, &str)]) -> Self {
        let file = folder.join("inkfast.toml");
        std::fs::write(&file, config).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_inkfast"))
            .args([
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--admin",
                "127.0.0.1:0",
                "--log-format",
                "json",
                "--config",
            ])
            .arg(&file)
            .env("XDG_STATE_HOME", folder)
            .envs(variables.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = Arc::new(Mutex::new(Vec::new()));
        let (into, errors) = (log.clone(), BufReader::new(child.stderr.take().unwrap()));
        let reader = std::thread::spawn(move || {
            for line in errors.lines().map_while(Result::ok) {
                into.lock().unwrap().push(line);
            }
        });
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut first)
            .unwrap();
        let address = |name: &str| {
            let rest = first.split_whitespace().find_map(|word| word.strip_prefix(name));
            format!(
                "http://{}",
                rest.unwrap_or_else(|| panic!("first line: {first:?}"))
            )
        };
        let (proxy, admin) = (address("proxy="), address("admin="));
        let inkfast = Self {
            child,
            proxy,
            admin,
            log,
            reader: Some(reader),
        };
        inkfast.wait_ready();
        inkfast
    }

    /// All that it wrote to its log so far.
    pub fn log(&self) -> String {
        self.log.lock().unwrap().join("\n")
    }

    /// What it exports.
    pub fn metrics(&self) -> String {
        get(&format!("{}/metrics", self.admin)).unwrap_or_default()
    }

    /// The log lines of the requests so far, in order.
    pub fn requests(&self) -> Vec<Value> {
        let lines = self.log.lock().unwrap().clone();
        let parsed = lines
            .iter()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        parsed
            .filter(|line| line.to_string().contains("\"received\""))
            .collect()
    }

    /// Waits until so many requests are logged.
    pub fn wait_for_requests(&self, count: usize) -> Vec<Value> {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let requests = self.requests();
            if requests.len() >= count || Instant::now() > deadline {
                return requests;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// The sum of a metric's samples whose labels hold all of `labels`.
    pub fn metric(&self, name: &str, labels: &[&str]) -> f64 {
        let text = self.metrics();
        let samples = text.lines().filter(|line| {
            line.strip_prefix(name)
                .is_some_and(|rest| rest.starts_with(['{', ' ']))
                && labels.iter().all(|label| line.contains(label))
        });
        samples
            .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
            .sum()
    }

    /// Ends it at once, as `kill -9` does.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn wait_ready(&self) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while get(&format!("{}/readyz", self.admin)).is_none() {
            assert!(
                Instant::now() < deadline,
                "never ready: {:?}",
                self.log.lock().unwrap()
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Inkfast {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

/// Sends a JSON body and reads the whole answer: status and body, chunks joined.
pub fn post(url: &str, headers: &[(&str, &str)], body: &[u8]) -> (u16, Vec<u8>) {
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut head = format!("POST /{path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!(
        "Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    ));
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer
        .windows(4)
        .position(|window| window == b"\r\n\r\n")
        .expect("a response head");
    let head = String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let body = answer.split_off(end + 4);
    (
        status,
        if head.contains("transfer-encoding: chunked") {
            unchunk(&body)
        } else {
            body
        },
    )
}

fn unchunk(mut body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    while let Some(line) = body.windows(2).position(|window| window == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&body[..line]).unwrap().trim(), 16).unwrap();
        out.extend_from_slice(&body[line + 2..line + 2 + size]);
        if size == 0 {
            break;
        }
        body = &body[line + 2 + size + 2..];
    }
    out
}

/// The body of a 200 answer to a GET.
fn get(url: &str) -> Option<String> {
    let rest = url.strip_prefix("http://")?;
    let (host, path) = rest.split_once('/')?;
    let mut stream = TcpStream::connect(host).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
    write!(
        stream,
        "GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    )
    .ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    head.starts_with("HTTP/1.1 200").then(|| body.to_owned())
}
