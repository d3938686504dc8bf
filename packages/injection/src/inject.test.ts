import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { defaultMeshConfig } from "@flotilla/model";
import { parseInjectionConfig } from "./config.ts";
import { InjectionError } from "./errors.ts";
import { injectPod } from "./inject.ts";
import type { Container, Json, Pod, Texts } from "./pod.ts";

const builtIn = (file: string): string => readFileSync(new URL(`templates/${file}`, import.meta.url), "utf8");
const values = builtIn("values.json");
const config = parseInjectionConfig(JSON.stringify({ templates: { sidecar: builtIn("sidecar.yaml") } }), values);

interface Given {
  readonly annotations?: Texts;
  readonly labels?: Texts;
  readonly containers?: readonly Container[];
  readonly spec?: Json;
  readonly proxyEnv?: Texts;
  readonly native?: boolean;
  readonly mesh?: Json;
}

const web: Container = { name: "web", image: "web", ports: [{ name: "http", containerPort: 8080 }] };

function inject({
  annotations = {},
  labels = {},
  containers = [web],
  spec = {},
  proxyEnv = {},
  native = true,
  mesh = {},
}: Given = {}): Pod {
  const pod: Pod = {
    metadata: {
      generateName: "web-5d-",
      labels: { app: "web", "pod-template-hash": "5d", ...labels },
      annotations,
      ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "web-5d", controller: true }],
    },
    spec: { containers, ...spec },
  };
  return again(pod, { proxyEnv, native, mesh });
}

function again(pod: Pod, { proxyEnv = {}, native = true, mesh = {} }: Given = {}): Pod {
  const request = {
    pod,
    namespace: "shop",
    namespaceAnnotations: {},
    proxyEnv,
    mesh: { ...defaultMeshConfig, ...mesh },
  };
  return injectPod(request, config, {
    revision: "default",
    nativeSidecars: native,
    platform: "",
    compliancePolicy: "",
  });
}

const namesOf = (list: readonly { readonly name: string }[] = []): readonly string[] => list.map(({ name }) => name);
function proxyOf({ spec }: Pod): Container {
  const all = [...(spec.containers ?? []), ...(spec.initContainers ?? [])];
  return all.find(({ name }) => name === "istio-proxy") as Container;
}
const envOf = (pod: Pod, name: string): string | undefined => proxyOf(pod).env?.find((one) => one.name === name)?.value;

describe("the built-in template", () => {
  it("runs the proxy as a native sidecar, before other init containers", () => {
    const { spec } = inject({ spec: { initContainers: [{ name: "migrate", image: "m" }] } });
    assert.deepEqual(namesOf(spec.initContainers), ["istio-init", "istio-proxy", "migrate"]);
    assert.deepEqual(namesOf(spec.containers), ["web"]);
  });

  it("runs the proxy as a container where native sidecars are off", () => {
    const { spec } = inject({ native: false });
    assert.deepEqual(
      [namesOf(spec.initContainers), namesOf(spec.containers)],
      [["istio-init"], ["web", "istio-proxy"]],
    );
  });

  it("captures nothing where the pod says so", () => {
    const { spec } = inject({ annotations: { "sidecar.istio.io/interceptionMode": "NONE" } });
    assert.deepEqual(namesOf(spec.initContainers), ["istio-proxy"]);
  });

  it("passes the agent what it has to know", () => {
    const pod = inject({ mesh: { trustDomain: "mesh.example" } });
    const known = [
      "ISTIO_META_WORKLOAD_NAME",
      "ISTIO_META_OWNER",
      "TRUST_DOMAIN",
      "ISTIO_META_APP_CONTAINERS",
      "PROXY_CONFIG",
    ];
    assert.deepEqual(
      known.map((name) => envOf(pod, name)),
      ["web", "kubernetes://apis/apps/v1/namespaces/shop/deployments/web", "mesh.example", "web", "{}"],
    );
    const token = pod.spec.volumes?.find(({ name }) => name === "istio-token");
    assert.match(JSON.stringify(token), /"audience":"istio-ca"/);
    assert.match(JSON.stringify(pod.spec.volumes), /"name":"istio-ca-root-cert"/);
  });

  const many = (count: number): readonly Container[] =>
    Array.from({ length: count }, (_, i) => ({ name: `c${i}`, image: "i" }));
  for (const [name, pod, reason] of [
    ["containers", { containers: many(501) }, /spec\.containers .*: 501 containers, at most 500/],
    [
      "volumes",
      { spec: { volumes: Array.from({ length: 2_001 }, (_, i) => ({ name: `v${i}`, emptyDir: {} })) } },
      /spec\.volumes: 2001 volumes, at most 2000/,
    ],
    [
      "variables",
      {
        containers: many(2).map((one) => ({
          ...one,
          env: Array.from({ length: 2_501 }, (_, i) => ({ name: `E${i}` })),
        })),
      },
      /env of all containers: 5002 variables, at most 5000/,
    ],
    [
      "bytes of annotations",
      { annotations: { "proxy.istio.io/config": `a: ${"x".repeat(300_000)}` } },
      /metadata\.annotations: \d+ bytes, at most 262144/,
    ],
    [
      "bytes of a ProxyConfig",
      { annotations: { "proxy.istio.io/config": `a: ${"x".repeat(70_000)}` } },
      /annotation proxy\.istio\.io\/config: 70003 bytes, at most 65536/,
    ],
  ] as const)
    it(`refuses too many ${name} with the field and the bound`, () => {
      assert.throws(() => inject(pod), reason);
    });

  it("takes resources from annotations", () => {
    const pod = inject({ annotations: { "sidecar.istio.io/proxyCPU": "10m" } });
    assert.deepEqual(proxyOf(pod)["resources"], { requests: { cpu: "10m" }, limits: {} });
  });
});

