/** Cipher suites of the mesh's own TLS. */

/** Of FIPS 140-2: what is certified ends with TLS 1.2. */
export const fipsCipherSuites: readonly string[] = [
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
];

/** Of the mesh's own TLS. */
export const defaultCipherSuites: readonly string[] = [...fipsCipherSuites, "AES256-GCM-SHA384", "AES128-GCM-SHA256"];
