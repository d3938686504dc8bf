/** The proxy's handling of slow and failing back ends, and the faults that it injects on request. */
import assert from "node:assert/strict";
import type { Feature } from "../feature.ts";

export const retries: Feature = async (mesh) => {
  const { port } = await mesh.httpBackend("v1");
  mesh.service("flaky", [{ port }]);
  mesh.httpRoutes(
    "flaky",
    `
    - match: [{uri: {prefix: /flaky}}]
      retries: {attempts: 2, perTryTimeout: 5s, retryOn: "503"}
      route: [{destination: {host: flaky}}]
    - retries: {attempts: 0}
      route: [{destination: {host: flaky}}]
`,
  );
  let calls = 0;
  return [
    {
      name: "two failures are retried away, a third is not",
      holds: async (client) => {
        const withinAttempts = await client.call("flaky", `/flaky/2/${calls++}`);
        assert.equal(withinAttempts.status, 200);
        assert.equal(withinAttempts.reply?.headers["x-envoy-attempt-count"], "3");
        assert.equal((await client.call("flaky", `/flaky/3/${calls++}`)).status, 503);
        assert.equal((await client.call("flaky", "/status/503")).status, 503);
      },
    },
  ];
};

export const faults: Feature = async (mesh) => {
  const { port, requests } = await mesh.httpBackend("v1");
  mesh.service("faulty", [{ port }]);
  mesh.httpRoutes(
    "faulty",
    `
    - match: [{uri: {prefix: /abort}}]
      fault: {abort: {percentage: {value: 100}, httpStatus: 418}}
      route: [{destination: {host: faulty}}]
    - match: [{uri: {prefix: /late}}]
      fault: {delay: {percentage: {value: 100}, fixedDelay: 0.4s}}
      route: [{destination: {host: faulty}}]
    - route: [{destination: {host: faulty}}]
`,
  );
  return [
    {
      name: "an injected abort never reaches the back end, an injected delay does later",
      holds: async (client) => {
        const before = requests();
        assert.equal((await client.call("faulty", "/abort")).status, 418);
        assert.equal(requests(), before);
        const late = await client.call("faulty", "/late");
        assert.equal(late.status, 200);
        assert.ok(late.tookMs >= 390, `answered after ${late.tookMs} ms, want 400 at least`);
      },
    },
  ];
};

export const timeouts: Feature = async (mesh) => {
  const { port } = await mesh.httpBackend("v1");
  mesh.service("slow", [{ port }]);
  mesh.httpRoutes(
    "slow",
    `
    - match: [{uri: {prefix: /delay/2000}}]
      timeout: 0.2s
      route: [{destination: {host: slow}}]
    - route: [{destination: {host: slow}}]
`,
  );
  return [
    {
      name: "a route's timeout ends the request with 504",
      holds: async (client) => {
        const late = await client.call("slow", "/delay/2000");
        assert.equal(late.status, 504);
        assert.ok(late.tookMs < 2000, `answered after ${late.tookMs} ms, later than the back end would have`);
        assert.equal((await client.call("slow", "/delay/250")).status, 200);
      },
    },
  ];
};

export const circuitBreaker: Feature = async (mesh) => {
  const { port } = await mesh.httpBackend("v1");
  mesh.service("narrow", [{ port }]);
  mesh.rule(
    "narrow",
    `
  trafficPolicy:
    connectionPool:
      tcp: {maxConnections: 1}
      http: {http1MaxPendingRequests: 1, maxRequestsPerConnection: 1}
`,
  );
  mesh.httpRoutes("narrow", "    - {retries: {attempts: 0}, route: [{destination: {host: narrow}}]}\n");
  return [
    {
      name: "requests beyond the connection pool are refused at once",
      holds: async (client) => {
        const answers = await Promise.all(Array.from({ length: 8 }, () => client.call("narrow", "/delay/300")));
        const statuses = answers.map(({ status }) => status);
        assert.ok(statuses.includes(200), statuses.join());
        const refused = answers.filter(({ status }) => status === 503);
        assert.ok(refused.length >= 1, statuses.join());
        assert.ok(refused.every(({ headers }) => headers["x-envoy-overloaded"] === "true"));
      },
    },
  ];
};
