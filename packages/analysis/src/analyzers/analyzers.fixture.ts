/** For tests: small objects, and what one analyzer finds among them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AnalysisTools } from "../analyzer.ts";
import { MeshAnalysis } from "../mesh-analysis.ts";
import { type MeshObject, meshObject } from "../mesh-object.ts";
import { messageList } from "../messages/messages.ts";
import { createAnalyzers } from "./all.ts";

const versions: Readonly<Record<string, string>> = {
  ...{ Service: "v1", Pod: "v1", Namespace: "v1", Secret: "v1", ConfigMap: "v1", Deployment: "apps/v1" },
  ...{ AuthorizationPolicy: "security.istio.io/v1", RequestAuthentication: "security.istio.io/v1" },
  ...{ Telemetry: "telemetry.istio.io/v1", ProxyConfig: "networking.istio.io/v1beta1" },
  MutatingWebhookConfiguration: "admissionregistration.k8s.io/v1",
  ValidatingWebhookConfiguration: "admissionregistration.k8s.io/v1",
  ...{ CustomResourceDefinition: "apiextensions.k8s.io/v1", HTTPRoute: "gateway.networking.k8s.io/v1" },
};

interface More {
  /** `shop` unless given; "" for none. */
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Fields beside spec. */
  readonly fields?: object;
}

/** An object of namespace shop. */
export function one(kind: string, name: string, spec: object = {}, more: More = {}): MeshObject {
  const { namespace = "shop", labels = {}, annotations = {}, fields = {} } = more;
  const metadata = { name, labels, annotations, ...(namespace !== "" && { namespace }) };
  const apiVersion = versions[kind] ?? "networking.istio.io/v1";
  const found = meshObject({ apiVersion, kind, metadata, spec, ...fields });
  assert.ok(found !== undefined, `${kind} ${name}`);
  return found;
}

export const aPod = (
  name: string,
  labels: Readonly<Record<string, string>>,
  more: More & { readonly spec?: object } = {},
) => one("Pod", name, more.spec ?? {}, { ...more, labels });

export const aService = (name: string, ports: readonly (number | object)[], spec: object = {}, more: More = {}) =>
  one("Service", name, { ports: ports.map((port) => (typeof port === "number" ? { port } : port)), ...spec }, more);

/** It is the first hour of 1970, in which certificates are valid whose text begins with `good`. */
const tools: AnalysisTools = {
  nowMs: () => 1_000,
  validityOf: (pem) => {
    if (pem.startsWith("good")) return { notBeforeMs: 1_000, notAfterMs: 1_000 };
    if (pem.startsWith("late")) return { notBeforeMs: 0, notAfterMs: 999 };
    if (pem.startsWith("early")) return { notBeforeMs: 1_001, notAfterMs: 2_000 };
    throw new Error("no certificate");
  },
};

const names = new Map(messageList.map(({ code, name }) => [code, name]));

/** `MESSAGE object field`, in order. */
function found(analyzer: string, objects: readonly MeshObject[]): readonly string[] {
  return analysisOf(analyzer, objects).map(({ code, object, field }) =>
    `${names.get(code)} ${object.name} ${field}`.trim(),
  );
}

export type Case = readonly [name: string, objects: readonly MeshObject[], expected: readonly string[]];

/** A test for each case: what the analyzer finds. */
export function check(analyzer: string, cases: readonly Case[]): void {
  describe(analyzer, () => {
    for (const [name, objects, expected] of cases)
      it(`${name}: ${expected.length === 0 ? "nothing" : expected.join("; ")}`, () =>
        assert.deepEqual(found(analyzer, objects), expected));
  });
}

/** The texts of the findings. */
export function messagesOf(analyzer: string, objects: readonly MeshObject[]): readonly string[] {
  return analysisOf(analyzer, objects).map(({ message }) => message);
}

function analysisOf(analyzer: string, objects: readonly MeshObject[]) {
  const chosen = createAnalyzers().filter(({ name }) => name === analyzer);
  assert.equal(chosen.length, 1, analyzer);
  const analysis = new MeshAnalysis(chosen, tools);
  analysis.apply(objects.map((object) => ({ object })));
  return analysis.findings();
}
