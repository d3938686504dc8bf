/** The call without the registry, held against the generated messages. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { IstioCertificateRequestSchema, IstioCertificateResponseSchema } from "@flotilla/proto/security/v1alpha1/ca_pb";
import { certificateCall } from "./certificate-call.ts";
import { decode, encode } from "./encode.ts";
import { certificateService } from "./grpc.ts";
import { create } from "./index.ts";

describe("the call for a certificate", () => {
  it("has the path of the service", () => {
    assert.equal(certificateCall.path, certificateService.createCertificate.path);
  });

  for (const metadata of [{}, { Instance: "web-1" }, { a: "1", ß: "" }])
    it(`writes the bytes of the message, with ${JSON.stringify(metadata)}`, () => {
      const bytes = certificateCall.requestSerialize({ csr: "a request", validitySeconds: 86_400, metadata });
      const read = decode(IstioCertificateRequestSchema, bytes);
      assert.deepEqual([read.csr, read.validityDuration, { ...read.metadata }], ["a request", 86_400n, metadata]);
    });

  it("reads the chain, and passes over fields that it does not know", () => {
    const known = encode(
      IstioCertificateResponseSchema,
      create(IstioCertificateResponseSchema, { certChain: ["leaf", "root"] }),
    );
    const unknown = [0x50, 0x07, 0x5a, 0x01, 0x61];
    const { certChain } = certificateCall.responseDeserialize(Buffer.from([...unknown, ...known]));
    assert.deepEqual(certChain, ["leaf", "root"]);
    assert.throws(() => certificateCall.responseDeserialize(Buffer.from([0x0a, 0x50])));
  });
});
