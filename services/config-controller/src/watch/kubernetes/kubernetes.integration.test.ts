/** A real API server with the CRDs that the product ships. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { loadKubeConfig, openKubeApi } from "@flotilla/kube-api";
import { type RunningApiserver, startKubeApiserver, whyNoApiserver } from "@flotilla/kube-api/testing";
import { noopLogger, until } from "@flotilla/runtime";
import { parseAllDocuments } from "yaml";
import { configAdmission } from "../config-source.ts";
import { kubernetesConfig } from "./kubernetes-source.ts";

const server: RunningApiserver | undefined = await startKubeApiserver(process.env);
after(() => server?.[Symbol.asyncDispose]());

const crds = fileURLToPath(new URL("../../../../../packages/kinds/crds/istio.yaml", import.meta.url));
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const virtualServices = "/apis/networking.istio.io/v1/namespaces/default/virtualservices";

describe("configuration from a real API server", { skip: server === undefined && whyNoApiserver }, () => {
  it("CRDs that appear, objects that come, change and go", { timeout: 180_000 }, async () => {
    assert.ok(server !== undefined);
    const { api, kubeconfig } = server;
    const config = await loadKubeConfig({ KUBECONFIG: kubeconfig });
    assert.ok(config !== undefined);
    await using source = kubernetesConfig({
      ...{ api: openKubeApi(config), admission: configAdmission(), revision: "default", log: noopLogger },
      ...{ nowMs: Date.now, random: Math.random, onProblems: () => undefined, discoverMs: 500 },
    });
    const stop = new AbortController();
    const held = new Map<string, unknown>();
    let isRead = false;
    const running = (async () => {
      for await (const { changes } of source.groups(stop.signal)) {
        isRead = true;
        for (const { key, ...change } of changes) {
          const name = `${key.kind}/${key.name}`;
          if (change.op === "put" && "value" in change) held.set(name, change.value.spec);
          else held.delete(name);
        }
      }
    })();
    const soon = (what: string) => ({ withinMs: 60_000, what });
    await until(() => isRead, soon("what Kubernetes itself has"));
    assert.ok(held.has("Namespace/default"));

    for (const document of parseAllDocuments(await readFile(crds, "utf8"))) {
      const definition: unknown = document.toJS();
      if (definition !== null) await api.create(definitions, definition);
    }
    const object = (host: string) => ({
      apiVersion: "networking.istio.io/v1",
      kind: "VirtualService",
      metadata: { name: "web", namespace: "default" },
      spec: { hosts: [host], http: [{ route: [{ destination: { host } }] }] },
    });
    const create = () =>
      api.create(virtualServices, object("one")).then(
        () => true,
        () => false,
      );
    await until(create, { ...soon("the CRD to be served"), everyMs: 200 });
    const hosts = () => (held.get("VirtualService/web") as { readonly hosts?: readonly string[] } | undefined)?.hosts;
    await until(() => hosts()?.[0] === "one", soon("the object"));

    const stored = await api.get(`${virtualServices}/web`);
    await api.replace(`${virtualServices}/web`, { ...object("two"), metadata: stored?.metadata });
    await until(() => hosts()?.[0] === "two", soon("the change"));
    await api.delete(`${virtualServices}/web`);
    await until(() => !held.has("VirtualService/web"), soon("the object to go"));
    stop.abort();
    await running;
  });
});
