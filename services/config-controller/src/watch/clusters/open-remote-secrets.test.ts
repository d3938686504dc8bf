/** The settings that select which Secrets are read, with API servers in memory behind HTTP. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { KubeError } from "@flotilla/kube-api";
import { createMemoryApi, type MemoryApi } from "@flotilla/kube-api/memory";
import { type MemoryServer, serveMemoryApi } from "@flotilla/kube-api/memory-server";
import { noopLogger, until } from "@flotilla/runtime";
import { CredentialUses } from "../../publish/credential-uses.ts";
import { readSettings } from "../../settings.ts";
import type { ConfigGroup } from "../config-source.ts";
import { openRemoteSecrets } from "./open-remote-secrets.ts";
import { secret, secretsOf, soon } from "./remote-secrets.fixture.ts";

/** It answers lists alone, and notes what it is asked for. */
async function serve(memory: MemoryApi): Promise<MemoryServer & { readonly asked: readonly string[] }> {
  const asked: string[] = [];
  memory.refusal = ({ path }) => {
    if (path.includes("watch=1")) return new KubeError("KUBE_REFUSED", "no watches", { status: 503 });
    asked.push(decodeURIComponent(path));
    return undefined;
  };
  return Object.assign(await serveMemoryApi(memory), { asked });
}

async function open(env: Readonly<Record<string, string>>, references = new CredentialUses()) {
  const options = { references, selectors: () => [], log: noopLogger, onProblems: () => undefined };
  return openRemoteSecrets(readSettings({ KUBERNETES_SERVICE_HOST: "", ...env }), options);
}

describe("reading Secrets of other clusters", () => {
  it("needs an own cluster, and may be switched off", async () => {
    await using home = await serve(createMemoryApi());
    const CLUSTER_KUBECONFIG = home.kubeconfig;
    assert.equal(await open({}), undefined);
    assert.equal(await open({ CLUSTER_KUBECONFIG, PILOT_ENABLE_REMOTE_CREDENTIALS_CONTROLLER: "false" }), undefined);
    assert.notEqual(await open({ CLUSTER_KUBECONFIG }), undefined);
  });

  for (const [watched, place, found] of [
    ["", "", ["bank/a%east", "shop/a%east"]],
    ["shop", "/namespaces/shop", ["shop/a%east"]],
    ["shop,depot", "", ["shop/a%east"]],
  ] as const)
    it(`asks for those of the namespaces ${JSON.stringify(watched)}, without those that Helm and Kubernetes make`, async () => {
      const stored = ["shop", "bank"].map((namespace) => [secretsOf(namespace, "a"), secret("one")] as const);
      await using east = await serve(createMemoryApi(Object.fromEntries(stored)));
      const kubeconfig = Buffer.from(await readFile(east.kubeconfig)).toString("base64");
      const remote = { metadata: { labels: { "istio/multiCluster": "true" } }, data: { east: kubeconfig } };
      await using home = await serve(createMemoryApi({ [secretsOf("mesh", "east")]: remote }));
      const references = new CredentialUses();
      const [key, spec] = [{ kind: "Gateway", namespace: "shop", name: "g" }, { credentialName: "a" }];
      references.note(key, { key, labels: {}, annotations: {}, creationTimeMs: 0, spec });
      const env = { CLUSTER_KUBECONFIG: home.kubeconfig, POD_NAMESPACE: "mesh", ISTIO_WATCH_NAMESPACE: watched };
      const source = (await open(env, references)) ?? assert.fail();
      references.markLoaded();
      const stop = new AbortController();
      const groups: ConfigGroup[] = [];
      const running = (async () => {
        for await (const group of source.groups(stop.signal)) groups.push(group);
      })();
      try {
        const names = () => groups.flatMap(({ changes }) => changes.map(({ key }) => `${key.namespace}/${key.name}`));
        await until(() => names().length >= found.length, soon("the Secrets"));
        assert.deepEqual(names().toSorted(), found);
        const path = `/api/v1${place}/secrets?fieldSelector=type!=helm.sh/release.v1,type!=kubernetes.io/service-account-token`;
        assert.ok(
          east.asked.some((one) => one.startsWith(path)),
          east.asked.join("\n"),
        );
      } finally {
        stop.abort();
        await running;
      }
    });
});
