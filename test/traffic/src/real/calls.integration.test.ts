/**
 * Answers to real requests: real Envoys and back ends with the configuration that the control plane sends for a mesh in which every feature
 * has services of its own, over both forms of xDS.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { authorization } from "./features/authorization.ts";
import {
  badExpression,
  editGoneWrong,
  portConflict,
  ruleWithoutHost,
  sidecarForNobody,
  twoForOneHost,
  unknownSubset,
  weightsOfNothing,
} from "./features/bad-input.ts";
import { rateLimit, scripted } from "./features/envoy-filters.ts";
import {
  absentAuthorizer,
  externalGrpcAuthorization,
  externalHttpAuthorization,
} from "./features/external-authorization.ts";
import { gatewayRoutes, wrongGatewayRoute } from "./features/gateway-routes.ts";
import { tcpRoutes, tlsRoutes } from "./features/layer4.ts";
import {
  hashing,
  localityDistribution,
  localityFailover,
  outlierEjection,
  roundRobin,
} from "./features/load-balancing.ts";
import { mutualTls, registryOnly } from "./features/mutual-tls.ts";
import { circuitBreaker, faults, retries, timeouts } from "./features/resilience.ts";
import { cors, directResponses, headers, redirects, rewrites } from "./features/rewriting.ts";
import { mirrors, subsetRouting, weights } from "./features/routing.ts";
import { http2, tlsOrigination } from "./features/upstream-protocols.ts";
import { Lab } from "./lab.ts";

const lab = await Lab.start([
  ...[subsetRouting, weights, mirrors],
  ...[retries, faults, timeouts, circuitBreaker],
  ...[hashing, roundRobin, outlierEjection, localityFailover, localityDistribution],
  ...[headers, redirects, rewrites, directResponses, cors],
  ...[tcpRoutes, tlsRoutes],
  ...[gatewayRoutes, wrongGatewayRoute],
  ...[tlsOrigination, http2],
  ...[scripted, rateLimit],
  ...[mutualTls, authorization, registryOnly],
  ...[externalHttpAuthorization, externalGrpcAuthorization, absentAuthorizer],
  ...[
    unknownSubset,
    badExpression,
    editGoneWrong,
    weightsOfNothing,
    twoForOneHost,
    portConflict,
    ruleWithoutHost,
    sidecarForNobody,
  ],
]);
after(() => lab[Symbol.asyncDispose]());

for (const form of ["delta", "state of the world"] as const) {
  describe(`calls over ${form}`, () => {
    let started: Awaited<ReturnType<Lab["startClient"]>>;
    before(async () => {
      started = await lab.startClient(form === "delta");
    });
    after(() => started[Symbol.asyncDispose]());
    for (const { name, holds } of lab.checks) it(name, () => holds(started.client, lab.plane));
    it("rejected nothing", async () => assert.deepEqual(await lab.rejections(), []));
  });
}
