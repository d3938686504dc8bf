import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Container, Json, Pod, Texts } from "../pod.ts";
import { rewriteProbes } from "./probes.ts";

const status = 15021;
const ports = { status, mesh: status };
const app = (more: Json): Container => ({ name: "app", ports: [{ name: "web", containerPort: 8080 }], ...more });

function rewritten(containers: readonly Container[], annotations: Texts = {}, more: Json = {}): Pod {
  const pod = { metadata: { annotations }, spec: { containers: [...containers, { name: "istio-proxy" }], ...more } };
  return rewriteProbes(pod as Pod, true, ports);
}

function probersOf(pod: Pod): Json | undefined {
  const proxy = pod.spec.containers?.find(({ name }) => name === "istio-proxy");
  const value = proxy?.env?.find(({ name }) => name === "ISTIO_KUBE_APP_PROBERS")?.value;
  return value === undefined ? undefined : (JSON.parse(value) as Json);
}

const redirectTo = (path: string, more: Json = {}) => ({ httpGet: { path, port: status, ...more } });

interface Case {
  readonly name: string;
  readonly given: Json;
  readonly asked?: Json;
  readonly probers?: Json;
}

const cases: readonly Case[] = [
  {
    name: "a readiness probe by HTTP keeps its time-out",
    given: { readinessProbe: { httpGet: { path: "/r", port: 80 }, timeoutSeconds: 3, periodSeconds: 9 } },
    asked: { readinessProbe: { periodSeconds: 9, timeoutSeconds: 3, ...redirectTo("/app-health/app/readyz") } },
    probers: { "/app-health/app/readyz": { httpGet: { path: "/r", port: 80 }, timeoutSeconds: 3 } },
  },
  {
    name: "a named port",
    given: { livenessProbe: { httpGet: { port: "web" } } },
    asked: { livenessProbe: redirectTo("/app-health/app/livez") },
    probers: { "/app-health/app/livez": { httpGet: { port: 8080 } } },
  },
  {
    name: "a TCP port, with a time-out of 0 that says nothing",
    given: { startupProbe: { tcpSocket: { port: 90 }, timeoutSeconds: 0 } },
    asked: { startupProbe: { timeoutSeconds: 0, ...redirectTo("/app-health/app/startupz") } },
    probers: { "/app-health/app/startupz": { tcpSocket: { port: 90 } } },
  },
  {
    name: "the agent is asked by plain HTTP",
    given: { livenessProbe: { httpGet: { port: 80, scheme: "HTTPS" } } },
    asked: { livenessProbe: redirectTo("/app-health/app/livez", { scheme: "HTTP" }) },
    probers: { "/app-health/app/livez": { httpGet: { port: 80, scheme: "HTTPS" } } },
  },
  {
    name: "gRPC",
    given: { livenessProbe: { grpc: { port: 80, service: "s" } } },
    asked: { livenessProbe: redirectTo("/app-health/app/livez") },
    probers: { "/app-health/app/livez": { grpc: { port: 80, service: "s" } } },
  },
  {
    name: "hooks",
    given: {
      lifecycle: { preStop: { httpGet: { port: 80 } }, postStart: { tcpSocket: { port: 81 } }, stopSignal: "SIGTERM" },
    },
    asked: {
      lifecycle: {
        preStop: redirectTo("/app-lifecycle/app/prestopz"),
        postStart: redirectTo("/app-lifecycle/app/poststartz"),
        stopSignal: "SIGTERM",
      },
    },
    probers: {
      "/app-lifecycle/app/poststartz": { tcpSocket: { port: 81 } },
      "/app-lifecycle/app/prestopz": { httpGet: { port: 80 } },
    },
  },
  { name: "a command", given: { livenessProbe: { exec: { command: ["x"] } }, lifecycle: { preStop: { exec: {} } } } },
];

