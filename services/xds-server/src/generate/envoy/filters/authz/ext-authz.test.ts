import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@flotilla/proto";
import { create, toJson, typeUrl } from "@flotilla/proto";
import { FilterSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_components_pb";
import {
  MeshConfig_ExtensionProvider_EnvoyExternalAuthorizationGrpcProviderSchema as GrpcProviderSchema,
  MeshConfig_ExtensionProvider_EnvoyExternalAuthorizationHttpProviderSchema as HttpProviderSchema,
} from "@flotilla/proto/mesh/v1alpha1/config_pb";
import { aConfig, aMesh, aService, aSidecar, resourceOf } from "../../../../testing/mesh.ts";
import { networkExtAuthz } from "./ext-authz.ts";

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

/** Of the filter that asks over HTTP, with these settings of its provider. */
function httpConfigOf(settings: JsonObject): JsonObject {
  const found = configsOf([{ name: "http", envoyExtAuthzHttp: { ...guard, ...settings } }], "http");
  return found.find(({ name }) => /ext_authz/.test(name))?.typedConfig ?? assert.fail("no filter asks");
}
const exact = (...names: readonly string[]) => ({ patterns: names.map((name) => ({ exact: name, ignoreCase: true })) });

test("a service that is asked over HTTP gets a request of ours, for ten minutes at most", () => {
  const { httpService, allowedHeaders, withRequestBody } = httpConfigOf({});
  const cluster = "outbound|80||guard.shop.svc.cluster.local";
  assert.deepEqual(httpService, {
    serverUri: { uri: "http://guard.shop.svc.cluster.local", cluster, timeout: "600s" },
  });
  assert.deepEqual([allowedHeaders, withRequestBody], [undefined, undefined]);
  const settings = { timeout: "3s", pathPrefix: "/check", includeAdditionalHeadersInCheck: { b: "2", a: "1" } };
  assert.deepEqual(httpConfigOf(settings)["httpService"], {
    serverUri: { uri: "http://guard.shop.svc.cluster.local", cluster, timeout: "3s" },
    pathPrefix: "/check",
    authorizationRequest: {
      headersToAdd: [
        { key: "a", value: "1" },
        { key: "b", value: "2" },
      ],
    },
  });
});

for (const [field, expected] of [
  ["headersToUpstreamOnAllow", "allowedUpstreamHeaders"],
  ["headersToDownstreamOnDeny", "allowedClientHeaders"],
  ["headersToDownstreamOnAllow", "allowedClientHeadersOnSuccess"],
] as const)
  test(`${field} alone become ${expected}`, () => {
    const { authorizationResponse } = httpConfigOf({ [field]: ["X-A", "x-b*"] })["httpService"] as JsonObject;
    assert.deepEqual(authorizationResponse, {
      [expected]: {
        patterns: [
          { exact: "X-A", ignoreCase: true },
          { prefix: "x-b", ignoreCase: true },
        ],
      },
    });
  });

test("headers of the request are those of the newer field, and of the older one where it is empty", () => {
  const older = { includeHeadersInCheck: ["old"] };
  assert.deepEqual(httpConfigOf(older)["allowedHeaders"], exact("old"));
  assert.deepEqual(httpConfigOf({ ...older, includeRequestHeadersInCheck: ["new"] })["allowedHeaders"], exact("new"));
});

test("the body of the request goes along where its bounds are set", () => {
  const includeRequestBodyInCheck = { maxRequestBytes: 100, allowPartialMessage: true, packAsBytes: true };
  assert.deepEqual(httpConfigOf({ includeRequestBodyInCheck })["withRequestBody"], includeRequestBodyInCheck);
});

test("a service that is asked over gRPC is named by its host, for ten minutes at most", () => {
  const grpcConfigOf = (settings: JsonObject): JsonObject => {
    const found = configsOf([{ name: "grpc", envoyExtAuthzGrpc: { ...guard, ...settings } }], "grpc");
    return found.find(({ name }) => /ext_authz/.test(name))?.typedConfig ?? assert.fail("no filter asks");
  };
  const target = {
    envoyGrpc: { clusterName: "outbound|80||guard.shop.svc.cluster.local", authority: "guard.shop.svc.cluster.local" },
  };
  assert.deepEqual(grpcConfigOf({})["grpcService"], { ...target, timeout: "600s" });
  assert.deepEqual(grpcConfigOf({ timeout: "2s" })["grpcService"], { ...target, timeout: "2s" });
});

test("policies that are asked about are marked under the name of their provider, whose mark alone is looked at", () => {
  const [marks, asks] = configsOf(extensionProviders, "grpc").map(({ typedConfig }) => typedConfig);
  const shadow = marks?.["shadowRules"] as { readonly policies: object };
  assert.match(Object.keys(shadow.policies).join(), /^istio-ext-authz-grpc-/);
  assert.equal(marks?.["shadowRulesStatPrefix"], "istio_ext_authz_");
  assert.deepEqual(asks?.["filterEnabledMetadata"], {
    filter: "envoy.filters.http.rbac",
    path: [{ key: "istio_ext_authz_shadow_effective_policy_id" }],
    value: { stringMatch: { prefix: "istio-ext-authz-grpc" } },
  });
});

test("connections are asked about over gRPC, where their policies left the provider's mark, and over HTTP never", () => {
  const asked = { name: "guard", service: { hostname: "guard.shop", cluster: "outbound|9000||guard.shop" } };
  const byHttp = { case: "envoyExtAuthzHttp" as const, value: create(HttpProviderSchema, {}) };
  assert.equal(networkExtAuthz({ ...asked, settings: byHttp }), undefined);
  for (const [failOpen, timeout, shown] of [
    [false, undefined, { timeout: "600s" }],
    [true, { seconds: 2n, nanos: 0 }, { timeout: "2s" }],
  ] as const) {
    const value = create(GrpcProviderSchema, { failOpen, ...(timeout !== undefined && { timeout }) });
    const filter = networkExtAuthz({ ...asked, settings: { case: "envoyExtAuthzGrpc", value } });
    assert.ok(filter !== undefined);
    const { name, typedConfig } = toJson(FilterSchema, filter) as { name: string; typedConfig: JsonObject };
    assert.equal(name, "envoy.filters.network.ext_authz");
    assert.deepEqual(typedConfig, {
      "@type": "type.googleapis.com/envoy.extensions.filters.network.ext_authz.v3.ExtAuthz",
      statPrefix: "tcp.",
      transportApiVersion: "V3",
      ...(failOpen && { failureModeAllow: true }),
      filterEnabledMetadata: {
        filter: "envoy.filters.network.rbac",
        path: [{ key: "istio_ext_authz_shadow_effective_policy_id" }],
        value: { stringMatch: { prefix: "istio-ext-authz-guard" } },
      },
      grpcService: { envoyGrpc: { clusterName: "outbound|9000||guard.shop", authority: "guard.shop" }, ...shown },
    });
  }
});
