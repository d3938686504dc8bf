/**
 * ca with a real kube-apiserver: tokens are reviewed, the root lies in a Secret that replicas share, its certificate is in every
 * namespace, and signers of the cluster sign.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { requestFromSigner, type SignerCall } from "@flotilla/auth/cluster";
import {
  followKeyPair,
  type KeyPair,
  keyPairSourceOf,
  requestCertificate,
  type TlsMaterial,
} from "@flotilla/auth/serving";
import { follow, type KubeApi, type KubeObject } from "@flotilla/kube-api";
import { type RunningApiserver, startKubeApiserver, whyNoApiserver } from "@flotilla/kube-api/testing";
import {
  certificatePem,
  encodePem,
  generatePrivateKey,
  issueLeaf,
  issueRoot,
  issuerOf,
  parseCertificatePem,
  parseCsrPem,
  rootId,
} from "@flotilla/pki";
import { noopLogger, until } from "@flotilla/runtime";
import { type RunningCa, serverName, startCa } from "../main.fixture.ts";
import { secretStore } from "./secret-store.ts";

const server: RunningApiserver | undefined = await startKubeApiserver(process.env);
const stop = new AbortController();
const signerKey = await generatePrivateKey("ecdsa-p256");
const times = { notBeforeMs: Date.now() - 60_000, notAfterMs: Date.now() + 86_400_000 };
const signerRoot = issueRoot({ serial: Buffer.alloc(16, 9), subject: { organization: "signer" }, ...times }, signerKey);
let running: RunningCa[] = [];
let directory = "";

interface Secret extends KubeObject {
  readonly type?: string;
  readonly data: Readonly<Record<string, string>>;
}
interface ConfigMap extends KubeObject {
  readonly data: Readonly<Record<string, string>>;
}
interface Request extends KubeObject {
  readonly spec: { readonly request: string; readonly signerName: string };
  readonly status?: { readonly conditions?: readonly { readonly type: string }[]; readonly certificate?: string };
}

function api(): KubeApi {
  assert.ok(server !== undefined);
  return server.api;
}

async function start(env: Readonly<Record<string, string>> = {}): Promise<RunningCa> {
  const ca = await startCa({ CLUSTER_KUBECONFIG: server?.kubeconfig ?? "", ...env });
  running.push(ca);
  return ca;
}

async function tokenOf(account: string, audience = "istio-ca"): Promise<string> {
  const path = `/api/v1/namespaces/shop/serviceaccounts/${account}/token`;
  const made = await api().create<{ readonly status: { readonly token: string } }>(path, {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: { audiences: [audience] },
  });
  return made.status.token;
}

function ask(ca: RunningCa, token: string, more: { readonly names?: readonly string[] } = {}): Promise<TlsMaterial> {
  return requestCertificate({
    address: `127.0.0.1:${ca.grpc}`,
    serverName,
    rootsPem: ca.rootsPem,
    proof: { token },
    names: more.names ?? [],
    keyType: "ecdsa-p256",
    ttlMs: 600_000,
  });
}

const rootMap = (namespace: string) =>
  api().get<ConfigMap>(`/api/v1/namespaces/${namespace}/configmaps/istio-ca-root-cert`);

/** Stands in for cert-manager or another controller: signs the requests that are approved for its signer. */
async function signApproved(signer: string, end = stop.signal, notAfterMs = times.notAfterMs): Promise<void> {
  const path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
  for await (const all of follow<Request>(api(), path, { log: noopLogger, random: Math.random }, end)) {
    for (const request of all) {
      const { conditions = [], certificate } = request.status ?? {};
      if (request.spec.signerName !== signer || certificate !== undefined) continue;
      if (!conditions.some(({ type }) => type === "Approved")) continue;
      const csr = parseCsrPem(Buffer.from(request.spec.request, "base64").toString());
      const isEvil = csr.sans.some(({ value }) => value.endsWith("/evil"));
      const sans = isEvil ? [{ type: "uri", value: "spiffe://cluster.local/ns/shop/sa/other" } as const] : csr.sans;
      const leaf = issueLeaf(
        { serial: Buffer.alloc(16, 8), spki: csr.spki, sans, ...times, notAfterMs },
        issuerOf(signerRoot, signerKey),
      );
      const status = { ...request.status, certificate: Buffer.from(encodePem("CERTIFICATE", leaf)).toString("base64") };
      await api().replace(`${path}/${request.metadata.name}/status`, { ...request, status });
    }
  }
}