describe("probes", () => {
  for (const { name, given, asked, probers } of cases)
    it(`${name} ${probers === undefined ? "stays as it is" : "goes to the agent"}`, () => {
      const pod = rewritten([app(given)]);
      assert.deepEqual(pod.spec.containers?.[0], app(asked ?? given));
      assert.deepEqual(probersOf(pod), probers);
    });

  for (const port of ["other", status])
    it(`of port ${port}, which the agent is not asked about, lead to the agent all the same`, () => {
      const pod = rewritten([app({ livenessProbe: { httpGet: { port } } })]);
      assert.deepEqual(pod.spec.containers?.[0], app({ livenessProbe: redirectTo("/app-health/app/livez") }));
      assert.equal(probersOf(pod), undefined);
    });

  it("of the status port that the pod chose for its agent go to that one", () => {
    const probe = app({ readinessProbe: { httpGet: { port: 80 } } });
    const pod = { metadata: {}, spec: { containers: [probe, { name: "istio-proxy" }] } } as Pod;
    const [first] = rewriteProbes(pod, true, { status: 15_999, mesh: status }).spec.containers ?? [];
    const want = { httpGet: { path: "/app-health/app/readyz", port: 15_999 } };
    assert.deepEqual(first?.["readinessProbe"], want);
  });

  it("of init containers are rewritten too, those of the proxy are not", () => {
    const probe = { readinessProbe: { httpGet: { port: 80 } } };
    const pod = rewritten([], {}, { initContainers: [app(probe)], containers: [{ name: "istio-proxy", ...probe }] });
    assert.deepEqual(Object.keys(probersOf(pod) ?? {}), ["/app-health/app/readyz"]);
    assert.deepEqual(pod.spec.containers?.[0]?.["readinessProbe"], probe.readinessProbe);
    assert.deepEqual(pod.spec.initContainers?.[0]?.["readinessProbe"], redirectTo("/app-health/app/readyz"));
  });

  it("stay where the pod, the mesh or a missing proxy or port says so", () => {
    const probe = app({ readinessProbe: { httpGet: { port: 80 } } });
    const own = "sidecar.istio.io/rewriteAppHTTPProbers";
    assert.equal(probersOf(rewritten([probe], { [own]: "false" })), undefined);
    assert.notEqual(probersOf(rewritten([probe], { [own]: "TRUE" })), undefined);
    assert.notEqual(probersOf(rewritten([probe], { [own]: "off" })), undefined);
    const pod = { metadata: {}, spec: { containers: [probe, { name: "istio-proxy" }] } } as Pod;
    assert.equal(rewriteProbes(pod, false, ports), pod);
    assert.equal(rewriteProbes(pod, true, { ...ports, status: 0 }), pod);
    const alone = { metadata: {}, spec: { containers: [probe] } } as Pod;
    assert.equal(rewriteProbes(alone, true, ports), alone);
  });

  it("of an earlier injection stay among the probers, in order and in their place", () => {
    const env = [
      { name: "ISTIO_KUBE_APP_PROBERS", value: '{"/z":{},"/app-health/app/readyz":{"httpGet":{"port":81}}}' },
      { name: "A", value: "1" },
    ];
    const pod = rewritten(
      [app({ readinessProbe: { httpGet: { port: 80 } } })],
      { "sidecar.istio.io/status": "{}" },
      {
        containers: [app({ readinessProbe: { httpGet: { port: 80 } } }), { name: "istio-proxy", env }],
      },
    );
    assert.deepEqual(probersOf(pod), { "/app-health/app/readyz": { httpGet: { port: 81 } }, "/z": {} });
    assert.deepEqual(
      pod.spec.containers?.[1]?.env?.map(({ name }) => name),
      ["ISTIO_KUBE_APP_PROBERS", "A"],
    );
  });

  for (const [value, reason] of [
    ["{", /is no JSON/],
    ["[]", /is no object/],
    ["null", /is no object/],
  ] as const)
    it(`that came as ${value} are refused`, () => {
      const containers = [
        app({ readinessProbe: { httpGet: { port: 80 } } }),
        { name: "istio-proxy", env: [{ name: "ISTIO_KUBE_APP_PROBERS", value }] },
      ];
      assert.throws(() => rewritten([], {}, { containers }), { code: "INJECT_BAD_POD", message: reason });
    });
});
