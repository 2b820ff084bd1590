//! Where webhooks may lead. A server is inside of a network that its users may not be, so an address of that network is
//! refused unless the configuration allows it: when a webhook is created, and by the resolver of every delivery.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, ToSocketAddrs as _};

use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

/// Which addresses are allowed: public ones, and those of these hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Policy {
    /// Hosts that may be at private addresses.
    pub(crate) private_hosts: Vec<String>,
}

/// An address that is not allowed.
#[derive(Debug, thiserror::Error)]
#[error(
    "{host} is at the private address {address}; use a public one, or let the server send there with \
     --private-webhook-hosts {host}"
)]
pub(crate) struct PrivateAddress {
    host: String,
    address: IpAddr,
}

impl Policy {
    /// Checks where `url` leads now.
    ///
    /// # Errors
    /// What is wrong with it, and what is valid.
    pub(crate) fn check(&self, url: &str) -> Result<(), String> {
        let uri = read(url)?;
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let port = uri.port_u16().unwrap_or(if uri.scheme_str() == Some("https") { 443 } else { 80 });
        let found = (host.as_str(), port)
            .to_socket_addrs()
            .map_err(|error| format!("`{host}` cannot be looked up: {error}"))?;
        self.allows(&host, found.map(|socket| socket.ip())).map_err(|refused| refused.to_string())
    }

    fn allows(&self, host: &str, mut found: impl Iterator<Item = IpAddr>) -> Result<(), PrivateAddress> {
        let host = host.trim_matches(['[', ']']);
        if self.private_hosts.iter().any(|known| known.eq_ignore_ascii_case(host)) {
            return Ok(());
        }
        match found.find(|address| is_private(*address)) {
            Some(address) => Err(PrivateAddress { host: host.to_owned(), address }),
            None => Ok(()),
        }
    }
}

/// The parts of `url`.
///
/// # Errors
/// It is not an address of HTTP, or has a user in it.
fn read(url: &str) -> Result<Uri, String> {
    let valid = "an address such as https://example.org/hook is valid";
    let uri: Uri = url.parse().map_err(|error| format!("`{url}` is not an address ({error}); {valid}"))?;
    let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
    if !is_http || uri.host().is_none_or(str::is_empty) {
        return Err(format!("`{url}` is not an http or https address; {valid}"));
    }
    if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err(format!("an address may not contain a user or a password; {valid}"));
    }
    Ok(uri)
}

/// Looks names up, and refuses what leads to an address that is not allowed. The connection is to what was checked.
#[derive(Debug)]
pub(crate) struct Checked(pub(crate) Policy);

impl Resolver for Checked {
    fn resolve(&self, uri: &Uri, config: &Config, timeout: NextTimeout) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let found = DefaultResolver::default().resolve(uri, config, timeout)?;
        let host = uri.host().unwrap_or_default();
        match self.0.allows(host, found.iter().map(|socket| socket.ip())) {
            Ok(()) => Ok(found),
            Err(refused) => Err(ureq::Error::Other(Box::new(refused))),
        }
    }
}

/// Whether an address is not one of the public internet.
fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_private_v4(address),
        IpAddr::V6(address) => is_private_v6(address),
    }
}

fn is_private_v4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_broadcast()
        || address.is_documentation()
        || first == 0
        // Between a provider and its customers.
        || first == 100 && (64..128).contains(&second)
        || (first, second, third) == (192, 0, 0)
        // Relays of 6to4.
        || (first, second, third) == (192, 88, 99)
        // For benchmarks of networks.
        || first == 198 && (18..20).contains(&second)
        || first >= 240
}

fn is_private_v6(address: Ipv6Addr) -> bool {
    let parts = address.segments();
    let inner = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    match parts {
        // An IPv4 address, mapped or behind a translator.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => is_private_v4(inner(high, low)),
        // Special uses, Teredo among them; documentation; tunnels of 6to4.
        [0x2001, 0..0x200 | 0xdb8, ..] | [0x2002, ..] | [0x3fff, 0..0x1000, ..] => true,
        // Nothing else is given out for the internet (RFC 4291, IANA's registry).
        [first, ..] => first & 0xe000 != 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_a_network_are_told_from_those_of_the_internet() {
        for private in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "0.0.0.0",
            "100.64.0.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "::ffff:10.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:0.0.0.0",
            "::ffff:0.0.0.1",
            "::2",
            "64:ff9b::a00:1",
            "2002:a00:1::1",
            "2001:db8::1",
            "ff02::1",
            "::7f00:1",
            "::808:808",
            "64:ff9b:1::808:808",
            "2001::1",
            "2002:808:808::1",
            "::ffff:0:8.8.8.8",
            "100::1",
            "3fff::1",
            "192.88.99.1",
        ] {
            assert!(is_private(private.parse().unwrap()), "{private}");
        }
        for public in ["8.8.8.8", "100.63.0.1", "172.32.0.1", "2606:4700::1", "::ffff:8.8.8.8", "64:ff9b::808:808"] {
            assert!(!is_private(public.parse().unwrap()), "{public}");
        }
    }

    #[test]
    fn what_leads_to_a_private_address_is_refused_unless_it_is_allowed() {
        let of = |hosts: &[&str]| Policy { private_hosts: hosts.iter().map(|host| (*host).to_owned()).collect() };
        let (strict, lenient) = (of(&[]), of(&["127.0.0.1", "::1"]));
        for url in
            ["http://127.0.0.1:9/x", "http://localhost/x", "https://[::1]/", "http://2130706433/", "http://0x7f.1/"]
        {
            let refused = strict.check(url).unwrap_err();
            assert!(refused.contains("private address") || refused.contains("looked up"), "{url}: {refused}");
        }
        assert!(strict.check("http://127.0.0.1:9/x").unwrap_err().contains("--private-webhook-hosts 127.0.0.1"));
        assert_eq!(lenient.check("http://127.0.0.1:9/x"), Ok(()));
        assert_eq!(lenient.check("http://[::1]/x"), Ok(()));
        assert!(lenient.check("http://127.0.0.2/x").is_err(), "another host was not allowed");
    }

    #[test]
    fn only_addresses_of_http_are_read() {
        for url in
            ["", "x", "/hook", "ftp://example.org/", "http://", "file:///etc/passwd", "http://me:pw@example.org/"]
        {
            assert!(read(url).unwrap_err().contains("https://example.org/hook"), "{url}");
        }
        assert!(read("https://example.org:8443/hook?x=1").is_ok());
    }
}
