import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { type KubeApi, KubeError } from "@flotilla/kube-api";
import { createMemoryApi } from "@flotilla/kube-api/memory";
import { until } from "@flotilla/runtime";
import { RemoteFiles, RemoteSecrets } from "./remote-secrets.ts";

const soon = (what: string) => ({ withinMs: 60_000, what });
const secret = (name: string, data = "") => ({
  ...{ apiVersion: "v1", kind: "Secret", data: { kubeconfig: data } },
  metadata: { name, namespace: "mesh", labels: { "istio/multiCluster": "true" } },
});
const path = (name: string) => `/api/v1/namespaces/mesh/secrets/${name}`;

it("Secrets of clusters are followed, each change with its event, and kept while the API server is away", async () => {
  const memory = createMemoryApi({ [path("a")]: secret("a"), [path("b")]: secret("b") });
  const events: string[] = [];
  let changes = 0;
  const secrets = new RemoteSecrets({
    ...{ api: memory.api, namespace: "mesh", random: () => 0, onSecret: (event) => events.push(event) },
    ...{ onChange: () => changes++, onState: () => undefined },
  });
  assert.deepEqual([secrets.isRead, secrets.all(), secrets.away], [false, [], undefined]);
  const stop = new AbortController();
  const following = secrets.follow(stop.signal);
  await until(() => secrets.isRead, soon("the list"));
  const names = () =>
    secrets
      .all()
      .map(({ metadata }) => metadata.name)
      .toSorted();
  assert.deepEqual([names(), events, changes], [["a", "b"], ["add", "add"], 1]);
  memory.put(path("a"), secret("a", "new"));
  await until(() => events.length === 3, soon("the update"));
  memory.put(path("c"), secret("c"));
  await until(() => events.length === 4, soon("the new one"));
  memory.remove(path("b"));
  await until(() => events.length === 5, soon("the removal"));
  assert.deepEqual(
    [names(), events.slice(2)],
    [
      ["a", "c"],
      ["update", "add", "delete"],
    ],
  );
  assert.ok(changes >= 4);
  stop.abort();
  await following;
});

it("Secrets that are listed anew change only where they differ: one that is still there is no new one", async () => {
  const memory = createMemoryApi({ [path("a")]: secret("a"), [path("b")]: secret("b") });
  const isTooOld = Promise.withResolvers<void>();
  let watches = 0;
  const lines: KubeApi["lines"] = async function* (asked, stop, onOpen) {
    if (watches++ > 0) return yield* memory.api.lines(asked, stop, onOpen);
    onOpen?.();
    await isTooOld.promise;
    yield { type: "ERROR", object: { code: 410, message: "too old", metadata: {} } };
  };
  const events: string[] = [];
  const secrets = new RemoteSecrets({
    ...{ api: { ...memory.api, lines }, namespace: "mesh", random: () => 0, onSecret: (event) => events.push(event) },
    ...{ onChange: () => undefined, onState: () => undefined },
  });
  const stop = new AbortController();
  const following = secrets.follow(stop.signal);
  await until(() => events.length === 2, soon("the list"));
  memory.remove(path("b"));
  memory.put(path("c"), secret("c"));
  isTooOld.resolve();
  await until(() => events.length === 5, soon("the new list"));
  assert.deepEqual(events.slice(2), ["delete", "update", "add"]);
  const names = secrets.all().map(({ metadata }) => metadata.name);
  assert.deepEqual(names, ["a", "c"]);
  stop.abort();
  await following;
});

it("Secrets that cannot be read have the reason, and none is known", async () => {
  const memory = createMemoryApi();
  memory.refusal = () => new KubeError("KUBE_REFUSED", "secrets is forbidden");
  const secrets = new RemoteSecrets({
    api: memory.api,
    namespace: "mesh",
    random: () => 0,
    onChange: () => undefined,
    onState: () => undefined,
  });
  const stop = new AbortController();
  const following = secrets.follow(stop.signal);
  await until(() => secrets.away !== undefined, soon("the reason"));
  assert.match(secrets.away ?? "", /secrets is forbidden/);
  assert.equal(secrets.isRead, false);
  stop.abort();
  await following;
});

it("files of clusters are followed like Secrets, and kept while the directory cannot be read", async () => {
  const directory = await mkdtemp(join(tmpdir(), "remote-files-"));
  const kubeconfig = (server: string) =>
    JSON.stringify({
      ...{ clusters: [{ name: "east", cluster: { server } }], users: [{ name: "u", user: { token: "t" } }] },
      ...{ contexts: [{ name: "x", context: { cluster: "east", user: "u" } }], "current-context": "x" },
    });
  await writeFile(join(directory, "a"), kubeconfig("https://one"));
  await writeFile(join(directory, ".hidden"), "no kubeconfig");
  const events: string[] = [];
  const files = new RemoteFiles(directory, {
    ...{ onSecret: (event) => void events.push(event), onChange: () => undefined, onState: () => undefined },
  });
  const stop = new AbortController();
  const following = files.follow(stop.signal);
  const servers = () =>
    [...files.clusters({ ownCluster: "own" }).clusters.values()].map(({ config }) => config?.server);
  await until(() => files.isRead, soon("the files"));
  assert.deepEqual([servers(), events], [["https://one"], ["add"]]);
  await writeFile(join(directory, "a"), kubeconfig("https://two"));
  await until(() => events.length === 2, soon("the update"));
  assert.deepEqual([servers(), events[1]], [["https://two"], "update"]);
  await rm(directory, { recursive: true });
  await until(() => files.away !== undefined, soon("the reason"));
  assert.match(files.away ?? "", /ENOENT/);
  assert.deepEqual(servers(), ["https://two"]);
  stop.abort();
  await following;
});
