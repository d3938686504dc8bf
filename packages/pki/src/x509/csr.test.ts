/** The parameters of a request's signature algorithm, which no signature covers. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { bitString, element, oid, sequence } from "../der/writer.ts";
import { generatePrivateKey, type KeyAlgorithm, signBytes } from "../keys.ts";
import { buildCsr, parseCsr, verifyCsr } from "./csr.ts";

const algorithms = { "rsa-2048": "1.2.840.113549.1.1.11", "ecdsa-p256": "1.2.840.10045.4.3.2" } as const;
const nothing = element(0x05);
const cases: readonly (readonly [keyof typeof algorithms, string, readonly Buffer[], boolean])[] = [
  ["rsa-2048", "NULL", [nothing], true],
  ["rsa-2048", "no", [], true],
  ["rsa-2048", "two", [nothing, nothing], false],
  ["rsa-2048", "a NULL with contents as", [element(0x05, Buffer.of(1))], false],
  ["rsa-2048", "a text as", [element(0x0c, Buffer.of(65))], false],
  ["ecdsa-p256", "no", [], true],
  ["ecdsa-p256", "NULL", [nothing], false],
  ["ecdsa-p256", "an integer as", [element(0x02, Buffer.of(1))], false],
];

describe("the signature algorithm of a request", () => {
  for (const [kind, what, parameters, isGood] of cases) {
    it(`${kind} with ${what} parameters is ${isGood ? "taken" : "refused"}`, async () => {
      const key = await generatePrivateKey(kind satisfies KeyAlgorithm);
      const { tbs } = parseCsr(buildCsr({ key }));
      const algorithm = sequence(oid(algorithms[kind]), ...parameters);
      const request = sequence(tbs, algorithm, bitString(signBytes(tbs, key)));
      if (isGood) verifyCsr(parseCsr(request));
      else assert.throws(() => parseCsr(request), { code: "PKI_BAD_CSR" });
    });
  }
});
