/** Policies that ask an outside service: real authorizers over HTTP and over gRPC, which see the requests and decide. */
import assert from "node:assert/strict";
import { freePort } from "@flotilla/servers";
import { grpcAuthorizer, httpAuthorizer } from "../authorizers.ts";
import { httpCall } from "../client.ts";
import type { Check, Feature } from "../feature.ts";
import { type MeshBuilder, namespace } from "../mesh-builder.ts";

const hostOf = (name: string) => `${name}.${namespace}.svc.cluster.local`;

/** A service with an authorizer behind it, and a workload whose paths under `/asked` it decides. */
async function askedWorkload(mesh: MeshBuilder, name: string, protocol: "HTTP" | "GRPC", authorizer: number) {
  const { port: backend } = await mesh.httpBackend("v1");
  const [port, listener] = [await freePort(), await freePort()];
  const host = hostOf(`${name}-authorizer`);
  mesh.object("ServiceEntry", `${name}-authorizer`, {
    ...{ hosts: [host], location: "MESH_EXTERNAL", resolution: "STATIC" },
    ports: [{ number: listener, name: "main", protocol }],
    endpoints: [{ address: "127.0.0.1", ports: { main: authorizer } }],
  });
  const egress = { port: { number: listener, protocol, name: "main" }, bind: "127.0.0.1", captureMode: "NONE" };
  mesh.workload(name, [{ port, backend }], [{ ...egress, hosts: [`./${host}`] }]);
  mesh.serviceOfWorkload(name, name, port);
  mesh.object("AuthorizationPolicy", `${name}-asks`, {
    ...{ selector: { matchLabels: { app: name } }, action: "CUSTOM", provider: { name: `${name}-provider` } },
    rules: [{ to: [{ operation: { paths: ["/asked*"] } }] }],
  });
  return { port, provider: `${name}-provider`, service: { service: host, port: listener } };
}

export const externalHttpAuthorization: Feature = async (mesh) => {
  const authorizer = await httpAuthorizer();
  mesh.owned.use(authorizer);
  const { port, provider, service } = await askedWorkload(mesh, "asks-http", "HTTP", authorizer.port);
  mesh.extensionProvider(provider, {
    envoyExtAuthzHttp: {
      ...{ ...service, pathPrefix: "/check", timeout: "5s", includeRequestHeadersInCheck: ["x-badge"] },
      ...{ includeAdditionalHeadersInCheck: { "x-from": "mesh" }, headersToUpstreamOnAllow: ["x-user"] },
      headersToDownstreamOnDeny: ["x-reason"],
    },
  });
  return [decides("HTTP", "asks-http", port, authorizer)];
};

export const externalGrpcAuthorization: Feature = async (mesh) => {
  const authorizer = await grpcAuthorizer();
  mesh.owned.use(authorizer);
  const { port, provider, service } = await askedWorkload(mesh, "asks-grpc", "GRPC", authorizer.port);
  mesh.extensionProvider(provider, { envoyExtAuthzGrpc: { ...service, timeout: "5s" } });
  return [decides("gRPC", "asks-grpc", port, authorizer)];
};

/** A port without a listener. */
export const absentAuthorizer: Feature = async (mesh) => {
  const { port, provider, service } = await askedWorkload(mesh, "asks-nobody", "GRPC", await freePort());
  mesh.extensionProvider(provider, { envoyExtAuthzGrpc: { ...service, timeout: "5s", statusOnError: "503" } });
  return [
    {
      name: "an authorizer that does not answer refuses with the provider's status, and what it is not asked about passes",
      holds: async () => {
        assert.equal((await httpCall(port, "/asked")).status, 503);
        assert.equal((await httpCall(port, "/open")).status, 200);
      },
    },
  ];
};

function decides(
  kind: string,
  workload: string,
  port: number,
  authorizer: { readonly checked: readonly string[] },
): Check {
  return {
    name: `an authorizer over ${kind} allows and denies, with headers for the back end and for the caller`,
    holds: async (client) => {
      const before = authorizer.checked.length;
      const badge = (value: string) => ({ headers: { "x-badge": value } });
      const allowed = await client.call(workload, "/asked/one", badge("gold"));
      assert.equal(allowed.status, 200);
      assert.equal(allowed.reply?.headers["x-user"], "owner of gold");
      const denied = await client.call(workload, "/asked/two", badge("tin"));
      assert.deepEqual([denied.status, denied.headers["x-reason"]], [401, "tin is no gold"]);
      // Plain text is asked about too; other paths are not.
      assert.equal((await httpCall(port, "/asked/three")).status, 401);
      assert.equal((await client.call(workload, "/open")).status, 200);
      assert.deepEqual(authorizer.checked.slice(before), ["/asked/one gold", "/asked/two tin", "/asked/three "]);
    },
  };
}
