import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@flotilla/proto";
import { typeUrl } from "@flotilla/proto";
import { aConfig, aMesh, aService, aSidecar, resourceOf } from "../../testing/mesh.ts";

const guard = { service: "guard.shop.svc.cluster.local", port: 80 };
const extensionProviders = [
  { name: "http", envoyExtAuthzHttp: guard },
  { name: "grpc", envoyExtAuthzGrpc: guard },
  { name: "lost", envoyExtAuthzGrpc: { service: "lost.example", port: 80 } },
];

const policy = (name: string, provider: string) =>
  aConfig("AuthorizationPolicy", "shop", name, { action: "CUSTOM", provider: { name: provider }, rules: [{}] });

/** The filters that decide about requests. */
function configsOf(extensionProviders: JsonObject[], ...providers: readonly string[]) {
  const core = aMesh(
    aService("guard", "shop"),
    aConfig("MeshConfig", "istio-system", "istio", { rootNamespace: "istio-system", extensionProviders }),
    ...providers.map((provider, index) => policy(`p${index}`, provider)),
  );
  const listener = JSON.stringify(resourceOf(core, aSidecar("shop"), typeUrl.listener, "virtualInbound"));
  const chains = JSON.parse(listener)["filterChains"] as { filters: { typedConfig: JsonObject }[] }[];
  const manager = chains.flatMap(({ filters }) => filters).find(({ typedConfig }) => "httpFilters" in typedConfig);
  const filters = (manager?.typedConfig["httpFilters"] ?? []) as { name: string; typedConfig: JsonObject }[];
  return filters.filter(({ name }) => /rbac|ext_authz/.test(name));
}

/** Their names. */
function filtersOf(...providers: readonly string[]): readonly string[] {
  return configsOf(extensionProviders, ...providers).map(
    ({ name, typedConfig }) => `${name.split(".").at(-1)}${"shadowRules" in typedConfig ? " marks" : ""}`,
  );
}

const cases = [
  { name: "a service that speaks gRPC decides about both", ask: ["grpc"], http: ["rbac marks", "ext_authz"] },
  { name: "one that speaks HTTP decides about requests", ask: ["http"], http: ["rbac marks", "ext_authz"] },
  { name: "a provider whose service is unknown denies", ask: ["lost"], http: ["rbac"] },
  { name: "two providers exclude each other and deny", ask: ["http", "grpc"], http: ["rbac", "rbac"] },
];

for (const { name, ask, http } of cases) test(name, () => assert.deepEqual(filtersOf(...ask), http));

for (const [statusOnError, expected] of [
  [undefined, undefined],
  ["", undefined],
  ["503", { code: "ServiceUnavailable" }],
] as const)
  test(`a service that is away is answered for with ${statusOnError || "Envoy's own status"}`, () => {
    const provider = { ...guard, failOpen: true, ...(statusOnError !== undefined && { statusOnError }) };
    const found = configsOf([{ name: "http", envoyExtAuthzHttp: provider }], "http");
    const config = found.find(({ name }) => /ext_authz/.test(name))?.typedConfig;
    assert.deepEqual([config?.["statusOnError"], config?.["failureModeAllow"]], [expected, true]);
  });
