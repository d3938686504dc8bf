/**
 * Cipher suites that Envoy's TLS library supports; Istio leaves out all others, since one unknown name makes Envoy refuse the whole
 * listener.
 */

const known: ReadonlySet<string> = new Set([
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
  "ECDHE-ECDSA-CHACHA20-POLY1305",
  "ECDHE-RSA-CHACHA20-POLY1305",
  "ECDHE-PSK-CHACHA20-POLY1305",
  "ECDHE-ECDSA-AES128-SHA",
  "ECDHE-RSA-AES128-SHA",
  "ECDHE-PSK-AES128-CBC-SHA",
  "ECDHE-ECDSA-AES256-SHA",
  "ECDHE-RSA-AES256-SHA",
  "ECDHE-PSK-AES256-CBC-SHA",
  "AES128-GCM-SHA256",
  "AES256-GCM-SHA384",
  "AES128-SHA",
  "PSK-AES128-CBC-SHA",
  "AES256-SHA",
  "PSK-AES256-CBC-SHA",
  "DES-CBC3-SHA",
]);

/** In the order given, each once. */
export function knownCipherSuites(suites: readonly string[]): string[] {
  return [...new Set(suites)].filter((suite) => known.has(suite));
}
