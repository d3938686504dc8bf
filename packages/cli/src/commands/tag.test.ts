/** `flotilla tag`, with an API server that keeps objects in memory. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryApi } from "@flotilla/kube-api/memory";
import { serveMemoryApi } from "@flotilla/kube-api/memory-server";
import { recordRun } from "../recorded-run.fixture.ts";
import type { TagConfiguration } from "../tag/revision-tag.ts";

const path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
const clientConfig = { service: { name: "webhook", namespace: "mesh" } };
const matchExpressions = [
  { key: "istio.io/rev", operator: "In", values: ["blue"] },
  { key: "kubernetes.io/metadata.name", operator: "NotIn", values: ["kube-system"] },
];
const revision = (name: string) => ({
  metadata: { labels: { "istio.io/rev": name } },
  webhooks: [{ name: `${name}.example`, clientConfig, namespaceSelector: { matchExpressions } }],
});
const tag = (name: string, leadsTo: string) => ({
  metadata: { labels: { "istio.io/tag": name, "istio.io/rev": leadsTo } },
  webhooks: [{ name: "rev.namespace.sidecar-injector.istio.io", clientConfig }],
});
const namespace = (labels: object) => ({ metadata: { labels } });
const stored = {
  [`${path}/blue`]: revision("blue"),
  [`${path}/green`]: revision("green"),
  [`${path}/empty`]: { ...revision("hollow"), webhooks: [] },
  [`${path}/istio-revision-tag-prod`]: tag("prod", "blue"),
  [`${path}/istio-revision-tag-old`]: tag("old", "green"),
  "/api/v1/namespaces/shop": namespace({ "istio.io/rev": "prod" }),
  "/api/v1/namespaces/bank": namespace({ "istio.io/rev": "prod" }),
  "/api/v1/namespaces/plain": namespace({ "istio-injection": "enabled", "istio.io/rev": "prod" }),
};

async function tagCommand(...args: readonly string[]) {
  const memory = createMemoryApi(stored);
  await using server = await serveMemoryApi(memory);
  const ran = await recordRun(["tag", ...args, "--kubeconfig", server.kubeconfig]);
  const of = (name: string) => memory.read<TagConfiguration>(`${path}/istio-revision-tag-${name}`);
  return { ...ran, writes: memory.writes.map(({ verb }) => verb), of };
}

const keysOf = (found: TagConfiguration | undefined) =>
  found?.webhooks?.map(({ name, namespaceSelector }) => {
    const keys = namespaceSelector?.matchExpressions?.map(({ key, operator, values }) => {
      return `${key.split("/").at(-1)} ${operator}${values === undefined ? "" : ` ${values.join(" ")}`}`;
    });
    return `${name.replace(".sidecar-injector.istio.io", "")}: ${keys?.join(", ")}`;
  });
const elsewhere = "metadata.name NotIn kube-system";

describe("flotilla tag set", () => {
  it("makes a tag that asks the webhook of its revision", async () => {
    const { code, out, of, writes } = await tagCommand("set", "canary", "--revision", "green");
    assert.equal(code, 0);
    assert.match(out, /^canary leads to green; label namespaces with istio\.io\/rev=canary$/m);
    assert.deepEqual(writes, ["create"]);
    const made = of("canary");
    assert.deepEqual(made?.metadata.labels, {
      ...{ app: "sidecar-injector", "istio.io/tag": "canary", "istio.io/rev": "green" },
    });
    assert.deepEqual(made?.webhooks?.[0]?.clientConfig, clientConfig);
    assert.deepEqual(keysOf(made), [
      `rev.namespace: rev In canary, istio-injection DoesNotExist, ${elsewhere}`,
      `rev.object: rev DoesNotExist, istio-injection DoesNotExist, ${elsewhere}`,
    ]);
  });

  it("makes the default one for namespaces with istio-injection, too", async () => {
    const { out, of } = await tagCommand("set", "default", "--revision", "blue");
    assert.match(out, /label namespaces with istio-injection=enabled$/m);
    assert.deepEqual(keysOf(of("default"))?.slice(2), [
      `namespace: istio-injection In enabled, ${elsewhere}`,
      `object: istio-injection DoesNotExist, rev DoesNotExist, ${elsewhere}`,
    ]);
  });

  it("leads a tag elsewhere where that is allowed", async () => {
    const { code, of, writes } = await tagCommand("set", "prod", "--revision", "green", "--overwrite");
    assert.deepEqual([code, writes], [0, ["replace"]]);
    assert.equal(of("prod")?.metadata.labels?.["istio.io/rev"], "green");
  });

  it("writes a tag again that leads to the same revision", async () => {
    const { code, writes } = await tagCommand("set", "prod", "--revision", "blue");
    assert.deepEqual([code, writes], [0, ["replace"]]);
  });

  const refused = [
    { name: "another revision without --overwrite", args: ["prod", "--revision", "green"], err: /prod leads to blue/ },
    {
      name: "an unknown revision",
      args: ["canary", "--revision", "red"],
      err: /no webhook injects for the revision red/,
    },
    { name: "a revision without webhooks", args: ["canary", "--revision", "hollow"], err: /no webhook injects/ },
    { name: "the name of a revision", args: ["green", "--revision", "blue"], err: /green is a revision/ },
    { name: "no name of a tag", args: ["Not_a_tag", "--revision", "blue"], err: /is no name of a tag/ },
    { name: "no revision", args: ["canary"], err: /needs --revision/ },
  ];
  for (const { name, args, err: expected } of refused)
    it(`refuses ${name}`, async () => {
      const { code, err, writes } = await tagCommand("set", ...args);
      assert.notEqual(code, 0);
      assert.match(err, expected);
      assert.deepEqual(writes, []);
    });
});

describe("flotilla tag list", () => {
  it("prints tags in the order of their names, with the namespaces that use them", async () => {
    const { code, out } = await tagCommand("list");
    const rows = out
      .trim()
      .split("\n")
      .map((line) => line.split(/\s+/).filter(Boolean));
    assert.equal(code, 0);
    assert.deepEqual(rows, [
      ["TAG", "REVISION", "NAMESPACES"],
      ["old", "green"],
      ["prod", "blue", "bank,shop"],
    ]);
  });

  it("prints them as JSON", async () => {
    const { out } = await tagCommand("list", "-o", "json");
    assert.deepEqual(JSON.parse(out), [
      { tag: "old", revision: "green", namespaces: [] },
      { tag: "prod", revision: "blue", namespaces: ["bank", "shop"] },
    ]);
  });
});

describe("flotilla tag remove", () => {
  it("removes a tag that no namespace uses", async () => {
    const { code, out, of } = await tagCommand("remove", "old");
    assert.deepEqual([code, out, of("old")], [0, "old removed\n", undefined]);
  });

  it("takes the right to write it away with it", async () => {
    const labels = { "istio.io/rev": "own", "app.kubernetes.io/part-of": "flotilla" };
    const memory = createMemoryApi({ [`${path}/own`]: { ...revision("own"), metadata: { labels } } });
    await using server = await serveMemoryApi(memory);
    const roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles/flotilla-revision-tag-canary";
    const there: boolean[] = [];
    for (const args of [
      ["set", "canary", "--revision", "own"],
      ["remove", "canary"],
    ]) {
      assert.equal((await recordRun(["tag", ...args, "--kubeconfig", server.kubeconfig])).code, 0);
      there.push(memory.read(roles) !== undefined);
    }
    assert.deepEqual(there, [true, false]);
  });

  it("keeps one that namespaces use, unless that is allowed", async () => {
    const kept = await tagCommand("remove", "prod");
    assert.equal(kept.code, 3);
    assert.match(kept.err, /prod is used by bank, shop/);
    assert.notEqual(kept.of("prod"), undefined);
    const removed = await tagCommand("remove", "prod", "--while-used");
    assert.deepEqual([removed.code, removed.of("prod")], [0, undefined]);
  });

  it("says that there is none", async () => {
    const { code, err } = await tagCommand("remove", "nothing");
    assert.equal(code, 1);
    assert.match(err, /there is no tag nothing/);
  });
});
