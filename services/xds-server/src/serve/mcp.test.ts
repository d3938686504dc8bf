/** Another control plane that asks for configuration, over a real connection and in both forms. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Authenticator } from "@flotilla/auth";
import type { Change } from "@flotilla/model";
import { create, decode, toJson, typeUrl, unpack } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { ResourceSchema } from "@flotilla/proto/mcp/v1alpha1/resource_pb";
import { MeshConfigSchema } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import { VirtualServiceSchema } from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import { until } from "@flotilla/runtime";
import type { Form } from "@flotilla/xds";
import { type ClientUpdate, XdsClient } from "@flotilla/xds/client";
import { grpcTransport } from "@flotilla/xds/grpc";
import { Core } from "../app/core.ts";
import { createCoreSource } from "../app/core-source.ts";
import { applyOptionsOf } from "../testing/apply-options.ts";
import { aConfig, put } from "../testing/mesh.ts";
import { startTestServer } from "./testing/test-server.ts";

const virtualServices = "networking.istio.io/v1/VirtualService";
const older = "networking.istio.io/v1alpha3/VirtualService";
const unknown = "example.io/v1/Thing";

function route(name: string, host: string) {
  return { ...aConfig("VirtualService", "shop", `${name}@5`, { hosts: [host] }), labels: { app: name } };
}

async function plane() {
  const source = createCoreSource(new Core());
  const authenticator: Authenticator = {
    name: "test",
    authenticate: async ({ metadata }) => ({
      authenticated: true,
      authenticator: "test",
      identities: [`spiffe://td/ns/${metadata.get("authorization")?.[0]?.slice(7)}/sa/control-plane`],
    }),
  };
  const options = { source, apiNamespace: () => "istio-system" };
  const server = await startTestServer({ options, authentication: { authenticator, mode: "offered" } });
  let position = 0;
  const apply = (changes: readonly Change[]) => source.apply(changes, applyOptionsOf(changes, ++position));
  return { server, apply };
}

function connect(address: string, form: Form, token?: string) {
  const stop = new AbortController();
  const updates: ClientUpdate[] = [];
  const ends: unknown[] = [];
  const client = new XdsClient({
    form,
    transport: grpcTransport({ address, ...(token !== undefined && { token }) }),
    node: create(NodeSchema, {
      id: "sidecar~10.0.0.9~plane.istio-system~istio-system.svc.cluster.local",
      metadata: { GENERATOR: "api", NAMESPACE: token ?? "istio-system" },
    }),
    backoffMs: () => 60_000,
    nameOf: (bytes, type) => (type.endsWith("MeshConfig") ? "" : (decode(ResourceSchema, bytes).metadata?.name ?? "")),
    onUpdate: (update) => updates.push(update),
    onConnection: (event, error) => {
      if (event === "ended") ends.push(error);
    },
  });
  for (const type of [typeUrl.meshConfig, virtualServices, older, unknown]) client.subscribe(type);
  const running = client.run(stop.signal);
  const of = (type: string) => updates.filter((update) => update.typeUrl === type);
  return {
    of,
    ends,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await running;
    },
  };
}

const soon = (what: string) => ({ withinMs: 30_000, what });

describe("configuration for other control planes", () => {
  for (const form of ["sotw", "delta"] as const) {
    it(`is reported in MCP's envelope, then what changes, ${form}`, async () => {
      const { server, apply } = await plane();
      await using _ = server;
      apply(put(route("web", "web.example"), route("api", "api.example")));
      await using client = connect(server.address, form, "istio-system");
      await until(
        () => [virtualServices, older, unknown, typeUrl.meshConfig].every((type) => client.of(type).length > 0),
        soon("answers"),
      );
      // A kind that is not known here is answered too: others wait for that.
      assert.deepEqual(client.of(unknown)[0]?.changed, []);
      const [first] = client.of(virtualServices);
      assert.deepEqual(first?.changed.map(({ name }) => name).sort(), ["shop/api", "shop/web"]);
      const web = first.changed.find(({ name }) => name === "shop/web");
      assert.equal(web?.typeUrl, "type.googleapis.com/istio.mcp.v1alpha1.Resource");
      const { metadata, body } = decode(ResourceSchema, web.bytes);
      assert.deepEqual(metadata?.labels, { app: "web" });
      assert.equal(metadata.createTime?.seconds, 5n);
      assert.match(metadata.version, /^[0-9a-f]{32}$/);
      assert.equal(body?.typeUrl, "type.googleapis.com/istio.networking.v1alpha3.VirtualService");
      assert.deepEqual(toJson(VirtualServiceSchema, unpack(body) as never), { hosts: ["web.example"] });
      const [mesh] = client.of(typeUrl.meshConfig)[0]?.changed ?? [];
      assert.equal(decode(MeshConfigSchema, mesh?.bytes ?? new Uint8Array()).rootNamespace, "istio-system");

      apply([...put(route("web", "new.example")), { type: "config", op: "delete", key: route("api", "").key }]);
      await until(() => [virtualServices, older].every((type) => client.of(type).length === 2), soon("the change"));
      const [, second] = client.of(virtualServices);
      assert.deepEqual(
        second?.changed.map(({ name }) => name),
        ["shop/web"],
      );
      assert.deepEqual(second?.removed, ["shop/api"]);
      assert.equal(client.of(typeUrl.meshConfig).length, 1);
    });
  }

  for (const token of [undefined, "shop"]) {
    it(`is refused to a caller with ${token === undefined ? "no identity" : "one of another namespace"}`, async () => {
      const { server, apply } = await plane();
      await using _ = server;
      apply(put(route("web", "web.example")));
      await using client = connect(server.address, "delta", token);
      await until(() => client.ends.length > 0, soon("the refusal"));
      const { code, message } = client.ends[0] as { readonly code: number; readonly message: string };
      assert.equal(code, 7);
      assert.match(message, /GENERATOR "api" asks for an identity of namespace istio-system/);
      assert.deepEqual(client.of(virtualServices), []);
    });
  }
});
