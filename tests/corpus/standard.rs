//! The parts of the standard interfaces that attacks use, as WIT: names and shapes as every toolchain has them, without what
//! nobody here calls.

/// Nested packages, for a world to import from.
pub(crate) const STANDARD: &str = "
package wasi:io@0.2.6 {
    interface error { resource error; }
    interface poll {
        resource pollable { ready: func() -> bool; block: func(); }
        poll: func(in: list<borrow<pollable>>) -> list<u32>;
    }
    interface streams {
        use error.{error};
        use poll.{pollable};
        variant stream-error { last-operation-failed(error), closed }
        resource input-stream {
            read: func(len: u64) -> result<list<u8>, stream-error>;
            blocking-read: func(len: u64) -> result<list<u8>, stream-error>;
        }
        resource output-stream {
            write: func(contents: list<u8>) -> result<_, stream-error>;
            blocking-write-and-flush: func(contents: list<u8>) -> result<_, stream-error>;
            write-zeroes: func(len: u64) -> result<_, stream-error>;
            subscribe: func() -> pollable;
        }
    }
}
package wasi:cli@0.2.6 {
    interface stdin {
        use wasi:io/streams@0.2.6.{input-stream};
        get-stdin: func() -> input-stream;
    }
    interface stdout {
        use wasi:io/streams@0.2.6.{output-stream};
        get-stdout: func() -> output-stream;
    }
    interface environment { get-environment: func() -> list<tuple<string, string>>; }
}
package wasi:clocks@0.2.6 {
    interface monotonic-clock {
        use wasi:io/poll@0.2.6.{pollable};
        now: func() -> u64;
        subscribe-duration: func(when: u64) -> pollable;
    }
}
package wasi:random@0.2.6 {
    interface random { get-random-bytes: func(len: u64) -> list<u8>; }
    interface insecure { get-insecure-random-bytes: func(len: u64) -> list<u8>; }
}
package wasi:http@0.2.6 {
    interface types {
        variant header-error { invalid-syntax, forbidden, immutable }
        resource fields {
            constructor();
            from-list: static func(entries: list<tuple<string, list<u8>>>) -> result<fields, header-error>;
            append: func(name: string, value: list<u8>) -> result<_, header-error>;
        }
        resource outgoing-request { constructor(headers: fields); }
    }
}
package wasi:keyvalue@0.2.0-draft {
    interface store {
        variant error { no-such-store, access-denied, other(string) }
        resource bucket {
            get: func(key: string) -> result<option<list<u8>>, error>;
            set: func(key: string, value: list<u8>) -> result<_, error>;
        }
        open: func(identifier: string) -> result<bucket, error>;
    }
    interface batch {
        use store.{bucket, error};
        get-many: func(bucket: borrow<bucket>, keys: list<string>)
            -> result<list<option<tuple<string, list<u8>>>>, error>;
    }
}
package wasi:sockets@0.2.6 {
    interface network {
        enum error-code { unknown, access-denied, not-supported, invalid-argument, out-of-memory, timeout,
            concurrency-conflict, not-in-progress, would-block, invalid-state, new-socket-limit,
            address-not-bindable, address-in-use, remote-unreachable, connection-refused, connection-reset,
            connection-aborted, datagram-too-large, name-unresolvable, temporary-resolver-failure,
            permanent-resolver-failure }
        enum ip-address-family { ipv4, ipv6 }
    }
    interface tcp { resource tcp-socket; }
    interface tcp-create-socket {
        use network.{error-code, ip-address-family};
        use tcp.{tcp-socket};
        create-tcp-socket: func(address-family: ip-address-family) -> result<tcp-socket, error-code>;
    }
}
";
