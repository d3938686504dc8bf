/** Changes that a route makes to requests and answers, and the answers that it gives itself. */
import assert from "node:assert/strict";
import type { Feature } from "../feature.ts";

export const headers: Feature = async (mesh) => {
  const { port } = await mesh.httpBackend("v1");
  mesh.service("headers", [{ port }]);
  mesh.httpRoutes(
    "headers",
    `
    - headers:
        request: {set: {x-set: fresh}, add: {x-added: one}, remove: [x-secret]}
        response: {set: {x-version: hidden}, add: {x-mesh: flotilla}}
      route:
        - destination: {host: headers}
          headers: {request: {set: {x-target: v1}}, response: {remove: [x-removed]}}
`,
  );
  return [
    {
      name: "headers of requests and answers are set, added and removed",
      holds: async (client) => {
        const { reply, headers: answered } = await client.call("headers", "/", {
          headers: { "x-set": "stale", "x-added": "zero", "x-secret": "s" },
        });
        assert.equal(reply?.headers["x-set"], "fresh");
        assert.equal(reply?.headers["x-added"], "zero, one");
        assert.equal(reply?.headers["x-secret"], undefined);
        assert.equal(reply?.headers["x-target"], "v1");
        assert.equal(answered["x-version"], "hidden");
        assert.equal(answered["x-mesh"], "flotilla");
      },
    },
  ];
};

export const redirects: Feature = async (mesh) => {
  const { port } = await mesh.httpBackend("v1");
  mesh.service("moved", [{ port }]);
  mesh.httpRoutes(
    "moved",
    `
    - match: [{uri: {exact: /old}}]
      redirect: {uri: /new, authority: elsewhere.example, redirectCode: 308}
    - match: [{uri: {prefix: /secure}}]
      redirect: {scheme: https, port: 8443}
    - route: [{destination: {host: moved}}]
`,
  );
  return [
    {
      name: "redirects name the new place",
      holds: async (client) => {
        const old = await client.call("moved", "/old");
        assert.deepEqual([old.status, old.headers.location], [308, "http://elsewhere.example/new"]);
        const secure = await client.call("moved", "/secure/x");
        assert.deepEqual([secure.status, secure.headers.location], [301, "https://moved:8443/secure/x"]);
        assert.equal((await client.call("moved", "/older")).status, 200);
      },
    },
  ];
};

export const rewrites: Feature = async (mesh) => {
  const { port } = await mesh.httpBackend("v1");
  mesh.service("rewritten", [{ port }]);
  mesh.httpRoutes(
    "rewritten",
    `
    - match: [{uri: {prefix: /api}}]
      rewrite: {uri: /v2, authority: inner.example}
      route: [{destination: {host: rewritten}}]
    - match: [{uri: {prefix: /users/}}]
      rewrite: {uriRegexRewrite: {match: "^/users/([^/]+)/(.*)$", rewrite: '/\\2/of/\\1'}}
      route: [{destination: {host: rewritten}}]
    - route: [{destination: {host: rewritten}}]
`,
  );
  return [
    {
      name: "paths and authorities are rewritten",
      holds: async (client) => {
        const prefix = (await client.call("rewritten", "/api/books?id=1")).reply;
        assert.deepEqual([prefix?.path, prefix?.headers["host"]], ["/v2/books?id=1", "inner.example"]);
        assert.equal((await client.call("rewritten", "/users/alice/books")).reply?.path, "/books/of/alice");
      },
    },
  ];
};

export const directResponses: Feature = async (mesh) => {
  const { port, requests } = await mesh.httpBackend("v1");
  mesh.service("closed", [{ port }]);
  mesh.httpRoutes("closed", '    - directResponse: {status: 503, body: {string: "closed for today"}}\n');
  return [
    {
      name: "a direct response comes from the proxy",
      holds: async (client) => {
        const { status, body } = await client.call("closed");
        assert.deepEqual([status, body, requests()], [503, "closed for today", 0]);
      },
    },
  ];
};

export const cors: Feature = async (mesh) => {
  const { port, requests } = await mesh.httpBackend("v1");
  mesh.service("shared", [{ port }]);
  mesh.httpRoutes(
    "shared",
    `
    - corsPolicy:
        allowOrigins: [{exact: "https://app.example"}]
        allowMethods: [GET, PUT]
        allowHeaders: [x-token]
        maxAge: 60s
        allowCredentials: true
      route: [{destination: {host: shared}}]
`,
  );
  return [
    {
      name: "a preflight from an allowed origin is answered by the proxy, other origins get no permission",
      holds: async (client) => {
        const before = requests();
        const preflight = (origin: string) =>
          client.call("shared", "/", {
            method: "OPTIONS",
            headers: { origin, "access-control-request-method": "PUT", "access-control-request-headers": "x-token" },
          });
        const allowed = await preflight("https://app.example");
        assert.equal(allowed.status, 200);
        assert.equal(allowed.headers["access-control-allow-origin"], "https://app.example");
        assert.equal(allowed.headers["access-control-allow-methods"], "GET,PUT");
        assert.equal(allowed.headers["access-control-max-age"], "60");
        assert.equal(allowed.headers["access-control-allow-credentials"], "true");
        assert.equal(requests(), before);
        const simple = await client.call("shared", "/", { headers: { origin: "https://app.example" } });
        assert.equal(simple.headers["access-control-allow-origin"], "https://app.example");
        const other = await client.call("shared", "/", { headers: { origin: "https://evil.example" } });
        assert.equal(other.headers["access-control-allow-origin"], undefined);
      },
    },
  ];
};
