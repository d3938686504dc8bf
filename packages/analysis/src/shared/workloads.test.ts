/** Pods with a sidecar: those that have one, and those that would get one by their own word or their namespace's. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Mesh } from "../analyzer.ts";
import { isInjected } from "./workloads.ts";

const inject = "sidecar.istio.io/inject";
const meshOf = (injection?: string) =>
  ({
    find: (kind: string, namespace: string, name: string) =>
      `${kind}/${namespace}/${name}` === "Namespace//shop" && injection !== undefined
        ? { labels: { "istio-injection": injection } }
        : undefined,
  }) as unknown as Mesh;
const proxy = { name: "istio-proxy", image: "proxyv2" };

const cases = [
  { name: "one that has a proxy, whatever it says", labels: { [inject]: "false" }, containers: [proxy], is: true },
  { name: "one whose label asks for it", labels: { [inject]: "true" }, injection: "disabled", is: true },
  { name: "none whose label refuses it", labels: { [inject]: "false" }, injection: "enabled", is: false },
  { name: "none whose label is neither", labels: { [inject]: "yes" }, injection: "enabled", is: false },
  { name: "one whose annotation asks for it", annotations: { [inject]: "true" }, is: true },
  { name: "none whose annotation refuses it", annotations: { [inject]: "false" }, injection: "enabled", is: false },
  {
    ...{ name: "the label before the annotation", is: true },
    ...{ labels: { [inject]: "true" }, annotations: { [inject]: "false" } },
  },
  { name: "one of a namespace with injection", injection: "enabled", is: true },
  { name: "none of a namespace without it", injection: "disabled", is: false },
  { name: "none of an unknown namespace", is: false },
] as const satisfies readonly object[];

interface Given {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly containers?: readonly object[];
  readonly injection?: string;
}

describe("a pod with a sidecar", () => {
  for (const { name, is, ...given } of cases)
    it(`is ${name}`, () => {
      const { labels = {}, annotations = {}, containers = [], injection }: Given = given;
      const podSpec = { value: { containers }, path: "spec" };
      assert.equal(isInjected(meshOf(injection), { namespace: "shop", labels, annotations, podSpec }), is);
    });
});
