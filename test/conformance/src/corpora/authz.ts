/** Corpus authz: AuthorizationPolicies of one workload, and the filters that Istio's builder makes of them for requests or connections. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { equalJson, type KubeObject, parseNode } from "@flotilla/model";
import { bytesToJson, fromJson, isJsonObject, type JsonObject, type JsonValue, toJson, typeUrl } from "@flotilla/proto";
import { FilterSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_components_pb";
import { HttpFilterSchema } from "@flotilla/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb";
import { createMesh } from "@flotilla/registry";
import { Core } from "@flotilla/xds-server/core";
import { parse, parseAllDocuments } from "yaml";
import type { CaseResult } from "./corpus.ts";

interface Case {
  readonly name: string;
  readonly input: string;
  /** One file a filter. */
  readonly expected: readonly string[];
  readonly settings: {
    readonly for: "HTTP" | "TCP";
    /** The mesh's own, then its aliases. */
    readonly trustDomains: readonly string[];
    readonly meshConfig: JsonObject | null;
  };
}

export async function run(directory: string): Promise<readonly CaseResult[]> {
  const { cases } = JSON.parse(await readFile(join(directory, "cases.json"), "utf8")) as { cases: readonly Case[] };
  return Promise.all(cases.map((one) => runCase(directory, one)));
}

async function runCase(directory: string, one: Case): Promise<CaseResult> {
  const { name, input, expected } = one;
  try {
    const read = (path: string) => readFile(join(directory, path), "utf8");
    const wanted = await Promise.all(expected.map(async (path) => parse(await read(path)) as JsonValue));
    const schema = one.settings.for === "HTTP" ? HttpFilterSchema : FilterSchema;
    const want = wanted.map((filter) => toJson(schema, fromJson<typeof schema>(schema, filter)));
    const policies = parseAllDocuments(await read(input)).map((document) => document.toJS() as KubeObject | null);
    const got = policyFilters(
      one,
      policies.filter((policy) => policy !== null),
    );
    const passed = equalJson(want, got);
    return { name, passed, ...(!passed && { detail: `want ${JSON.stringify(want)} got ${JSON.stringify(got)}` }) };
  } catch (cause) {
    return { name, passed: false, detail: `threw ${cause}` };
  }
}

const workload = {
  id: "sidecar~10.0.0.1~httpbin.foo~foo.svc.cluster.local",
  locality: { region: "", zone: "", subzone: "" },
  metadata: { NAMESPACE: "foo", CLUSTER_ID: "Kubernetes", LABELS: { app: "httpbin", version: "v1" } },
};

const authorizer = {
  ...{ apiVersion: "v1", kind: "Service", metadata: { name: "my-custom-ext-authz", namespace: "foo" } },
  spec: { clusterIP: "10.96.0.9", ports: [{ name: "grpc", port: 9000 }] },
} as unknown as KubeObject;

interface ListenerJson {
  readonly filterChains: readonly JsonObject[];
}

/** Those of the chain that takes requests, or connections, to any port. */
function policyFilters({ settings }: Case, policies: readonly KubeObject[]): readonly JsonValue[] {
  const [trustDomain = "cluster.local", ...trustDomainAliases] = settings.trustDomains;
  const mesh = { ...settings.meshConfig, trustDomain, trustDomainAliases };
  const core = new Core({ features: {} });
  const [refusal] = core.apply(createMesh({}).apply({ put: [authorizer, ...policies], mesh, networks: {} } as never));
  if (refusal !== undefined) throw refusal.error;
  const subject = core.subjectOf(parseNode(workload));
  const found = core.resources(subject, typeUrl.listener, undefined)?.byName.get("virtualInbound");
  if (found === undefined) throw new Error("there is no listener");
  const { filterChains } = bytesToJson(typeUrl.listener, found.bytes) as unknown as ListenerJson;
  const isManager = ({ name }: JsonObject) => name === "envoy.filters.network.http_connection_manager";
  const chains = filterChains.map(({ filters }) => filters as readonly JsonObject[]);
  const managers = chains.flatMap((filters) => filters.filter(isManager));
  const [requests] = managers.map(({ typedConfig }) => (isJsonObject(typedConfig) ? typedConfig["httpFilters"] : []));
  // The first chain takes connections to the listener itself.
  const connections = chains.slice(1).find((filters) => !filters.some(isManager));
  const all = (settings.for === "HTTP" ? requests : connections) as readonly JsonObject[] | undefined;
  return (all ?? []).filter(({ name }) => /\.(rbac|ext_authz)$/.test(String(name)));
}
