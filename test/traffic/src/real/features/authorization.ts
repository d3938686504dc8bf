/** Permissions of callers, decided by the callee's proxy. */
import assert from "node:assert/strict";
import { freePort } from "@flotilla/servers";
import { httpCall } from "../client.ts";
import type { Feature } from "../feature.ts";

export const authorization: Feature = async (mesh) => {
  const { port: backend } = await mesh.httpBackend("v1");
  const port = await freePort();
  mesh.workload("vault", [{ port, backend }]);
  mesh.serviceOfWorkload("vault", "vault", port);
  const selector = { matchLabels: { app: "vault" } };
  const client = { source: { principals: ["cluster.local/ns/shop/sa/client"] } };
  mesh.object("AuthorizationPolicy", "vault-callers", {
    selector,
    action: "ALLOW",
    rules: [{ from: [client] }, { to: [{ operation: { paths: ["/open"] } }] }],
  });
  mesh.object("AuthorizationPolicy", "vault-secrets", {
    selector,
    action: "DENY",
    rules: [{ to: [{ operation: { paths: ["/secret*"], notMethods: ["GET"] } }] }],
  });
  return [
    {
      name: "policies admit callers by identity, path and method, and denials come first",
      holds: async (one) => {
        const status = async (path: string, method = "GET") => (await one.call("vault", path, { method })).status;
        assert.equal(await status("/"), 200);
        assert.equal(await status("/secret/key"), 200);
        assert.equal(await status("/secret/key", "POST"), 403);
        // Plain text has no identity.
        assert.equal((await httpCall(port, "/")).status, 403);
        assert.equal((await httpCall(port, "/open")).status, 200);
      },
    },
  ];
};
