/**
 * Gateways of two clusters, each a real kube-apiserver, and their certificates: those of their own cluster, else those of the control plane's,
 * by rights that their own cluster gives.
 */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { openLocalIssuer } from "@flotilla/auth";
import { allReady, type ControlPlane, startControlPlane } from "@flotilla/cli/testing";
import type { KubeApi, KubeObject } from "@flotilla/kube-api";
import { type RunningApiserver, startKubeApiserver, whyNoApiserver } from "@flotilla/kube-api/testing";
import { until } from "@flotilla/runtime";
import { freePorts } from "@flotilla/servers";
import { createTestAuthority, type KeyPair, type TestAuthority } from "@flotilla/testkit";
import { credentials, deleteRemoteSecret, namespace, setRemoteSecret } from "./clusters/remote-cluster.ts";
import { SecretWatcher } from "./clusters/secret-watcher.ts";

const own: RunningApiserver | undefined = await startKubeApiserver(process.env);
const remote: RunningApiserver | undefined = own && (await startKubeApiserver(process.env));
const secrets = "/api/v1/namespaces/shop/secrets";
const rights = "/apis/rbac.authorization.k8s.io/v1/namespaces/shop";

/** Names of pairs, so that a failure is readable. */
const names = new Map<string | undefined, string>([[undefined, "none"]]);

async function setPair(api: KubeApi, name: string, pair: KeyPair, more: Readonly<Record<string, string>> = {}) {
  const data = Object.fromEntries(
    Object.entries({ "tls.crt": pair.certificatePem, "tls.key": pair.keyPem, ...more }).map(([field, text]) => [
      field,
      Buffer.from(text).toString("base64"),
    ]),
  );
  const there = await api.get<KubeObject>(`${secrets}/${name}`);
  if (there === undefined) await api.create(secrets, { metadata: { name }, type: "Opaque", data });
  else await api.replace(`${secrets}/${name}`, { ...there, data });
}

/** The account may list the Secrets of the namespace shop. */
async function grant(api: KubeApi, account: string): Promise<void> {
  const rules = [{ apiGroups: [""], resources: ["secrets"], verbs: ["get", "list", "watch"] }];
  await api.create(`${rights}/roles`, { metadata: { name: account }, rules });
  await api.create(`${rights}/rolebindings`, {
    metadata: { name: account },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: account },
    subjects: [{ kind: "ServiceAccount", name: account, namespace: "shop" }],
  });
}

const gateway = (...credentialNames: readonly string[]) => ({
  ...{ apiVersion: "networking.istio.io/v1", kind: "Gateway", metadata: { name: "edge", namespace: "shop" } },
  spec: {
    selector: { app: "edge" },
    servers: credentialNames.map((credentialName) => ({
      ...{ port: { number: 443, name: credentialName, protocol: "HTTPS" }, hosts: [`${credentialName}.example`] },
      tls: { mode: "MUTUAL", credentialName },
    })),
  },
});

