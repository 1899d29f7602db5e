//! A web for tests: a server on a loopback port of its own, which answers by path, and a resolver that says what a test wants.
//! It reaches nothing else, and ends with the test.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write};
use std::net::{IpAddr, Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use airlock_core::{Config, Host, HostBuilder, MemoryStore, RunContext, Secrets, Surface};
use airlock_sandbox::{Resolver, Sandbox, SandboxConfig};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::support::{install, repository, root};

/// A server on `127.0.0.1`.
pub(crate) struct Server {
    pub(crate) port: u16,
    seen: Arc<Mutex<Vec<Seen>>>,
    is_over: Arc<AtomicBool>,
}

/// One request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) line: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

impl Server {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self {
            port: listener.local_addr().unwrap().port(),
            seen: Arc::default(),
            is_over: Arc::default(),
        };
        let (seen, is_over) = (Arc::clone(&server.seen), Arc::clone(&server.is_over));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                let (Ok(stream), seen, is_over) = (stream, Arc::clone(&seen), Arc::clone(&is_over)) else {
                    continue;
                };
                std::thread::spawn(move || {
                    // Whoever hangs up ends an answer in the middle.
                    let _ = serve(&stream, &seen, &is_over);
                    let _ = stream.shutdown(Shutdown::Both);
                });
            }
        });
        server
    }

    /// Every request so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        drop(TcpStream::connect(("127.0.0.1", self.port)));
    }
}

fn serve(stream: &TcpStream, seen: &Mutex<Vec<Seen>>, is_over: &AtomicBool) -> std::io::Result<()> {
    let (mut reader, mut out) = (BufReader::new(stream), stream);
    let (mut line, mut headers) = (String::new(), BTreeMap::new());
    reader.read_line(&mut line)?;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let Some((name, value)) = header.trim_end().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let mut body = Vec::new();
    if let Some(length) = headers.get("content-length").and_then(|length| length.parse::<u64>().ok()) {
        reader.take(length).read_to_end(&mut body)?;
    } else if headers.contains_key("transfer-encoding") {
        loop {
            let mut size = String::new();
            reader.read_line(&mut size)?;
            let size = u64::from_str_radix(size.trim(), 16).unwrap_or(0);
            let mut chunk = vec![0; usize::try_from(size).unwrap() + 2];
            reader.read_exact(&mut chunk)?;
            if size == 0 {
                break;
            }
            body.extend_from_slice(&chunk[..chunk.len() - 2]);
        }
    }
    let request = Seen { line: line.trim_end().to_owned(), headers, body };
    let target = request.line.split(' ').nth(1).unwrap_or_default().to_owned();
    seen.lock().unwrap().push(request.clone());
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let credential = request.header("authorization").to_owned();
    let bare = credential.trim_start_matches("Bearer ");
    let wait = |milliseconds| {
        std::thread::sleep(Duration::from_millis(milliseconds));
        !is_over.load(Ordering::Relaxed)
    };
    match path {
        "/ok" => answer(out, "", b"hello"),
        "/echo" => answer(out, "", &request.body),
        "/size" => answer(out, "", request.body.len().to_string().as_bytes()),
        "/silent" => {
            while wait(20) {}
            Ok(())
        }
        "/closed" => Ok(()),
        "/garbage" => out.write_all(b"this is no HTTP at all\r\n\r\n"),
        "/endless-headers" => {
            out.write_all(b"HTTP/1.1 200 OK\r\n")?;
            while !is_over.load(Ordering::Relaxed) {
                out.write_all(b"x-more: 0123456789012345678901234567890123456789\r\n")?;
            }
            Ok(())
        }
        "/slow-headers" => {
            out.write_all(b"HTTP/1.1 200 OK\r\n")?;
            while wait(20) {
                out.write_all(b"x-more: 1\r\n")?;
            }
            Ok(())
        }
        "/many-headers" => answer(out, &"x-more: 1\r\n".repeat(200), b"hello"),
        "/endless-body" => {
            out.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")?;
            while !is_over.load(Ordering::Relaxed) {
                chunk(out, &[b'x'; 8_192])?;
            }
            Ok(())
        }
        "/body" => answer(out, "", &vec![b'x'; query.parse().unwrap()]),
        "/chunked" => {
            out.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")?;
            for piece in vec![b'x'; query.parse().unwrap()].chunks(50_000) {
                chunk(out, piece)?;
            }
            out.write_all(b"0\r\n\r\n")
        }
        "/drip" => {
            out.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")?;
            while wait(20) {
                out.write_all(b"x")?;
            }
            Ok(())
        }
        "/redirect" => {
            let head = format!("HTTP/1.1 302 Found\r\nlocation: {query}\r\ncontent-length: 0\r\n\r\n");
            out.write_all(head.as_bytes())
        }
        "/backwards" => answer(out, "", credential.chars().rev().collect::<String>().as_bytes()),
        "/plain" => answer(out, "", format!("you are {credential}").as_bytes()),
        "/in-header" => answer(out, &format!("x-you: {credential}\r\n"), b"see the header"),
        "/in-location" => answer(out, &format!("location: /next?token={bare}\r\n"), b""),
        "/split" => {
            out.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")?;
            for byte in format!("you are {credential}!").bytes() {
                chunk(out, &[byte])?;
            }
            out.write_all(b"0\r\n\r\n")
        }
        "/percent" => {
            let encoded: String = bare.bytes().map(|byte| format!("%{byte:02x}")).collect();
            answer(out, "", encoded.as_bytes())
        }
        "/json" => answer(out, "", json!({ "you": bare }).to_string().as_bytes()),
        "/unicode" => {
            let escaped: String = bare.chars().map(|char| format!("\\u{:04X}", u32::from(char))).collect();
            answer(out, "", format!("{{\"you\":\"{escaped}\"}}").as_bytes())
        }
        // `user:Bearer …`, as a basic authentication would have it.
        "/base64" => answer(out, "", base64(format!("user:{credential}").as_bytes()).as_bytes()),
        "/compressed" => answer(out, "content-encoding: gzip\r\n", b"\x1f\x8b"),
        "/trailer" => {
            out.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: x-you\r\n\r\n")?;
            chunk(out, b"see the trailer")?;
            out.write_all(format!("0\r\nx-you: {credential}\r\n\r\n").as_bytes())
        }
        _ => out.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"),
    }
}