before(async () => {
  if (server === undefined) return;
  directory = await mkdtemp(join(tmpdir(), "ca-kubernetes-"));
  for (const name of ["istio-system", "shop"]) await api().create("/api/v1/namespaces", { metadata: { name } });
  for (const name of ["web", "evil"])
    await api().create("/api/v1/namespaces/shop/serviceaccounts", { metadata: { namespace: "shop", name } });
});
after(async () => {
  stop.abort();
  for (const ca of running) await ca[Symbol.asyncDispose]();
  running = [];
  await server?.[Symbol.asyncDispose]();
  if (directory !== "") await rm(directory, { recursive: true });
});

describe("ca in a cluster", { skip: server === undefined && whyNoApiserver }, () => {
  it("issues for the account of a token that the API server confirms, and for no other", async () => {
    const ca = await start();
    const { chainPem } = await ask(ca, await tokenOf("web"));
    assert.deepEqual(
      parseCertificatePem(chainPem).sans.map(({ value }) => value),
      ["spiffe://cluster.local/ns/shop/sa/web"],
    );
    assert.equal(ca.lines.find(({ msg }) => msg === "certificate issued")?.["authenticator"], "token-review");
    const good = await tokenOf("web");
    const forged = `${good.slice(0, -8)}AAAAAAAA`;
    for (const token of [forged, await tokenOf("web", "other"), "x.y.z"])
      await assert.rejects(ask(ca, token), /UNAUTHENTICATED/);
  });

  it("keeps its root in a Secret, which replicas share and a restart finds again", async () => {
    const [first = await start()] = running;
    const second = await start();
    assert.equal(second.rootsPem, first.rootsPem);
    const secret = await api().get<Secret>("/api/v1/namespaces/istio-system/secrets/istio-ca-secret");
    assert.equal(secret?.type, "istio.io/ca-root");
    assert.equal(Buffer.from(secret?.data["ca-cert.pem"] ?? "", "base64").toString(), first.rootsPem);
    const both = [await ask(first, await tokenOf("web")), await ask(second, await tokenOf("web"))];
    assert.equal(both[0]?.rootsPem, both[1]?.rootsPem);
  });

  it("a next root lies beside it and comes into use by one write of any replica", async () => {
    const at = { api: api(), namespace: "shop", name: "roots" };
    const [a, b] = [secretStore(at), secretStore(at)];
    const options = { keyType: "ecdsa-p256", ttlMs: 3_600_000, trustDomain: "td" } as const;
    const now = Date.now();
    const [first, same] = await Promise.all([a.open(options, now), b.open(options, now)]);
    assert.deepEqual(first, same);
    assert.equal(await a.next(options, now), undefined);
    const [next, again] = await Promise.all([a.makeNext(options, now), b.makeNext(options, now)]);
    assert.deepEqual(next, again);
    const renewed = await b.renew(options, 20, now + 3_500_000);
    assert.equal(renewed.keyPem, first.keyPem);
    assert.notEqual(renewed.certificatePem, first.certificatePem);
    await Promise.all([a.promote(), b.promote()]);
    assert.deepEqual(await b.open(options, now), next);
    assert.equal(await b.next(options, now), undefined);
    const { certificatePem: dropped } = await a.makeNext(options, now);
    await b.dropNext(rootId(parseCertificatePem(dropped)));
    await a.promote();
    assert.deepEqual(await a.open(options, now), next);
    const seeded = secretStore({ ...at, name: "seeded", seed: () => Promise.resolve(first) });
    assert.deepEqual(await seeded.open(options, now), first);
  });

  it("writes the roots to every namespace, new ones too, and repairs what is deleted or edited", async () => {
    const [ca = await start()] = running;
    const isRight = async (namespace: string) => {
      const map = await rootMap(namespace);
      return map?.data["root-cert.pem"] === ca.rootsPem && map.metadata.labels?.["istio.io/config"] === "true";
    };
    const right = (namespace: string) =>
      until(() => isRight(namespace), { withinMs: 60_000, what: `the roots in ${namespace}`, everyMs: 50 });
    await right("shop");
    await api().create("/api/v1/namespaces", { metadata: { name: "later" } });
    await right("later");
    assert.equal(await rootMap("kube-system"), undefined);
    await api().delete("/api/v1/namespaces/shop/configmaps/istio-ca-root-cert");
    await right("shop");
    const map = await rootMap("shop");
    const path = "/api/v1/namespaces/shop/configmaps/istio-ca-root-cert";
    await api().replace(path, { ...map, data: { ...map?.data, "root-cert.pem": "wrong", mine: "stays" } });
    await right("shop");
    assert.equal((await rootMap("shop"))?.data["mine"], "stays");
  });

  it("lets a signer of the cluster sign, checks what comes back, and takes the request away", async () => {
    const signing = signApproved("example.com/mesh");
    const rootFile = join(directory, "signer-root.pem");
    await writeFile(rootFile, certificatePem(signerRoot));
    const ca = await start({
      EXTERNAL_CA: "ISTIOD_RA_KUBERNETES_API",
      K8S_SIGNER: "example.com/mesh",
      K8S_SIGNER_ROOT_FILE: rootFile,
    });
    const names = ["spiffe://cluster.local/ns/shop/sa/web"];
    const got = await ask(ca, await tokenOf("web"), { names });
    assert.equal(got.rootsPem, certificatePem(signerRoot));
    assert.deepEqual(
      parseCertificatePem(got.chainPem).sans.map(({ value }) => value),
      names,
    );
    await assert.rejects(
      ask(ca, await tokenOf("web"), { names: ["spiffe://cluster.local/ns/shop/sa/other"] }),
      /PERMISSION_DENIED/,
    );
    await assert.rejects(ask(ca, await tokenOf("web")), /PERMISSION_DENIED/);
    const evil = { names: ["spiffe://cluster.local/ns/shop/sa/evil"] };
    await assert.rejects(ask(ca, await tokenOf("evil"), evil), /INTERNAL/);
    const path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    const left = await api().get<{ readonly items: readonly unknown[] }>(path);
    assert.deepEqual(left?.items, []);
    stop.abort();
    await signing;
  });

  it("a signer of the cluster signs serving certificates, which are renewed", async () => {
    const end = new AbortController();
    const signing = signApproved("example.com/serving", end.signal, Date.now() + 8_000);
    const pairs: KeyPair[] = [];
    const troubles: (string | undefined)[] = [];
    const sign = (call: SignerCall) => requestFromSigner(api(), call, noopLogger);
    const names = ["istiod.istio-system.svc"];
    const source = keyPairSourceOf(
      { certProvider: "k8s.io/example.com/serving", tlsCertFile: undefined, tlsKeyFile: undefined },
      { names, pollMs: 1000, sign },
    );
    assert.ok(source !== undefined);
    const onKeyPair = (pair: KeyPair) => void pairs.push(pair);
    const onTrouble = (reason: string | undefined) => void troubles.push(reason);
    const following = followKeyPair(source, { log: noopLogger, onKeyPair, onTrouble }, end.signal);
    await until(() => pairs.length >= 2, { withinMs: 60_000, what: "two certificates" });
    end.abort();
    await Promise.all([following, signing]);
    const [first, second] = pairs.map(({ chainPem }) => parseCertificatePem(chainPem));
    assert.deepEqual(first?.sans, [{ type: "dns", value: "istiod.istio-system.svc" }]);
    assert.notDeepEqual(first?.spki, second?.spki);
    assert.deepEqual(troubles.slice(0, 2), [undefined, undefined]);
  });
});
