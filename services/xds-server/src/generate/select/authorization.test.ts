/** Policies with the action CUSTOM: which service a sidecar asks about requests and connections to its own ports, and how. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type JsonObject, typeUrl } from "@flotilla/proto";
import { aKubeMesh, anEntry, anObject, fieldAt } from "../../testing/kube-mesh.ts";
import { aSidecar, resourceOf } from "../../testing/mesh.ts";

const own = (protocol: string) =>
  anEntry("a", {
    ports: [{ number: 80, name: protocol.toLowerCase(), protocol }],
    endpoints: [{ address: "10.0.0.1", labels: { app: "web" } }],
  });
const checker = anEntry("checker", { ports: [{ number: 9000, name: "grpc", protocol: "GRPC" }] });
const service = { service: "checker.shop.example", port: 9000 };
const cluster = "outbound|9000||checker.shop.example";
const extensionProviders: JsonObject[] = [
  { name: "by-grpc", envoyExtAuthzGrpc: service },
  { name: "by-http", envoyExtAuthzHttp: service },
  { name: "lost", envoyExtAuthzGrpc: { ...service, service: "lost.example" } },
  { name: "elsewhere", envoyExtAuthzGrpc: { ...service, service: "other/checker.shop.example" } },
  { name: "here", envoyExtAuthzGrpc: { ...service, service: "shop/checker.shop.example" } },
  { name: "tracer", zipkin: service },
];

function inboundListener(protocol: string, action: JsonObject): JsonObject | undefined {
  const operation = protocol === "HTTP" ? { paths: ["/a"] } : { ports: ["80"] };
  const policy = anObject("AuthorizationPolicy", "shop/p", { spec: { ...action, rules: [{ to: [{ operation }] }] } });
  const core = aKubeMesh([own(protocol), checker, policy], { mesh: { extensionProviders } });
  return resourceOf(core, aSidecar("shop"), typeUrl.listener, "virtualInbound");
}

const asking = (provider: string) => ({ action: "CUSTOM", provider: { name: provider } });

function* filtersWithin(value: unknown): Generator<JsonObject> {
  if (typeof value !== "object" || value === null) return;
  const { name } = value as { readonly name?: unknown };
  if (typeof name === "string" && name.endsWith("ext_authz")) yield value as JsonObject;
  for (const part of Object.values(value)) yield* filtersWithin(part);
}

/** `http by grpc` and the like, for each kind of filter of the port that asks. */
function asks(protocol: string, action: JsonObject): readonly string[] {
  const chains = inboundListener(protocol, action)?.["filterChains"] as readonly JsonObject[];
  const ofPort = chains.filter((chain) => fieldAt(chain, "filterChainMatch.destinationPort") === 80);
  const found = Array.from(filtersWithin(ofPort), ({ name, typedConfig }) => {
    const config = typedConfig as JsonObject;
    const by = "grpcService" in config ? "grpc" : "httpService" in config ? "http" : "nothing";
    const isOfCluster = JSON.stringify(config).includes(`"${cluster}"`);
    return `${String(name).split(".").at(-2)} by ${by}${isOfCluster ? "" : ", another cluster"}`;
  });
  return [...new Set(found)];
}

describe("a sidecar asks about", () => {
  const cases: readonly (readonly [name: string, protocol: string, action: JsonObject, asks: readonly string[]])[] = [
    ["requests by gRPC", "HTTP", asking("by-grpc"), ["http by grpc"]],
    ["requests by HTTP", "HTTP", asking("by-http"), ["http by http"]],
    ["connections by gRPC", "TCP", asking("by-grpc"), ["network by grpc"]],
    ["connections not by HTTP", "TCP", asking("by-http"), []],
    ["requests a service that is named with its namespace", "HTTP", asking("here"), ["http by grpc"]],
    ["nothing without a CUSTOM policy", "HTTP", { action: "DENY" }, []],
    ["nothing where the service is unknown", "HTTP", asking("lost"), []],
    ["nothing where the namespace has no such service", "HTTP", asking("elsewhere"), []],
    ["nothing where the provider is for something else", "HTTP", asking("tracer"), []],
    ["nothing where there is no such provider", "HTTP", asking("none"), []],
  ];
  for (const [name, protocol, action, expected] of cases)
    test(name, () => assert.deepEqual(asks(protocol, action), expected));
});

describe("a sidecar without an authorization service", () => {
  const refuses = (provider: string) =>
    /"rules":\{"action":"DENY"/.test(JSON.stringify(inboundListener("HTTP", asking(provider))));
  for (const provider of ["lost", "none", "tracer"])
    test(`refuses what the policy is about: ${provider}`, () => assert.ok(refuses(provider)));
  test("refuses nothing by itself where there is somebody to ask", () => assert.ok(!refuses("by-grpc")));
});