describe("the pod's own words", () => {
  it("a container of the template's name keeps what the pod says of it, and is noted", () => {
    const own = { name: "istio-proxy", image: "auto", resources: { limits: { cpu: "3" } } };
    const pod = inject({ containers: [web, own] });
    assert.deepEqual(namesOf(pod.spec.containers), ["web"]);
    assert.equal((proxyOf(pod)["resources"] as { limits: Json }).limits["cpu"], "3");
    assert.match(proxyOf(pod).image ?? "", /proxyv2/);
    assert.equal(
      pod.metadata.annotations?.["proxy.istio.io/overrides"],
      '{"initContainers":[{"name":"istio-proxy","resources":{"limits":{"cpu":"3"}}}]}',
    );
  });

  it("and keeps it where a status that names no container is there already", () => {
    const own = { name: "istio-proxy", image: "auto", resources: { limits: { cpu: "3" } } };
    const pod = inject({ containers: [web, own], annotations: { "sidecar.istio.io/status": "{}" } });
    assert.equal((proxyOf(pod)["resources"] as { limits: Json }).limits["cpu"], "3");
  });

  it("another user of the proxy changes the rules that spare it", () => {
    const own = { name: "istio-proxy", image: "auto", securityContext: { runAsUser: 1234 } };
    const [init] = inject({ containers: [web, own] }).spec.initContainers ?? [];
    assert.equal(init?.args?.[init.args.indexOf("-u") + 1], "1234");
  });

  it("proxy.istio.io/config is merged over the mesh's", () => {
    const pod = inject({ annotations: { "proxy.istio.io/config": "concurrency: 7\nproxyMetadata: {A: b}" } });
    assert.deepEqual(JSON.parse(envOf(pod, "PROXY_CONFIG") ?? ""), { concurrency: 7, proxyMetadata: { A: "b" } });
    assert.equal(envOf(pod, "A"), "b");
  });

  it("a pod whose proxy takes HBONE is labelled for its callers", () => {
    const hbone = { defaultConfig: { proxyMetadata: { ISTIO_META_ENABLE_HBONE: "true" } } };
    const tunnel = "networking.istio.io/tunnel";
    assert.equal(inject().metadata.labels?.[tunnel], undefined);
    assert.equal(inject({ mesh: hbone }).metadata.labels?.[tunnel], "http");
    assert.equal(inject({ mesh: hbone, labels: { [tunnel]: "none" } }).metadata.labels?.[tunnel], "none");
  });

  it("a concurrency that is no number refuses the pod", () =>
    assert.throws(
      () => inject({ annotations: { "proxy.istio.io/config": "concurrency: x" } }),
      /proxy\.istio\.io\/config: concurrency: is no whole number/,
    ));
});

