/** `flotilla inject`: output for workloads, lists and everything else, and its templates. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { parseAllDocuments } from "yaml";
import { recordRun } from "../recorded-run.fixture.ts";

const directory = mkdtempSync(join(tmpdir(), "flotilla-inject-"));
after(() => rmSync(directory, { recursive: true }));
let files = 0;
function file(text: string): string {
  const path = join(directory, `${++files}.yaml`);
  writeFileSync(path, text);
  return path;
}

interface PodSpec {
  readonly containers: readonly { readonly name: string; readonly image: string }[];
  readonly initContainers?: readonly { readonly name: string }[];
}
const template = "{metadata: {labels: {app: a}}, spec: {containers: [{name: a, image: a}]}}";
const deployment = `apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, namespace: shop}\nspec: {replicas: 2, template: ${template}}\n`;
const service = "# kept\napiVersion: v1\nkind: Service\nmetadata: {name: a}\n";
const templates = JSON.stringify({
  templates: { sidecar: "spec: {containers: [{name: istio-proxy, image: {{ .Values.image }}}]}" },
});
const namesOf = (list: readonly { readonly name: string }[] = []) => list.map(({ name }) => name);

function documents(text: string): readonly Record<string, unknown>[] {
  return parseAllDocuments(text).map((document) => document.toJS());
}
function podOf(object: unknown): PodSpec {
  return (object as { spec: { template: { spec: PodSpec } } }).spec.template.spec;
}

describe("flotilla inject", () => {
  it("injects workloads and writes other objects as they are", async () => {
    const { code, out } = await recordRun(["inject", "-f", file(`${deployment}---\n${service}`)]);
    assert.equal(code, 0);
    const [first, second] = documents(out);
    assert.deepEqual(namesOf(podOf(first).initContainers), ["istio-init", "istio-proxy"]);
    assert.equal((first as { spec: { replicas: number } }).spec.replicas, 2);
    assert.equal(second?.["kind"], "Service");
    assert.match(out, /# kept/);
  });

  it("injects the items of lists, without native sidecars where asked to", async () => {
    const list = file(`apiVersion: v1\nkind: List\nitems:\n- ${deployment.replaceAll("\n", "\n  ")}\n`);
    const { out } = await recordRun(["inject", "-f", list, "--without-native-sidecars"]);
    const [{ items }] = documents(out) as unknown as [{ items: readonly unknown[] }];
    assert.deepEqual(namesOf(podOf(items[0]).containers), ["a", "istio-proxy"]);
  });

  it("applies the ProxyConfigs of the files, by namespace and selector", async () => {
    const proxyConfig = (namespace: string, name: string, spec: object) =>
      JSON.stringify({
        ...{ apiVersion: "networking.istio.io/v1beta1", kind: "ProxyConfig", metadata: { name, namespace }, spec },
      });
    const own = { concurrency: 1, selector: { matchLabels: { app: "a" } } };
    const other = { concurrency: 7, selector: { matchLabels: { app: "b" } } };
    const configs = [
      proxyConfig("shop", "own", own),
      proxyConfig("shop", "other", other),
      proxyConfig("depot", "own", other),
    ];
    const { out } = await recordRun(["inject", "-f", file(`${configs.join("\n---\n")}\n`), "-f", file(deployment)]);
    const [proxyConfigOfPod] =
      /"concurrency":\d+/.exec(JSON.stringify(documents(out).at(-1)).replaceAll("\\", "")) ?? [];
    assert.equal(proxyConfigOfPod, '"concurrency":1');
    const wrong = await recordRun(["inject", "-f", file(proxyConfig("shop", "own", { concurrency: -1 }))]);
    assert.match(wrong.err, /\.yaml: spec\.concurrency: Invalid value: -1/);
  });

  it("takes templates and values from a ConfigMap, and the mesh from another", async () => {
    const map = file(
      JSON.stringify({ kind: "ConfigMap", data: { config: templates, values: '{"image":"of-the-map"}' } }),
    );
    const mesh = file("apiVersion: v1\nkind: ConfigMap\ndata:\n  mesh: |\n    enablePrometheusMerge: false\n");
    const args = ["inject", "-f", file(deployment), "--injection-config", map, "--mesh-config", mesh];
    const { code, out } = await recordRun(args);
    assert.equal(code, 0);
    const [object] = documents(out);
    assert.equal(podOf(object).containers.find(({ name }) => name === "istio-proxy")?.image, "of-the-map");
    assert.doesNotMatch(out, /prometheus\.io/);
  });

  it("says why a pod is left alone, and warns of words without effect", async () => {
    const off = deployment.replace("{app: a}", '{app: a, sidecar.istio.io/inject: "false"}');
    const doubtful = deployment.replace("{labels:", "{annotations: {sidecar.istio.io/inject: maybe}, labels:");
    const { code, err } = await recordRun(["inject", "-f", file(`${off}---\n${doubtful}`)]);
    assert.equal(code, 0);
    assert.match(err, /^Deployment shop\/a: not injected: refused by the pod$/m);
    assert.match(err, /^Deployment shop\/a: sidecar\.istio\.io\/inject: is none of true, false: "maybe"/m);
  });

  for (const [name, text, reason] of [
    [
      "an annotation",
      deployment.replace("{labels:", "{annotations: {status.sidecar.istio.io/port: x}, labels:"),
      /port invalid: "x"/,
    ],
    ["a container", deployment.replace("{name: a, image: a}", "{image: 7}"), /containers\[0\]/],
    ["what is no YAML", "a: [", /, document 1|: /],
  ] as const)
    it(`refuses ${name} with its place, and writes nothing`, async () => {
      const { code, out, err } = await recordRun(["inject", "-f", file(`${deployment}---\n${text}`)]);
      assert.deepEqual([code, out], [3, ""]);
      assert.match(err, /\.yaml, document 2: /);
      assert.match(err, reason);
    });

  it("names template, line and function that cannot be used", async () => {
    const config = file(JSON.stringify({ templates: { sidecar: "spec:\n  a: {{ nosuch 1 }}" } }));
    const { code, err } = await recordRun(["inject", "-f", file(deployment), "--injection-config", config]);
    assert.notEqual(code, 0);
    assert.match(err, /template sidecar, line 2: .*nosuch/);
  });
});