describe("certificates of gateways of several clusters", { skip: own === undefined && whyNoApiserver }, () => {
  const workDir = mkdtempSync(join(tmpdir(), "flotilla-cluster-secrets-"));
  const config = mkdtempSync(join(tmpdir(), "flotilla-cluster-secrets-config-"));
  const stop = new AbortController();
  const owned = new AsyncDisposableStack();
  let [plane, authority] = [undefined as unknown as ControlPlane, undefined as unknown as TestAuthority];
  const apis = (): readonly [home: KubeApi, east: KubeApi] => {
    assert.ok(own !== undefined && remote !== undefined);
    return [own.api, remote.api];
  };

  async function newPair(name: string): Promise<KeyPair> {
    const pair = await authority.keyPair();
    names.set(pair.certificatePem, name);
    return pair;
  }

  before(async () => {
    authority = await createTestAuthority();
    names.set(authority.rootPem, "roots");
    const [home, east] = apis();
    for (const api of [home, east]) {
      for (const name of ["istio-system", "shop"]) await namespace(api, name);
      await grant(api, "edge");
    }
    await grant(home, "home-only");
    await setPair(home, "pair", await newPair("home"));
    await setPair(home, "other", await newPair("other of home"), { "ca.crt": authority.rootPem });
    await setPair(east, "pair", await newPair("east"));
    await setPair(east, "late", await newPair("late of east"));
    writeFileSync(join(config, "gateway.json"), JSON.stringify(gateway("pair", "other")));
    assert.ok(own !== undefined);
    const settings = { CLUSTER_KUBECONFIG: own.kubeconfig, CLUSTER_ALIASES: "old-east=east", LOG_LEVEL: "info" };
    const options = { embedded: false, config, mesh: undefined, networks: undefined, settings, workDir };
    const firstPort = await freePorts(12);
    plane = owned.use(
      await startControlPlane({ options: { ...options, firstPort }, logs: "files", onProgress: () => undefined }),
    );
    await allReady(plane, 90_000, () => undefined, stop.signal);
    assert.ok(remote !== undefined);
    await setRemoteSecret(home, "east", await credentials(remote, "flotilla-reader"));
  });
  after(async () => {
    stop.abort();
    await owned.disposeAsync();
    await remote?.[Symbol.asyncDispose]();
    await own?.[Symbol.asyncDispose]();
    for (const directory of [workDir, config]) rmSync(directory, { recursive: true, force: true });
  });

  async function gatewayOf(cluster: string, serviceAccount = "edge"): Promise<SecretWatcher> {
    const token = await (await openLocalIssuer(workDir)).mintToken({ namespace: "shop", serviceAccount });
    const watcher = new SecretWatcher({
      ...{ token, cluster, serviceAccount, names: ["pair", "other", "other-cacert", "late"] },
      address: `127.0.0.1:${plane.layout.ports.xdsTls}`,
      rootsPem: readFileSync(join(workDir, "root-cert.pem"), "utf8"),
    });
    return owned.use(watcher);
  }

  const holds = (watcher: SecretWatcher, expected: Readonly<Record<string, string>>) =>
    until(
      () => {
        const held = Object.keys(expected).map((name) => names.get(watcher.pemOf(name)) ?? "unknown");
        if (held.join() === Object.values(expected).join()) return true;
        throw new Error(`it has ${held}`);
      },
      { withinMs: 60_000, what: `it to have ${JSON.stringify(expected)}` },
    );

  const healthUrlOf = (service: string) => plane.services.find(({ name }) => name === service)?.healthUrl ?? "";
  const textOf = async (service: string, path: string) => (await fetch(`${healthUrlOf(service)}${path}`)).text();
  const logOf = (service: string) => readFileSync(join(workDir, "logs", `${service}.log`), "utf8");

  let [ofHome, ofEast] = [undefined as unknown as SecretWatcher, undefined as unknown as SecretWatcher];

  it("are those of their cluster, else the control plane's", async () => {
    [ofHome, ofEast] = [await gatewayOf("Kubernetes"), await gatewayOf("east")];
    await holds(ofHome, { pair: "home", other: "other of home", "other-cacert": "roots", late: "none" });
    await holds(ofEast, { pair: "east", other: "other of home", "other-cacert": "roots", late: "none" });
    await holds(await gatewayOf("old-east"), { pair: "east" });
  });

  it("follow changes and ends in their cluster, and new references", async () => {
    const [home, east] = apis();
    await setPair(east, "pair", await newPair("east again"));
    await holds(ofEast, { pair: "east again" });
    await setPair(home, "pair", await newPair("home again"));
    await holds(ofHome, { pair: "home again" });
    writeFileSync(join(config, "gateway.json"), JSON.stringify(gateway("pair", "other", "late")));
    await holds(ofEast, { pair: "east again", late: "late of east" });
    await east.delete(`${secrets}/pair`);
    await holds(ofEast, { pair: "home again", late: "late of east" });
    await setPair(east, "pair", await newPair("east anew"));
    await holds(ofEast, { pair: "east anew" });
    await holds(ofHome, { pair: "home again", late: "none" });
  });

  it("need a right that their own cluster gives", async () => {
    await holds(await gatewayOf("Kubernetes", "home-only"), { pair: "home again", other: "other of home" });
    const refused = await gatewayOf("east", "home-only");
    await holds(refused, { "other-cacert": "roots", pair: "none", other: "none" });
    assert.match(logOf("xds-server"), /"account":"shop\/home-only","cluster":"east","msg":"the account may not read/);
  });

  it("are none for gateways of an unknown cluster", async () => {
    const stranger = await gatewayOf("west");
    const isLogged = () => /"cluster":"west","msg":"proxies of an unknown cluster/.test(logOf("xds-server"));
    await until(isLogged, { withinMs: 60_000, what: "the line of the log" });
    await holds(stranger, { pair: "none", other: "none", "other-cacert": "none" });
  });

  it("stay where a broken pair comes, which is named with its cluster", async () => {
    const [, east] = apis();
    const good = await newPair("another");
    await setPair(east, "pair", { ...good, keyPem: (await newPair("third")).keyPem });
    const problem =
      /"object":"Secret\/shop\/pair%east","field":"data\[tls.key\]","reason":"is not the key.*in cluster east/;
    const isNamed = () => problem.test(logOf("config-controller"));
    await until(isNamed, { withinMs: 60_000, what: "the problem" });
    await holds(ofEast, { pair: "east anew" });
    await setPair(east, "pair", good);
    await holds(ofEast, { pair: "another" });
  });

  it("stay while their cluster cannot be reached, over a restart, too, and others go on", async () => {
    const [home] = apis();
    await remote?.[Symbol.asyncDispose]();
    const away = async () =>
      /flotilla_cluster_away_seconds\{cluster="east"\} [1-9]/.test(await textOf("config-controller", "/metrics"));
    await until(away, { withinMs: 60_000, what: "the metric", everyMs: 200 });
    assert.match(logOf("config-controller"), /"cluster":"east",.*"msg":"secrets of the cluster cannot be read/);
    const controller = plane.services.find(({ name }) => name === "config-controller");
    assert.ok(controller?.pid !== undefined);
    process.kill(controller.pid, "SIGKILL");
    await setPair(home, "pair", await newPair("home at last"));
    await holds(ofHome, { pair: "home at last" });
    await holds(ofEast, { pair: "another", late: "late of east", other: "other of home" });
  });

  it("are sent no more when their cluster is left: a gateway keeps those that it has", async () => {
    const [home] = apis();
    await deleteRemoteSecret(home, "east");
    const isGone = async () => !(await textOf("config-controller", "/metrics")).includes('cluster="east"');
    await until(isGone, { withinMs: 60_000, what: "the cluster to be left" });
    await setPair(home, "pair", await newPair("home after all"));
    await setPair(home, "other", await newPair("other after all"));
    await holds(ofHome, { pair: "home after all", other: "other after all" });
    await holds(ofEast, { pair: "another", late: "late of east", other: "other of home" });
    await holds(await gatewayOf("east"), { pair: "none", other: "none", "other-cacert": "none" });
  });
});