describe("after the templates", () => {
  it("probes go to the agent, and the agent learns of them", () => {
    const probe = { httpGet: { path: "/ok", port: "http", scheme: "HTTPS" }, timeoutSeconds: 2 };
    const pod = inject({ containers: [{ ...web, readinessProbe: probe }] });
    const [container] = pod.spec.containers ?? [];
    assert.deepEqual(container?.["readinessProbe"], {
      httpGet: { path: "/app-health/web/readyz", port: 15020, scheme: "HTTP" },
      timeoutSeconds: 2,
    });
    assert.deepEqual(JSON.parse(envOf(pod, "ISTIO_KUBE_APP_PROBERS") ?? ""), {
      "/app-health/web/readyz": { httpGet: { path: "/ok", port: 8080, scheme: "HTTPS" }, timeoutSeconds: 2 },
    });
  });

  for (const value of ["{", "[]", "7"])
    it(`a pod whose proxy says ${value} of its probes is refused`, () => {
      const env = [{ name: "ISTIO_KUBE_APP_PROBERS", value }];
      const probe = { httpGet: { path: "/ok", port: 8080 } };
      const containers = [
        { ...web, readinessProbe: probe },
        { name: "istio-proxy", env },
      ];
      assert.throws(() => inject({ containers, native: false }), { code: "INJECT_BAD_POD" });
    });

  it("metrics are merged by the agent, which learns where the application's are", () => {
    const pod = inject({ annotations: { "prometheus.io/scrape": "true", "prometheus.io/port": "9090" } });
    assert.equal(pod.metadata.annotations?.["prometheus.io/port"], "15020");
    assert.deepEqual(JSON.parse(envOf(pod, "ISTIO_PROMETHEUS_ANNOTATIONS") ?? ""), {
      scrape: "true",
      path: "",
      port: "9090",
    });
  });

  it("the webhook's address counts more than the template, and the network becomes a label", () => {
    const pod = inject({ proxyEnv: { ISTIO_META_CLUSTER_ID: "east", ISTIO_META_NETWORK: "n1" } });
    assert.equal(envOf(pod, "ISTIO_META_CLUSTER_ID"), "east");
    assert.equal(proxyOf(pod).env?.filter(({ name }) => name === "ISTIO_META_CLUSTER_ID").length, 1);
    assert.equal(pod.metadata.labels?.["topology.istio.io/network"], "n1");
  });

  it("cluster and network come from the values where the webhook's address names none", () => {
    // A template that says nothing about them.
    const sidecar = "spec:\n  containers:\n  - { name: istio-proxy, image: proxy }\n";
    const placed = (global: Json) => {
      const known = JSON.parse(values) as { readonly global: Json };
      const text = JSON.stringify({ ...known, global: { ...known.global, ...global } });
      const placedConfig = parseInjectionConfig(JSON.stringify({ templates: { sidecar } }), text);
      const pod: Pod = { metadata: { name: "web" }, spec: { containers: [web] } };
      const request = { pod, namespace: "shop", namespaceAnnotations: {}, proxyEnv: {}, mesh: defaultMeshConfig };
      const found = injectPod(request, placedConfig, {
        ...{ revision: "default", nativeSidecars: true, platform: "", compliancePolicy: "" },
      });
      return ["ISTIO_META_CLUSTER_ID", "ISTIO_META_NETWORK"].map((name) => envOf(found, name));
    };
    assert.deepEqual(placed({ network: "n2", multiCluster: { clusterName: "west" } }), ["west", "n2"]);
    assert.deepEqual(placed({ network: "", multiCluster: { clusterName: 7 } }), [undefined, undefined]);
  });

  it("a second injection gives the same pod", () => {
    const probe = { httpGet: { path: "/ok", port: "http" } };
    const own = { name: "istio-proxy", image: "auto", tty: true };
    for (const native of [true, false]) {
      const once = inject({ containers: [{ ...web, livenessProbe: probe }, own], native });
      assert.deepEqual(again(once, { native }), once);
    }
  });
});

describe("templates of the user", () => {
  const custom = (source: string) => parseInjectionConfig(JSON.stringify({ templates: { sidecar: source } }), "{}");
  const run = (source: string): Pod =>
    injectPod(
      {
        pod: { metadata: {}, spec: {} },
        namespace: "a",
        namespaceAnnotations: {},
        proxyEnv: {},
        mesh: defaultMeshConfig,
      },
      custom(source),
      { revision: "r", nativeSidecars: false, platform: "", compliancePolicy: "" },
    );
  const failures: readonly [name: string, source: string, code: string, message: RegExp][] = [
    ["a syntax error", "a\n{{ if }}", "INJECT_BAD_CONFIG", /template sidecar, line 2: missing value for if/],
    [
      "a failing function",
      "a: b\n{{ fail `no` }}",
      "INJECT_TEMPLATE_FAILED",
      /template sidecar, line 2: error calling fail: no/,
    ],
    ["output that is no YAML", "a: [", "INJECT_TEMPLATE_FAILED", /template sidecar gives no YAML/],
  ];
  for (const [name, source, code, message] of failures) {
    it(`${name} is reported with its place`, () => {
      assert.throws(
        () => run(source),
        (error) => error instanceof InjectionError && error.code === code && message.test(error.message),
      );
    });
  }

  it("an unknown template is refused with the known ones", () => {
    const annotations = { "inject.istio.io/templates": "sidecar,other" };
    assert.throws(() => inject({ annotations }), /requested template "other" not found; have sidecar/);
  });
});
