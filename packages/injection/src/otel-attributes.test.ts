/** Resource attributes of OpenTelemetry's conventions, and those that the pod sets itself. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { otelResourceAttributes } from "./otel-attributes.ts";

const enriching = {
  extensionProviders: [
    { name: "z", zipkin: {} },
    { name: "o", opentelemetry: { serviceAttributeEnrichment: "OTEL_SEMANTIC_CONVENTIONS" } },
  ],
};
const containers = [{ name: "app" }, { name: "second" }];
const prefix = "resource.opentelemetry.io/";

const cases: readonly {
  readonly name: string;
  readonly mesh?: unknown;
  readonly annotations?: unknown;
  readonly labels?: unknown;
  readonly namespace?: unknown;
  readonly containers?: unknown;
  readonly want: string;
}[] = [
  { name: "no provider wants them", mesh: { extensionProviders: [{ name: "o", opentelemetry: {} }] }, want: "" },
  { name: "no mesh configuration", mesh: null, want: "" },
  {
    name: "namespace and instance of the first container of the workload",
    want: "service.namespace=shop,service.instance.id=shop.$(POD_NAME).app",
  },
  {
    name: "the version of the recommended label, in its place",
    labels: { "app.kubernetes.io/version": "v2" },
    want: "service.namespace=shop,service.version=v2,service.instance.id=shop.$(POD_NAME).app",
  },
  {
    name: "an empty version is none",
    labels: { "app.kubernetes.io/version": "" },
    want: "service.namespace=shop,service.instance.id=shop.$(POD_NAME).app",
  },
  { name: "neither namespace nor container", namespace: "", containers: undefined, want: "" },
  {
    name: "annotations count before what is found, others are no attributes",
    annotations: { [`${prefix}a`]: "2", [`${prefix}service.namespace`]: "own", [`${prefix}service.version`]: "" },
    want: "service.namespace=own,service.instance.id=shop.$(POD_NAME).app",
  },
  ...["r:5000/n:1.2@sha256:ab", "n:1.2", "n@sha256:ab", "r:5000/n"].map((image, index) => ({
    name: `the version of the only container's image ${image}`,
    containers: [{ name: "app", image }],
    want: [
      "service.namespace=shop,service.version=1.2@sha256:ab,service.instance.id=shop.$(POD_NAME).app",
      "service.namespace=shop,service.version=1.2,service.instance.id=shop.$(POD_NAME).app",
      "service.namespace=shop,service.version=sha256:ab,service.instance.id=shop.$(POD_NAME).app",
      "service.namespace=shop,service.instance.id=shop.$(POD_NAME).app",
    ][index] as string,
  })),
];

describe("resource attributes of a workload", () => {
  for (const { name, want, ...given } of cases)
    it(name, () => {
      const { mesh, annotations, labels, namespace } = { mesh: enriching, namespace: "shop", ...given };
      const of = "containers" in given ? given.containers : containers;
      assert.equal(otelResourceAttributes(mesh, annotations, labels, namespace, of), want);
    });
});
