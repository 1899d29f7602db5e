//! Addresses: one that a name stands for enters; whether it is on the public internet leaves, judged by the IPv4 address
//! inside where there is one. It resolves nothing and knows no grants.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Why an address is not public: a word for people. `None` for one that is.
pub(super) fn not_public(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => v4(address),
        IpAddr::V6(address) => v6(address),
    }
}

/// The address that is really spoken to: an IPv4 address may come as IPv6.
pub(super) fn plain(address: IpAddr) -> IpAddr {
    address.to_canonical()
}

/// By the registry of special IPv4 addresses (RFC 6890 and what followed).
fn v4(address: Ipv4Addr) -> Option<&'static str> {
    let word = match address.octets() {
        [0, 0, 0, 0] => "unspecified",
        [127, ..] => "loopback",
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => "private",
        // Where clouds keep the credentials of a machine.
        [169, 254, ..] => "link-local",
        [100, 64..=127, ..] => "shared by a provider",
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => "for documentation",
        [224..=239, ..] => "multicast",
        [255, 255, 255, 255] => "broadcast",
        // "This network", protocol assignments, relays of 6to4, benchmarks, and what nobody may use.
        [0 | 240..=255, ..] | [192, 0, 0, _] | [192, 88, 99, _] | [198, 18..=19, ..] => "reserved",
        _ => return None,
    };
    Some(word)
}

fn v6(address: Ipv6Addr) -> Option<&'static str> {
    let segments = address.segments();
    match segments {
        [0, 0, 0, 0, 0, 0, 0, 0] => return Some("unspecified"),
        [0, 0, 0, 0, 0, 0, 0, 1] => return Some("loopback"),
        // IPv4-mapped, IPv4-compatible and IPv4-translated addresses.
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] | [0, 0, 0, 0, 0xffff, 0, high, low] => {
            return v4(inside(high, low));
        }
        // NAT64: the gateway speaks to the IPv4 address. The second prefix is a network's own affair.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => return v4(inside(high, low)),
        [0x64, 0xff9b, 1, ..] => return Some("private"),
        // 6to4: the IPv4 address of the gateway behind which it is.
        [0x2002, high, low, ..] => return v4(inside(high, low)),
        // Teredo: a server, and the client with its bits turned round.
        [0x2001, 0, server_high, server_low, _, _, high, low] => {
            return v4(inside(server_high, server_low)).or_else(|| v4(inside(!high, !low)));
        }
        [0xfc00..=0xfdff, ..] => return Some("private"),
        [0xfe80..=0xfebf, ..] => return Some("link-local"),
        [0xfec0..=0xfeff, ..] => return Some("site-local"),
        [0xff00..=0xffff, ..] => return Some("multicast"),
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0x0fff, ..] => return Some("for documentation"),
        // Protocol assignments: benchmarks, ORCHID and others.
        [0x2001, 1..=0x1ff, ..] => return Some("reserved"),
        // Global unicast is 2000::/3; nothing else is handed out.
        [0x2000..=0x3fff, ..] => {}
        _ => return Some("reserved"),
    }
    // ISATAP: any prefix may carry an IPv4 address in its interface.
    match segments {
        [_, _, _, _, 0 | 0x0200, 0x5efe, high, low] => v4(inside(high, low)),
        _ => None,
    }
}

fn inside(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn word(address: &str) -> Option<&'static str> {
        not_public(address.parse().unwrap())
    }

    #[test]
    fn only_the_public_internet_is_public() {
        for public in [
            "1.1.1.1",
            "100.63.255.255",
            "100.128.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "223.255.255.255",
            "2606:4700::1111",
            "::ffff:1.1.1.1",
            "64:ff9b::101:101",
            "2002:101:101::1",
        ] {
            assert_eq!(word(public), None, "{public}");
        }
        for refused in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.254",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::7f00:1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::ffff:0:10.0.0.1",
            "64:ff9b::a00:1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "2002:7f00:1::1",
            "2002:a9fe:a9fe::",
            "2001:0:a00:1::1",
            "2001:0:101:101::f5ff:fffe",
            "2001:2::1",
            "2001:10::1",
            "2001:db8::1",
            "3fff::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "100::1",
            "4000::1",
            "5f00::1",
            "2606:4700::200:5efe:a00:1",
        ] {
            assert!(word(refused).is_some(), "{refused}");
        }
    }
}