fn answer(mut out: &TcpStream, headers: &str, body: &[u8]) -> std::io::Result<()> {
    let head = format!("HTTP/1.1 200 OK\r\n{headers}content-length: {}\r\n\r\n", body.len());
    out.write_all(head.as_bytes())?;
    out.write_all(body)
}

fn chunk(mut out: &TcpStream, data: &[u8]) -> std::io::Result<()> {
    out.write_all(format!("{:x}\r\n", data.len()).as_bytes())?;
    out.write_all(data)?;
    out.write_all(b"\r\n")
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits =
            group.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for place in 0..=group.len() {
            text.push(char::from(DIGITS[(bits >> (18 - 6 * place) & 63) as usize]));
        }
    }
    text
}

/// A resolver that answers what a test put there, the last answer over and over.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names(Arc<Mutex<BTreeMap<String, VecDeque<Vec<IpAddr>>>>>, Arc<Mutex<Vec<String>>>);

impl Names {
    /// The answers for a name, one for each lookup.
    pub(crate) fn set(&self, host: &str, answers: &[&[&str]]) {
        let parse = |answer: &&[&str]| answer.iter().map(|address| address.parse().unwrap()).collect();
        self.0.lock().unwrap().insert(host.to_owned(), answers.iter().map(parse).collect());
    }

    /// Every name that was looked up.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.1.lock().unwrap().clone()
    }
}

impl Resolver for Names {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, String>> {
        Box::pin(async move {
            self.1.lock().unwrap().push(host.to_owned());
            let mut names = self.0.lock().unwrap();
            let answers = names.get_mut(host).ok_or("nobody knows that name")?;
            let answer = if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() };
            answer.ok_or_else(|| "no answer".to_owned())
        })
    }
}

/// A host with one plugin of which a test decides what it asks for and gets.
pub(crate) struct Web {
    pub(crate) names: Names,
    pub(crate) store: MemoryStore,
    pub(crate) host: Host,
    pub(crate) surface: Surface,
    folder: tempfile::TempDir,
}

impl Web {
    /// The plugin's manifest.
    pub(crate) fn manifest(&self) -> PathBuf {
        fs::read_dir(self.folder.path()).unwrap().next().unwrap().unwrap().path().join("airlock.plugin.json")
    }
}

/// Installs `sample` with these permissions and grants, and with secrets by name and value.
pub(crate) async fn web(
    sample: &str,
    permissions: &Value,
    grants: &str,
    secrets: &[(&str, &str)],
    also: impl FnOnce(HostBuilder) -> HostBuilder,
) -> Web {
    let folder = tempfile::tempdir().unwrap();
    permit(&install(folder.path(), sample), permissions);
    let names = Names::default();
    let sandbox = Sandbox::new(SandboxConfig {
        cache: Some(repository().join("target/test-cache")),
        resolver: Arc::new(names.clone()),
        ..SandboxConfig::default()
    });
    let store = MemoryStore::default();
    let written = format!("[plugins.entries.{sample}.grants]\n{grants}\n");
    let config = Config::from_toml(written.as_bytes(), &folder.path().join("airlock.toml")).unwrap();
    let builder = Host::builder()
        .sandbox(sandbox.unwrap())
        .load_patience(Duration::from_secs(100))
        .plugin_root(root(folder.path()))
        .config(config)
        .secrets(Secrets::from_values(secrets.iter().copied()))
        .store(store.clone());
    let host = also(builder).build().await.unwrap();
    assert!(host.diagnostics().is_empty(), "{:?}", host.diagnostics());
    let surface = host.assemble(RunContext::new("tester")).await;
    Web { names, store, host, surface, folder }
}

/// Changes what a package asks for.
fn permit(package: &Path, permissions: &Value) {
    let path = package.join("airlock.plugin.json");
    let mut manifest: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    manifest["permissions"] = permissions.clone();
    fs::write(path, manifest.to_string()).unwrap();
}
