/**
 * The part of pilot-agent beside an Envoy: renews a certificate by token in the middle of its life, has a stream of discovery, and serves
 * certificate and roots to its Envoy. It takes the roots that the mesh trusts by PCDS, or, as it does where PROXY_CONFIG_XDS_AGENT is not
 * set, from the answer to each request for a certificate alone.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { openLocalIssuer } from "@flotilla/auth";
import { requestCertificate, type TlsMaterial } from "@flotilla/auth/serving";
import type { Layout } from "@flotilla/cli/testing";
import { type SdsServer, serveSecrets } from "@flotilla/dataplane";
import { parseCertificatePem } from "@flotilla/pki";
import { create, decode, typeUrl } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { ProxyConfigSchema } from "@flotilla/proto/mesh/v1alpha1/proxy_pb";
import { delay } from "@flotilla/runtime";
import { XdsClient } from "@flotilla/xds/client";
import { grpcTransport } from "@flotilla/xds/grpc";
import { credentials } from "@grpc/grpc-js";

export interface AgentOptions {
  readonly name: string;
  readonly layout: Layout;
  readonly ttlMs: number;
  readonly roots: "by-pcds" | "with-certificate";
}

const namespace = "shop";

export class Agent implements AsyncDisposable {
  readonly #options: AgentOptions;
  readonly #sds: SdsServer;
  #material: TlsMaterial;
  #meshRoots = "";
  #link: { readonly stop: AbortController; readonly running: Promise<unknown> } | undefined;

  private constructor(options: AgentOptions, material: TlsMaterial, sds: SdsServer) {
    this.#options = options;
    this.#material = material;
    this.#sds = sds;
  }

  static async start(options: AgentOptions): Promise<Agent> {
    const material = await ask(options);
    const secrets = { chain: material.chainPem, key: material.keyPem, roots: material.rootsPem };
    const agent = new Agent(options, material, await serveSecrets(secretSocket(options), secrets));
    agent.connect();
    return agent;
  }

  get secretSocket(): string {
    return secretSocket(this.#options);
  }

  /** Renews from now on, and has a stream of discovery. */
  connect(): void {
    const stop = new AbortController();
    const running = Promise.all([this.#renew(stop.signal), this.#discover(stop.signal)]);
    running.catch(() => undefined);
    this.#link = { stop, running };
  }

  /** Neither renews nor hears anything. */
  async disconnect(): Promise<void> {
    this.#link?.stop.abort();
    await this.#link?.running;
    this.#link = undefined;
  }

  async renewNow(): Promise<void> {
    this.#material = await ask(this.#options);
    this.#serve();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.disconnect();
    await this.#sds[Symbol.asyncDispose]();
  }

  async #renew(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      const { notAfterMs } = parseCertificatePem(this.#material.chainPem);
      await delay(Math.max(0, (notAfterMs - Date.now()) / 2), stop);
      if (!stop.aborted) await this.renewNow();
    }
  }

  async #discover(stop: AbortSignal): Promise<void> {
    const { layout, name, roots } = this.#options;
    const noName = { checkServerIdentity: () => undefined };
    const client = new XdsClient({
      form: "delta",
      transport: grpcTransport({
        address: `127.0.0.1:${layout.ports.xdsTls}`,
        tls: credentials.createSsl(Buffer.from(await rootsOf(layout)), null, null, noName),
        token: await tokenOf(this.#options),
      }),
      node: create(NodeSchema, {
        id: `sidecar~127.0.0.1~${name}.${namespace}~${namespace}.svc.cluster.local`,
        metadata: { NAMESPACE: namespace, SERVICE_ACCOUNT: name, CLUSTER_ID: "Kubernetes" },
      }),
      backoffMs: () => 200,
      onUpdate: ({ changed }) => {
        const [resource] = changed;
        if (resource === undefined || roots !== "by-pcds") return;
        this.#meshRoots = decode(ProxyConfigSchema, resource.bytes).caCertificatesPem.join("");
        this.#serve();
      },
    });
    client.subscribe(roots === "by-pcds" ? typeUrl.proxyConfig : typeUrl.cluster);
    await client.run(stop);
  }

  #serve(): void {
    const { chainPem: chain, keyPem: key, rootsPem } = this.#material;
    this.#sds.update({ chain, key, roots: rootsPem + this.#meshRoots });
  }
}

function secretSocket({ layout, name }: AgentOptions): string {
  return join(layout.workDir, `${name}.sock`);
}

async function ask(options: AgentOptions): Promise<TlsMaterial> {
  const { layout, ttlMs } = options;
  return requestCertificate({
    address: `127.0.0.1:${layout.ports.ca}`,
    serverName: "flotilla-ca.istio-system.svc",
    rootsPem: await rootsOf(layout),
    proof: { token: await tokenOf(options) },
    names: [],
    keyType: "ecdsa-p256",
    ttlMs,
  });
}

/** Where no pod is named, an agent is known by its address only. */
async function tokenOf({ layout, name, roots }: AgentOptions): Promise<string> {
  const issuer = await openLocalIssuer(layout.workDir);
  const pod = { name, uid: `${name}-uid` };
  return issuer.mintToken({ namespace, serviceAccount: name, ...(roots === "by-pcds" && { pod }) });
}

function rootsOf({ workDir }: Layout): Promise<string> {
  return readFile(join(workDir, "root-cert.pem"), "utf8");
}
