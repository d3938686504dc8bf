import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { DiscoveryRequestSchema } from "@flotilla/proto/envoy/service/discovery/v3/discovery_pb";
import { IstioCertificateRequestSchema, IstioCertificateResponseSchema } from "@flotilla/proto/security/v1alpha1/ca_pb";
import { aggregatedDiscoveryService, certificateService, create } from "./index.ts";

const discovery = "/envoy.service.discovery.v3.AggregatedDiscoveryService";
const { streamAggregatedResources, deltaAggregatedResources } = aggregatedDiscoveryService;
const { createCertificate } = certificateService;

describe("gRPC methods", () => {
  const cases = [
    [streamAggregatedResources, `${discovery}/StreamAggregatedResources`, true],
    [deltaAggregatedResources, `${discovery}/DeltaAggregatedResources`, true],
    [createCertificate, "/istio.v1.auth.IstioCertificateService/CreateCertificate", false],
  ] as const;
  for (const [method, path, streams] of cases) {
    it(`${path} ${streams ? "streams both ways" : "is unary"}`, () => {
      assert.equal(method.path, path);
      assert.deepEqual([method.requestStream, method.responseStream], [streams, streams]);
    });
  }

  it("discovery takes messages and answers with bytes as they are", () => {
    const request = create(DiscoveryRequestSchema, { typeUrl: "t", resourceNames: ["a"] });
    const { requestSerialize, requestDeserialize, responseSerialize } = streamAggregatedResources;
    assert.deepEqual(requestDeserialize(requestSerialize(request)), request);
    const answer = new Uint8Array([0, 1, 2, 3]).subarray(1, 3);
    assert.equal(responseSerialize(answer).buffer, answer.buffer);
    assert.deepEqual([...responseSerialize(answer)], [1, 2]);
  });

  it("certificates are messages both ways", () => {
    const request = create(IstioCertificateRequestSchema, { csr: "pem", validityDuration: 3600n });
    const response = create(IstioCertificateResponseSchema, { certChain: ["leaf", "root"] });
    assert.deepEqual(createCertificate.requestDeserialize(createCertificate.requestSerialize(request)), request);
    assert.deepEqual(createCertificate.responseDeserialize(createCertificate.responseSerialize(response)), response);
  });
});

describe("grpc-js clients", () => {
  const root = join(dirname(fileURLToPath(import.meta.url)), "../../..");
  const files = globSync("{packages,services}/*/src/**/*.ts", { cwd: root })
    .filter((file) => !/\.(test|fixture)\.ts$/.test(file))
    .filter((file) =>
      /import \{[^}]*\bClient\b[^}]*\} from "@grpc\/grpc-js"/.test(readFileSync(join(root, file), "utf8")),
    );

  it("are found", () => assert.ok(files.length >= 3, files.join(", ")));

  for (const file of files)
    it(`of ${file} ask DNS for no service config`, () =>
      assert.match(readFileSync(join(root, file), "utf8"), /\.\.\.channelOptions\b/));
});
