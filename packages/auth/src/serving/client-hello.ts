/** Whether the bytes that a connection begins with are a TLS ClientHello, and whether all of it has come (RFC 8446, 5.1 and 4.1.2). */

const headBytes = 6;
const handshakeRecord = 22;
const clientHello = 1;
/** Of a record. */
const maxBytes = 16_384;

/** `more`: it may become one. A ClientHello in several records counts as whole with the first of them. */
export function readHello(bytes: Buffer): "more" | "whole" | "other" {
  const [type, major, , high, low, message] = bytes;
  if (type !== undefined && type !== handshakeRecord) return "other";
  if (major !== undefined && major !== 3) return "other";
  if (high === undefined || low === undefined) return "more";
  const length = high * 256 + low;
  if (length < headBytes || length > maxBytes) return "other";
  if (message !== undefined && message !== clientHello) return "other";
  return bytes.length >= headBytes - 1 + length ? "whole" : "more";
}
