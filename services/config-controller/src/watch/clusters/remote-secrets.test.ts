/** Secrets of clusters whose API servers are in memory; test/integration/src/cluster-secrets.integration.test.ts has real ones. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { KubeError } from "@flotilla/kube-api";
import { until } from "@flotilla/runtime";
import { aCluster, Stage, secret, secretsOf, soon } from "./remote-secrets.fixture.ts";

describe("Secrets of other clusters", () => {
  it("are read once the references are known, and only those that objects refer to", async () => {
    const east = aCluster({
      "shop/pair": "east",
      "shop/pair-cacert": "roots",
      "bank/pair": "bank",
      "shop/other": "no",
    });
    await using stage = new Stage({ east });
    stage.name("east");
    stage.refer("g", "pair");
    await until(() => stage.groups.length === 1, soon("the first group, which waits for nothing"));
    assert.deepEqual([stage.groups.splice(0)[0]?.changes, stage.lines], [[], []]);
    stage.uses.markLoaded();
    assert.deepEqual((await stage.next()).toSorted(), [
      ...["put bank/pair%east bank", "put shop/pair%east east", "put shop/pair-cacert%east roots"],
    ]);
  });

  it("follow what refers to them, their changes and their ends", async () => {
    const east = aCluster({ "shop/a": "one", "shop/b": "two" });
    await using stage = new Stage({ east });
    stage.name("east");
    stage.refer("g", "a");
    stage.uses.markLoaded();
    assert.deepEqual(await stage.next(), ["put shop/a%east one"]);
    east.put(secretsOf("shop", "a"), secret("three"));
    assert.deepEqual(await stage.next(), ["put shop/a%east three"]);
    stage.refer("g", "b");
    assert.deepEqual((await stage.next()).toSorted(), ["delete shop/a%east", "put shop/b%east two"]);
    east.put(secretsOf("shop", "a"), secret("four"));
    east.remove(secretsOf("shop", "b"));
    assert.deepEqual(await stage.next(), ["delete shop/b%east"]);
    stage.refer("g", "a");
    assert.deepEqual(await stage.next(), ["put shop/a%east four"]);
  });

  it("of several clusters stand side by side, and end with their cluster", async () => {
    const [east, west] = [aCluster({ "shop/a": "east" }), aCluster({ "shop/a": "west" })];
    await using stage = new Stage({ east, west });
    stage.refer("g", "a");
    stage.uses.markLoaded();
    stage.name("east", "far/west=west");
    await until(() => stage.groups.flatMap(({ changes }) => changes).length === 2, soon("both"));
    assert.deepEqual((await stage.next()).toSorted(), ["put shop/a%east east", "put shop/a%far%2Fwest west"]);
    stage.name("east");
    assert.deepEqual(await stage.next(), ["delete shop/a%far%2Fwest"]);
    assert.deepEqual([...stage.source.away()], [["east", undefined]]);
    assert.ok(stage.lines.includes("info secrets of the cluster no longer read far/west"));
  });

  it("of a cluster that was not read are left as they are published, those of a cluster that is none are not", async () => {
    const east = aCluster({});
    let isAway = true;
    east.refusal = () => (isAway ? new KubeError("KUBE_AWAY", "no way there") : undefined);
    await using stage = new Stage({ east });
    const isKept = (cluster: string, kind = "Secret") =>
      stage.source.isIncomplete({ kind, namespace: "shop", name: `a%${cluster}` });
    assert.deepEqual([isKept("east"), isKept("west"), isKept("east", "ConfigMap")], [true, true, false]);
    stage.name("east", "broken");
    stage.uses.markLoaded();
    await until(() => !isKept("west"), soon("the clusters to be known"));
    assert.deepEqual([isKept("east"), isKept("broken")], [true, true]);
    assert.equal(stage.source.isIncomplete({ kind: "Secret", namespace: "shop", name: "a" }), false);
    await until(() => stage.problems().length === 2, soon("the problems"));
    assert.match(
      stage.problems().join("\n"),
      /broken data\[broken\] is no kubeconfig\nCluster\/east its Secrets .* none were read yet: .*no way/,
    );
    assert.deepEqual(stage.lines.slice(-1), [
      "warn secrets of the cluster cannot be read, those read before stay in force east",
    ]);
    isAway = false;
    await until(() => !isKept("east"), soon("the cluster to be read"));
    await until(() => stage.problems().length === 1, soon("the end of the problem"));
    assert.equal(stage.groups.filter(({ isComplete }) => isComplete === true).length, 2);
    assert.ok(stage.lines.includes("info secrets of the cluster can be read again east"));
  });

  it("stay while their cluster is away, and while its new credentials do not work", async () => {
    const [east, moved, refusing] = [aCluster({ "shop/a": "one" }), aCluster({ "shop/a": "two" }), aCluster({})];
    refusing.refusal = () => new KubeError("KUBE_REFUSED", "not you", { status: 403 });
    await using stage = new Stage({ east, moved, refusing });
    stage.refer("g", "a");
    stage.uses.markLoaded();
    stage.name("east");
    assert.deepEqual(await stage.next(), ["put shop/a%east one"]);
    stage.name("east=refusing");
    await until(() => stage.problems().length > 0, soon("the refusal"));
    assert.match(
      stage.problems().join(),
      /Cluster\/east its Secrets cannot be read with the new credentials, .*not you/,
    );
    stage.name("east=broken");
    await until(() => stage.problems().length > 1, soon("the kubeconfig to be refused"));
    east.put(secretsOf("shop", "a"), secret("three"));
    assert.deepEqual(await stage.next(), ["put shop/a%east three"]);
    stage.name("east=moved");
    assert.deepEqual(await stage.next(), ["put shop/a%east two"]);
    assert.deepEqual(stage.problems(), []);
  });

  it("with the name of another cluster's are not read, which is reported, and others are", async () => {
    const east = aCluster({ "shop/a%west": "for west", "shop/a": "good" });
    await using stage = new Stage({ east });
    stage.refer("g", "a", "a%west", "b%west");
    stage.uses.markLoaded();
    stage.name("east");
    assert.deepEqual(await stage.next(), ["put shop/a%east good"]);
    const problem = (name: string) =>
      `Cluster/east its Secret "shop/${name}%west" is not read: a name must not contain "%"`;
    assert.deepEqual(stage.problems(), [problem("a")]);
    east.put(secretsOf("shop", "b%west"), secret("for west"));
    await until(() => stage.problems().length === 2, soon("the second one"));
    assert.deepEqual(stage.problems(), [problem("a"), problem("b")]);
    for (const name of ["a%west", "b%west"]) east.remove(secretsOf("shop", name));
    await until(() => stage.problems().length === 0, soon("the end of the problems"));
    assert.deepEqual(
      stage.groups.flatMap(({ changes }) => changes),
      [],
    );
  });

  it("of a new reference are read again and again while that fails, unless the reference ends", async () => {
    const east = aCluster({ "shop/a": "one", "shop/b": "two" });
    let [isAway, asked] = [true, 0];
    east.refusal = ({ verb, path }) => {
      if (verb !== "get" || path.includes("?")) return undefined;
      asked++;
      return isAway ? new KubeError("KUBE_AWAY", "not now") : undefined;
    };
    await using stage = new Stage({ east });
    stage.uses.markLoaded();
    stage.name("east");
    await until(
      () => !stage.source.isIncomplete({ kind: "Secret", namespace: "shop", name: "a%east" }),
      soon("the list"),
    );
    stage.refer("g", "a");
    stage.refer("h", "b");
    await until(() => asked >= 2, soon("two attempts"));
    stage.refer("h");
    isAway = false;
    assert.deepEqual(await stage.next(), ["put shop/a%east one"]);
  });

  it("of a new reference are asked for again where the answer is another object, or none", async () => {
    const east = aCluster({ "shop/a": "one" });
    const answers: unknown[] = [{ page: "of a proxy" }, { metadata: { name: "b%west", namespace: "shop" } }];
    const get = async (path: string, stop?: AbortSignal) =>
      (path.includes("?") || answers.length === 0 ? east.api.get(path, stop) : answers.shift()) as never;
    await using stage = new Stage({ east: { ...east, api: { ...east.api, get } } });
    stage.uses.markLoaded();
    stage.name("east");
    const isListed = () => !stage.source.isIncomplete({ kind: "Secret", namespace: "shop", name: "a%east" });
    await until(isListed, soon("the list"));
    stage.refer("g", "a");
    assert.deepEqual(await stage.next(), ["put shop/a%east one"]);
    assert.deepEqual(answers, []);
  });

  it("of namespaces that are not watched do not count", async () => {
    const east = aCluster({ "shop/a": "one", "bank/a": "two" });
    await using stage = new Stage({ east }, (namespace) => namespace !== "bank");
    stage.refer("g", "a");
    stage.uses.markLoaded();
    stage.name("east");
    assert.deepEqual(await stage.next(), ["put shop/a%east one"]);
  });

  it("are those of namespaces that discoverySelectors select there", async () => {
    const east = aCluster({ "shop/a": "one", "bank/a": "two" });
    const label = (namespace: string, labels: Readonly<Record<string, string>>) =>
      east.put(`/api/v1/namespaces/${namespace}`, { metadata: { labels } });
    label("shop", { mesh: "yes" });
    label("bank", {});
    await using stage = new Stage({ east });
    stage.refer("g", "a");
    stage.select("mesh");
    stage.uses.markLoaded();
    stage.name("east");
    assert.deepEqual(await stage.next(), ["put shop/a%east one"]);
    label("bank", { mesh: "yes" });
    assert.deepEqual(await stage.next(), ["put bank/a%east two"]);
    label("shop", {});
    assert.deepEqual(await stage.next(), ["delete shop/a%east"]);
    stage.select(undefined);
    assert.deepEqual(await stage.next(), ["put shop/a%east one"]);
    stage.select("other");
    assert.deepEqual((await stage.next()).toSorted(), ["delete bank/a%east", "delete shop/a%east"]);
  });

  it("wait for the namespaces where these are selected, and not otherwise", async () => {
    const east = aCluster({ "shop/a": "one" });
    const namespaces = "/api/v1/namespaces?";
    east.refusal = ({ path }) =>
      path.startsWith(namespaces) ? new KubeError("KUBE_REFUSED", "no namespaces for you", { status: 403 }) : undefined;
    await using stage = new Stage({ east });
    stage.refer("g", "a");
    stage.select("mesh");
    stage.uses.markLoaded();
    stage.name("east");
    await until(() => stage.problems().length === 1, soon("the problem"));
    assert.match(stage.problems().join(), /none were read yet: .*no namespaces for you/);
    stage.select(undefined);
    assert.deepEqual(await stage.next(), ["put shop/a%east one"]);
    await until(() => stage.problems().length === 0, soon("the end of the problem"));
  });
});
