//! Connections: one target enters, a stream to exactly one judged address leaves. A name is looked up once a request, and
//! nobody looks it up again between the judgement and the connection.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};

use airlock_core::{NetworkCapability, Scheme, Target};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use wasmtime_wasi_http::Error;

use super::Failure;
use super::address;
use super::resolve::Resolver;

/// Addresses of one host that are tried, one after the other: a host with both families has two that matter.
const MAX_TRIES: usize = 4;

/// What all requests of a sandbox share.
pub(crate) struct Outbound {
    resolver: Arc<dyn Resolver>,
    /// Made when it is first needed: most hosts run plugins that call nobody.
    tls: OnceLock<Result<TlsConnector, String>>,
}

impl fmt::Debug for Outbound {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Outbound").field("resolver", &self.resolver).finish_non_exhaustive()
    }
}

/// Bytes both ways.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A stream, and whether the operator granted its very address.
pub(super) struct Connection {
    pub(super) stream: Box<dyn Stream>,
    pub(super) is_granted_address: bool,
}

impl Outbound {
    pub(crate) fn new(resolver: Arc<dyn Resolver>) -> Self {
        Self { resolver, tls: OnceLock::new() }
    }

    /// Connects to a target that was allowed by its name.
    pub(super) async fn connect(
        &self,
        target: &Target,
        network: &NetworkCapability,
    ) -> Result<Connection, Failure> {
        let addresses = self.addresses(target).await?;
        for address in &addresses {
            judge(target, *address, network)?;
        }
        let mut last = None;
        for address in addresses.into_iter().take(MAX_TRIES).map(address::plain) {
            match TcpStream::connect(SocketAddr::new(address, target.port)).await {
                Ok(stream) => {
                    // A request is written at once; waiting for more to write would only delay it.
                    let _ = stream.set_nodelay(true);
                    let is_granted_address = network.grants_address(address);
                    let stream = self.secured(stream, target).await?;
                    return Ok(Connection { stream, is_granted_address });
                }
                Err(error) => last = Some(error),
            }
        }
        let reason = last.map_or_else(
            || format!("`{}` has no address", target.host),
            |error| format!("no connection to `{}`: {error}", target.host),
        );
        Err(Failure::happened(Error::ConnectionRefused, reason))
    }

    async fn addresses(&self, target: &Target) -> Result<Vec<IpAddr>, Failure> {
        if let Some(address) = target.host.address() {
            return Ok(vec![address]);
        }
        let host = target.host.as_str();
        self.resolver.resolve(host).await.map_err(|problem| {
            let error = Error::DnsError { rcode: None, info_code: None };
            let problem = airlock_core::text::single_line(&problem).into_owned();
            Failure::happened(error, format!("`{host}` cannot be looked up: {problem}"))
        })
    }

    async fn secured(&self, stream: TcpStream, target: &Target) -> Result<Box<dyn Stream>, Failure> {
        if target.scheme == Scheme::Http {
            return Ok(Box::new(stream));
        }
        let connector =
            self.tls.get_or_init(|| tls().map(TlsConnector::from)).as_ref().map_err(|problem| {
                Failure::happened(Error::ConfigurationError, format!("TLS cannot be set up: {problem}"))
            })?;
        let name = match target.host.address() {
            Some(address) => ServerName::from(address),
            None => ServerName::try_from(target.host.as_str().to_owned()).map_err(|_| {
                let reason = format!("`{}` is no name that a certificate can have", target.host);
                Failure::happened(Error::TlsCertificateError, reason)
            })?,
        };
        let stream = connector.connect(name, stream).await.map_err(|error| {
            Failure::happened(Error::TlsProtocolError, format!("no TLS with `{}`: {error}", target.host))
        })?;
        Ok(Box::new(stream))
    }
}

/// One address that is not public refuses the whole host: whoever answers with a mixture is playing with us.
fn judge(target: &Target, address: IpAddr, network: &NetworkCapability) -> Result<(), Failure> {
    let is_granted = || network.grants_address(address) || network.grants_address(address::plain(address));
    match address::not_public(address) {
        Some(word) if !is_granted() => Err(Failure::refused(
            Error::DestinationIpProhibited,
            format!(
                "`{}` has the address {address}, which is {word}; an operator who wants that adds the address itself to \
                 `network` in the plugin's grants, beside the name",
                target.host
            ),
        )),
        _ => Ok(()),
    }
}

/// TLS 1.2 and 1.3 with the authorities that browsers trust, for HTTP/1.1.
fn tls() -> Result<Arc<ClientConfig>, String> {
    let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
    let config = config.with_safe_default_protocol_versions().map_err(|error| error.to_string())?;
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
