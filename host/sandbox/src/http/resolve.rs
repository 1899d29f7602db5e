//! Names: the host of a request enters, its addresses leave, once. Nothing is cached here, and no address is judged.

use std::fmt;
use std::net::{IpAddr, ToSocketAddrs as _};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::sync::Semaphore;

/// Lookups of all plugins that run at once. Each holds a thread of its own until the system answers, which no timeout of
/// ours shortens.
pub(crate) const MAX_LOOKUPS: usize = 8;

/// Finds the addresses of hosts. A sandbox asks once a request, judges every address, and connects to one of them.
pub trait Resolver: Send + Sync + fmt::Debug {
    /// All addresses of a host, best first; the error is a sentence for people. The sandbox has its own timeout.
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, String>>;
}

/// Asks the system, on threads beside the guests'.
#[derive(Debug)]
pub(crate) struct SystemResolver {
    lookups: Arc<Semaphore>,
}

impl Default for SystemResolver {
    fn default() -> Self {
        Self { lookups: Arc::new(Semaphore::new(MAX_LOOKUPS)) }
    }
}

impl Resolver for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, String>> {
        Box::pin(async move {
            let permit =
                Arc::clone(&self.lookups).acquire_owned().await.map_err(|error| error.to_string())?;
            let host = host.to_owned();
            let lookup = tokio::task::spawn_blocking(move || {
                // The port is of no use to a lookup, but the standard library wants one.
                let found = (host.as_str(), 0).to_socket_addrs();
                drop(permit);
                found.map(|found| found.map(|address| address.ip()).collect::<Vec<_>>())
            });
            lookup.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_system_knows_itself() {
        let found = SystemResolver::default().resolve("localhost").await.unwrap();
        assert!(found.iter().all(IpAddr::is_loopback) && !found.is_empty(), "{found:?}");
    }
}
