/** Application protocols of service ports, by Istio's names. */

const protocols = [
  "GRPC",
  "GRPC-Web",
  "HTTP",
  "HTTP_PROXY",
  "HTTP2",
  "HTTPS",
  "TCP",
  "TLS",
  "UDP",
  "Mongo",
  "Redis",
  "MySQL",
  "HBONE",
] as const;

/** "Unsupported" means that the proxy has to find out by sniffing. */
export type Protocol = (typeof protocols)[number] | "Unsupported";

const byName: ReadonlyMap<string, Protocol> = new Map(protocols.map((protocol) => [protocol.toLowerCase(), protocol]));

/** Reads a protocol name, ignoring case. */
export function parseProtocol(text: string): Protocol {
  return byName.get(text.toLowerCase()) ?? "Unsupported";
}

export function isHttp(protocol: Protocol): boolean {
  return (
    protocol === "HTTP" ||
    protocol === "HTTP2" ||
    protocol === "HTTP_PROXY" ||
    protocol === "GRPC" ||
    protocol === "GRPC-Web"
  );
}

export function isHttp2(protocol: Protocol): boolean {
  return protocol === "HTTP2" || protocol === "GRPC" || protocol === "GRPC-Web";
}

/** Protocols whose bytes are opaque to the proxy, TLS included. */
export function isTcp(protocol: Protocol): boolean {
  return ["TCP", "HTTPS", "TLS", "Mongo", "Redis", "MySQL"].includes(protocol);
}

export function isTls(protocol: Protocol): boolean {
  return protocol === "HTTPS" || protocol === "TLS";
}

export function isUnsupported(protocol: Protocol): boolean {
  // A waypoint's own port: callers that are no ztunnels may speak anything.
  return protocol === "Unsupported" || protocol === "HBONE";
}
