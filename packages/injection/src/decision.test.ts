import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type InjectionConfig, parseInjectionConfig } from "./config.ts";
import { decide } from "./decision.ts";
import type { PodSpec, Texts } from "./pod.ts";

interface Settings {
  readonly policy?: string;
  readonly never?: object;
  readonly always?: object;
}

function config({ policy = "enabled", never, always }: Settings = {}): InjectionConfig {
  const selectors = {
    ...(never === undefined ? {} : { neverInjectSelector: [never] }),
    ...(always === undefined ? {} : { alwaysInjectSelector: [always] }),
  };
  return parseInjectionConfig(JSON.stringify({ policy, templates: { sidecar: "spec: {}" }, ...selectors }), "{}");
}

const inject = "sidecar.istio.io/inject";
const app = { matchLabels: { app: "web" } };

const cases: readonly {
  name: string;
  want: boolean;
  reason: string;
  labels?: Texts;
  annotations?: Texts;
  spec?: PodSpec;
  namespace?: string;
  settings?: Settings;
}[] = [
  { name: "by policy", want: true, reason: "policy" },
  { name: "by a policy that is off", want: false, reason: "policy", settings: { policy: "disabled" } },
  {
    name: "an unknown policy injects nothing",
    want: false,
    reason: "policy",
    settings: { policy: "x" },
    labels: { [inject]: "true" },
  },
  {
    name: "the pod asks, the policy is off",
    want: true,
    reason: "asked by the pod",
    labels: { [inject]: "true" },
    settings: { policy: "disabled" },
  },
  { name: "the pod refuses", want: false, reason: "refused by the pod", annotations: { [inject]: "false" } },
  {
    name: "the label counts before the annotation",
    want: true,
    reason: "asked by the pod",
    labels: { [inject]: "true" },
    annotations: { [inject]: "false" },
  },
  { name: "other words than true and false count as none", want: true, reason: "policy", labels: { [inject]: "no" } },
  {
    name: "an empty label counts before the annotation",
    want: true,
    reason: "policy",
    labels: { [inject]: "" },
    annotations: { [inject]: "false" },
  },
  {
    name: "host network, whatever else",
    want: false,
    reason: "host network",
    labels: { [inject]: "true" },
    spec: { hostNetwork: true },
  },
  {
    name: "system namespaces, whatever else",
    want: false,
    reason: "ignored namespace",
    labels: { [inject]: "true" },
    namespace: "kube-system",
  },
  {
    name: "never by selector",
    want: false,
    reason: "never-inject selector",
    labels: { app: "web" },
    settings: { never: app },
  },
  {
    name: "never before always",
    want: false,
    reason: "never-inject selector",
    labels: { app: "web" },
    settings: { never: app, always: app },
  },
  {
    name: "always by selector, the policy is off",
    want: true,
    reason: "always-inject selector",
    labels: { app: "web" },
    settings: { policy: "disabled", always: app },
  },
  {
    name: "the pod's word before the selectors",
    want: true,
    reason: "asked by the pod",
    labels: { app: "web", [inject]: "true" },
    settings: { never: app },
  },
  {
    name: "by expression",
    want: false,
    reason: "never-inject selector",
    labels: { job: "1" },
    settings: { never: { matchExpressions: [{ key: "job", operator: "Exists" }] } },
  },
  { name: "an empty selector selects nothing", want: true, reason: "policy", settings: { never: {} } },
];

describe("decide", () => {
  for (const { name, want, reason, labels = {}, annotations = {}, spec = {}, namespace = "shop", settings } of cases) {
    it(name, () => {
      const pod = { metadata: { labels, annotations }, spec };
      assert.deepEqual(decide(pod, namespace, config(settings)), { inject: want, reason });
    });
  }
});
