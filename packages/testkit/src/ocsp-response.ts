/** OCSP responses (RFC 6960) for tests, as Secrets hold them for a server to staple. */
import { randomBytes, X509Certificate } from "node:crypto";
import { bitString, derNull, element, integer, octetString, oid, sequence } from "@flotilla/pki/der";

const sha1 = sequence(oid("1.3.14.3.2.26"), derNull);
const ecdsaWithSha256 = sequence(oid("1.2.840.10045.4.3.2"));
const basicResponse = oid("1.3.6.1.5.5.7.48.1.1");
const hourMs = 3_600_000;

/**
 * DER: the certificate is good for the next hour. The serial number is the certificate's; the hashes of its issuer and the signature are
 * random, as servers hand a response on without verifying it.
 */
export function ocspResponse(certificatePem: string, nowMs = Date.now()): Buffer {
  const serial = integer(Buffer.from(new X509Certificate(certificatePem).serialNumber, "hex"));
  const certificate = sequence(sha1, octetString(randomBytes(20)), octetString(randomBytes(20)), serial);
  const isGood = element(0x80);
  const single = sequence(certificate, isGood, generalizedTime(nowMs), element(0xa0, generalizedTime(nowMs + hourMs)));
  const responder = element(0xa2, octetString(randomBytes(20)));
  const data = sequence(responder, generalizedTime(nowMs), sequence(single));
  const basic = sequence(data, ecdsaWithSha256, bitString(randomBytes(64)));
  const successful = element(0x0a, Buffer.of(0));
  return sequence(successful, element(0xa0, sequence(basicResponse, octetString(basic))));
}

/** Without fractions of a second. */
function generalizedTime(ms: number): Buffer {
  const text = new Date(ms).toISOString().replace(/[-:T]|\.\d+/g, "");
  return element(0x18, Buffer.from(text, "latin1"));
}
