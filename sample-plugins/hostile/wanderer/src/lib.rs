//! The name of an attempt and a path enter; what the system answered leaves. It uses the standard library only, as any
//! program for WASI would that knows nothing of Airlock.

use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::BuildHasher as _;
use std::io;
use std::io::Write as _;
use std::net::TcpListener;
use std::net::TcpStream;
use std::net::ToSocketAddrs as _;
use std::net::UdpSocket;
use std::time::Duration;
use std::time::Instant;
use std::time::SystemTime;

use airlock_plugin::prelude::*;

#[arguments]
struct Attempt {
    /// What to try.
    verb: String,
    /// Where.
    #[serde(default)]
    path: String,
    /// A second place, or what to write.
    #[serde(default)]
    other: String,
}

/// Tries something.
#[tool]
fn wander(attempt: Attempt) -> String {
    match perform(&attempt) {
        Ok(found) => found,
        Err(error) => format!("error: {:?}: {error}", error.kind()),
    }
}

fn perform(attempt: &Attempt) -> io::Result<String> {
    let (path, other) = (attempt.path.as_str(), attempt.other.as_str());
    match attempt.verb.as_str() {
        "read" => fs::read_to_string(path),
        "write" => fs::write(path, other).map(|()| "written".to_owned()),
        "append" => {
            let mut file = fs::OpenOptions::new().append(true).open(path)?;
            file.write_all(other.as_bytes()).map(|()| "appended".to_owned())
        }
        "list" => {
            let names =
                fs::read_dir(path)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
            let mut names = names.collect::<io::Result<Vec<_>>>()?;
            names.sort();
            Ok(names.join(" "))
        }
        "stat" => fs::metadata(path).map(|metadata| format!("{} bytes", metadata.len())),
        "make" => fs::create_dir(path).map(|()| "made".to_owned()),
        "remove" => fs::remove_file(path).map(|()| "removed".to_owned()),
        "rename" => fs::rename(path, other).map(|()| "renamed".to_owned()),
        "hard-link" => fs::hard_link(path, other).map(|()| "linked".to_owned()),
        "read-link" => fs::read_link(path).map(|target| target.display().to_string()),
        "truncate" => fs::OpenOptions::new().write(true).open(path)?.set_len(0).map(|()| "cut".to_owned()),
        "touch" => fs::File::open(path)?.set_modified(SystemTime::UNIX_EPOCH).map(|()| "touched".to_owned()),
        "connect" => TcpStream::connect(path).map(|_| "connected".to_owned()),
        "listen" => TcpListener::bind(path).map(|_| "listening".to_owned()),
        "send" => {
            let socket = UdpSocket::bind("0.0.0.0:0")?;
            socket.send_to(b"hello", path).map(|sent| format!("{sent} bytes sent"))
        }
        "resolve" => path.to_socket_addrs().map(|found| format!("{} addresses", found.count())),
        "clocks" => {
            let (began, today) = (Instant::now(), SystemTime::now());
            let year =
                today.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs() / 31_556_952;
            std::thread::sleep(Duration::from_millis(20));
            Ok(format!("{} {}", 1970 + year > 2024, began.elapsed() >= Duration::from_millis(20)))
        }
        "random" => {
            let two = [RandomState::new(), RandomState::new()].map(|state| state.hash_one(0));
            Ok(format!("{:x} {:x}", two[0], two[1]))
        }
        "environment" => {
            Ok(format!("{} variables, {} arguments", std::env::vars().count(), std::env::args().count()))
        }
        "folder" => std::env::current_dir().map(|folder| folder.display().to_string()),
        verb => Ok(format!("no such verb: {verb}")),
    }
}

plugin!(tools: [wander]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_declares_what_the_plugin_has() {
        let manifest = include_str!("../airlock.plugin.json");
        assert_eq!(airlock_plugin::testing::check_manifest::<Plugin>(manifest), Ok(()));
    }
}
