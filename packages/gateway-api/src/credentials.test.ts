import assert from "node:assert/strict";
import { test } from "node:test";
import { certificateProblem, rootsProblem } from "./credentials.ts";

const pem = (label: string) => `-----BEGIN ${label}-----\nAAAA\n-----END ${label}-----\n`;
const certificate = pem("CERTIFICATE");
const key = pem("EC PRIVATE KEY");

const cases = [
  { name: "a certificate with its key", data: { "tls.crt": certificate, "tls.key": key }, want: undefined },
  { name: "the older names", data: { cert: certificate, key }, want: undefined },
  { name: "nothing", data: undefined, want: "secret ns/s not found" },
  {
    name: "no key",
    data: { "tls.crt": certificate },
    want: "found secret, but didn't have expected keys (cert and key) or (tls.crt and tls.key); found: tls.crt",
  },
  {
    name: "no PEM in the certificate",
    data: { "tls.crt": "hello", "tls.key": key },
    want: "the certificate is malformed: tls: failed to find any PEM data in certificate input",
  },
  {
    name: "a key without an end",
    data: { "tls.crt": certificate, "tls.key": "-----BEGIN PRIVATE KEY-----\nAAAA" },
    want: "the certificate is malformed: tls: failed to find any PEM data in key input",
  },
] as const;

for (const { name, data, want } of cases)
  test(`a Secret with ${name}`, () => assert.equal(certificateProblem("ns", "s", data), want));

test("roots are those of ca.crt or cacert", () => {
  const ref = { kind: "ConfigMap", namespace: "ns", name: "c" };
  assert.equal(rootsProblem(ref, { "ca.crt": certificate }), undefined);
  assert.equal(rootsProblem(ref, { cacert: certificate }), undefined);
  assert.equal(rootsProblem(ref, { "ca.crt": "hello" }), "the bundle is malformed");
  assert.equal(rootsProblem(ref, undefined), "configmap ns/c not found");
  assert.match(rootsProblem(ref, { other: "x" }) ?? "", /expected keys cacert or ca.crt; found: other/);
});
