/** Helm's output for k8s/chart equals kustomize's for k8s/base and its components. HELM and KUBECTL name the programs. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, it } from "node:test";
import { root } from "../deployment/files.ts";
import { keyOf, kustomize, type ManifestObject, parseObjects } from "./kustomize.ts";

const programs = { helm: process.env["HELM"] ?? "helm", kubectl: process.env["KUBECTL"] ?? "kubectl" };
const runs = (program: string, ...args: readonly string[]) => spawnSync(program, args).status === 0;
const missing = [
  ...(runs(programs.helm, "version") ? [] : ["Helm (HELM, or helm on PATH)"]),
  ...(runs(programs.kubectl, "version", "--client") ? [] : ["kubectl (KUBECTL, or kubectl on PATH)"]),
];
const skip = missing.length === 0 ? false : `k8s/chart is not rendered: there is no ${missing.join(" and no ")}`;
const hasKubectl = !missing.some((name) => name.startsWith("kubectl"));

function helm(values: readonly string[], namespace = "istio-system"): readonly ManifestObject[] {
  const set = values.flatMap((value) => ["--set", value]);
  // A Helm that is built from its module assumes a Kubernetes of long ago.
  const release = ["flotilla", join(root, "k8s/chart"), "--namespace", namespace, "--kube-version", "1.33.0"];
  const args = ["template", ...release, ...set];
  return parseObjects(execFileSync(programs.helm, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }));
}

type Fields = Record<string, unknown>;

/** Without what only one of them has: the namespace is made by `--create-namespace`, the checksum stands for the hash in a name. */
function comparable(objects: readonly ManifestObject[]): ReadonlyMap<string, unknown> {
  const kept = objects.filter(({ kind }) => kind !== "Namespace");
  return new Map(kept.map((object) => [keyOf(object), withoutChecksum(structuredClone(object))] as const));
}

function withoutChecksum(object: ManifestObject): unknown {
  const { metadata } = (object as unknown as { spec?: { template?: { metadata?: { annotations?: Fields } } } }).spec
    ?.template ?? { metadata: undefined };
  if (metadata?.annotations === undefined) return object;
  delete metadata.annotations["checksum/config"];
  if (Object.keys(metadata.annotations).length === 0) delete metadata.annotations;
  return object;
}

function deploymentOf(objects: readonly ManifestObject[], name: string) {
  const found = objects.find((object) => keyOf(object) === `Deployment/${name}`);
  return found as unknown as {
    readonly spec: {
      readonly replicas?: number;
      readonly template: {
        readonly spec: Fields & { readonly containers: readonly (Fields & { readonly image: string })[] };
      };
    };
  };
}

describe("the templates of the Helm chart", { skip: !hasKubectl && skip }, () => {
  it("are those that k8s/base and its components give", () => {
    const { status, stdout } = spawnSync(process.execPath, [join(root, "scripts/write-chart.ts"), "--check"], {
      encoding: "utf8",
    });
    assert.equal(status, 0, stdout);
  });
});

describe("the Helm chart", { skip }, () => {
  const cases: readonly (readonly [name: string, components: readonly string[], values: readonly string[]])[] = [
    ["its default values are k8s/base", [], []],
    ["highAvailability is components/replicated-servers", ["replicated-servers"], ["highAvailability=true"]],
    ["autoscaling is components/autoscaling", ["autoscaling"], ["autoscaling.enabled=true"]],
    ["installCrds is components/crds", ["crds"], ["installCrds=true"]],
    ["clusterTrustBundle is components/cluster-trust-bundle", ["cluster-trust-bundle"], ["clusterTrustBundle=true"]],
    ["ambient is components/ambient", ["ambient"], ["ambient.enabled=true"]],
    ["console is components/console", ["console"], ["console.enabled=true"]],
    [
      "several together are the components together",
      ["replicated-servers", "autoscaling", "crds"],
      ["highAvailability=true", "autoscaling.enabled=true", "installCrds=true"],
    ],
  ];
  for (const [name, components, values] of cases)
    it(name, () => assert.deepEqual(comparable(helm(values)), comparable(kustomize(components, programs.kubectl))));

  it("servers.secret is components/own-servers", () => {
    const own = ["nats.enabled=false", "redis.enabled=false", "servers.secret=flotilla-servers"];
    assert.deepEqual(comparable(helm(own)), comparable(kustomize(["own-servers"], programs.kubectl)));
  });

  it("values reach the objects", () => {
    const values = [
      ...["image.repository=registry.example/flotilla", "image.tag=1.2.3", "imagePullSecrets[0].name=pull"],
      ...["ca.replicas=3", "xdsServer.replicas=4", "xdsServer.env.PUSH_DEBOUNCE=1", "webhook.nodeSelector.a=b"],
      ...["settings.LOG_LEVEL=debug", "nats.storage.size=9Gi", "nats.storage.className=fast", "cacerts.secret=mine"],
    ];
    const objects = helm(values);
    const [ca, xds, webhook] = ["ca", "xds-server", "webhook"].map((name) => deploymentOf(objects, `flotilla-${name}`));
    assert.equal(ca?.spec.replicas, 3);
    assert.equal(xds?.spec.replicas, 4);
    assert.equal(xds?.spec.template.spec.containers[0]?.image, "registry.example/flotilla:1.2.3");
    assert.deepEqual(webhook?.spec.template.spec["nodeSelector"], { a: "b" });
    assert.deepEqual(webhook?.spec.template.spec["imagePullSecrets"], [{ name: "pull" }]);
    const text = JSON.stringify(objects);
    for (const part of [
      '"LOG_LEVEL":"debug"',
      '{"name":"PUSH_DEBOUNCE","value":"1"}',
      '"secretName":"mine"',
      '{"requests":{"storage":"9Gi"}},"storageClassName":"fast"',
    ])
      assert.ok(text.includes(part), part);
  });

  it("a revision in a namespace of its own shares no name with the default one", () => {
    const one = helm([]);
    const values = ["revision=canary", "rootConfigMap=canary-root", "crlConfigMap=canary-crl"];
    const other = helm(values, "canary-system");
    const clusterWide = (objects: readonly ManifestObject[]) =>
      objects.filter(({ metadata }) => metadata.namespace === undefined).map(keyOf);
    assert.deepEqual(new Set(clusterWide(one)).intersection(new Set(clusterWide(other))), new Set());
    const text = JSON.stringify(other);
    for (const foreign of ["istio-system", "istio-ca-root-cert", "istio-ca-crl", '"istio-injection","operator":"In"'])
      assert.ok(!text.includes(foreign), foreign);
    assert.match(text, /"REVISION":"canary"/);
    assert.match(text, /"istio-gateway-deployment-canary"/);
  });

  for (const [values, reason] of [
    [["nats.enabled=false"], /name a NATS by servers\.secret/],
    [["redis.enabled=false"], /name a Redis by servers\.secret/],
    [["replicas=2"], /replicas/],
    [["ca.replicas=many"], /replicas/],
  ] as const)
    it(`refuses ${values.join(" ")}`, () => assert.throws(() => helm(values), reason));
});
