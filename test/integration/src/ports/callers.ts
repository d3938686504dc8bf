/** A control plane whose services run in this process, and what its callers prove themselves with. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { openLocalIssuer } from "@flotilla/auth";
import { requestCertificate, type TlsMaterial } from "@flotilla/auth/serving";
import { allReady, type ControlPlane, startControlPlane } from "@flotilla/cli/testing";
import { encodePem, generatePrivateKey, issueLeaf, issueRoot, issuerOf, privateKeyPem, spkiOf } from "@flotilla/pki";
import { defaultPorts, until } from "@flotilla/runtime";
import { freePorts } from "@flotilla/servers";

export type Who =
  | "nobody"
  | "a token of another issuer"
  | "a workload's token"
  | "a workload's certificate"
  | "a certificate of another root"
  | "a token of the control plane"
  | "a token for the API"
  | "a workload's token for the API";

export interface Proof {
  readonly token?: string;
  readonly certificate?: TlsMaterial;
}

export interface Callers extends AsyncDisposable {
  readonly proofs: Readonly<Record<Who, Proof>>;
  readonly rootsPem: string;
  /** Of this machine, no loopback. */
  readonly address: string;
  /** The port in use in place of a default one. */
  portOf(defaultPort: number): number;
}

const workload = { namespace: "shop", serviceAccount: "web" };
const controlPlane = { namespace: "istio-system", serviceAccount: "flotilla-cli" };
const audience = "flotilla-api";
export const serverName = "istiod.istio-system.svc";

export async function openCallers(workDir: string, address: string): Promise<Callers> {
  const owned = new AsyncDisposableStack();
  try {
    const options = {
      ...{ workDir, config: undefined, mesh: undefined, networks: undefined, embedded: true },
      firstPort: await freePorts(12),
      settings: { LOG_LEVEL: "silent", HEALTH_HOST: "0.0.0.0", CONSOLE_PAGE_DIR: workDir },
      replicas: { console: 1 },
    };
    const plane = owned.use(await startControlPlane({ options, logs: "files", onProgress: () => undefined }));
    await allReady(plane, 90_000, () => undefined, new AbortController().signal);
    const rootsPem = readFileSync(join(workDir, "root-cert.pem"), "utf8");
    const issuer = await openLocalIssuer(workDir);
    const stranger = await openLocalIssuer(join(workDir, "another"));
    const token = await issuer.mintToken(workload);
    const apiPort = await apiPortOf(plane);
    return {
      ...{ rootsPem, address },
      proofs: {
        nobody: {},
        "a token of another issuer": { token: await stranger.mintToken(workload) },
        "a workload's token": { token },
        "a workload's certificate": { certificate: await certificateOf(plane, rootsPem, token) },
        "a certificate of another root": { certificate: await strangerCertificate(rootsPem) },
        "a token of the control plane": { token: await issuer.mintToken(controlPlane) },
        "a token for the API": {
          token: await issuer.mintToken({ namespace: "istio-system", serviceAccount: "flotilla-admin", audience }),
        },
        "a workload's token for the API": { token: await issuer.mintToken({ ...workload, audience }) },
      },
      portOf: (port) => portsInUse(plane, apiPort).get(port) ?? port,
      [Symbol.asyncDispose]: () => owned.disposeAsync(),
    };
  } catch (error) {
    await owned.disposeAsync();
    throw error;
  }
}

function portsInUse({ layout: { ports } }: ControlPlane, api: number): ReadonlyMap<number, number> {
  const { xdsServer, configController, serviceController, ca, webhook, console } = defaultPorts;
  return new Map([
    [xdsServer.xds, ports.xds],
    [xdsServer.xdsTls, ports.xdsTls],
    [xdsServer.http, ports.http],
    [xdsServer.health, ports.xdsHealth],
    [configController.health, ports.configHealth],
    [configController.api, api],
    [serviceController.health, ports.serviceHealth],
    [ca.grpc, ports.ca],
    [ca.health, ports.caHealth],
    [webhook.https, ports.webhook],
    [webhook.health, ports.webhookHealth],
    [console.page, ports.console],
    [console.health, ports.consoleHealth],
  ]);
}

async function apiPortOf({ layout }: ControlPlane): Promise<number> {
  const page = `http://127.0.0.1:${layout.ports.configHealth}/debug/api`;
  const url = await until(async () => ((await (await fetch(page)).json()) as { readonly url: string | null }).url, {
    withinMs: 60_000,
    what: "the API",
  });
  return Number(new URL(url).port);
}

async function certificateOf({ layout }: ControlPlane, rootsPem: string, token: string): Promise<TlsMaterial> {
  const call = { serverName, rootsPem, proof: { token }, names: [], keyType: "ecdsa-p256", ttlMs: 3_600_000 } as const;
  return requestCertificate({ ...call, address: `127.0.0.1:${layout.ports.ca}` });
}

/** For the identity of a workload of this mesh, signed by no CA that the mesh trusts. */
async function strangerCertificate(rootsPem: string): Promise<TlsMaterial> {
  const key = await generatePrivateKey("ecdsa-p256");
  const times = { notBeforeMs: Date.now() - 60_000, notAfterMs: Date.now() + 3_600_000 };
  const root = issueRoot({ serial: Buffer.of(1), subject: { organization: "another" }, ...times }, key);
  const sans = [{ type: "uri", value: "spiffe://cluster.local/ns/shop/sa/web" }] as const;
  const leaf = issueLeaf({ serial: Buffer.of(2), spki: spkiOf(key), sans, ...times }, issuerOf(root, key));
  return { keyPem: privateKeyPem(key), chainPem: encodePem("CERTIFICATE", leaf), rootsPem };
}
