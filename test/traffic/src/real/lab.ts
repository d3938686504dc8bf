/**
 * A whole mesh on one host without redirected traffic: the control plane in this process, real Envoys that listen on
 * addresses of their own, real back ends. Everything is on free ports of 127.0.0.1.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ControlPlane, startProxy } from "@flotilla/cli/testing";
import type { Envoy } from "@flotilla/dataplane";
import { findServer, freePort } from "@flotilla/servers";
import { Client } from "./client.ts";
import { startEmbedded, writeWhole } from "./embedded.ts";
import type { Check, Feature } from "./feature.ts";
import { MeshBuilder, namespace } from "./mesh-builder.ts";
import { Plane } from "./plane.ts";

const readyWithinMs = 60_000;

export class Lab implements AsyncDisposable {
  readonly checks: readonly Check[];
  readonly plane: Plane;
  readonly #controlPlane: ControlPlane;
  readonly #envoys: Envoy[] = [];
  readonly #owned: AsyncDisposableStack;
  readonly #binary: string;
  readonly #client: Client;

  private constructor(parts: {
    readonly owned: AsyncDisposableStack;
    readonly binary: string;
    readonly controlPlane: ControlPlane;
    readonly config: string;
    readonly client: Client;
    readonly checks: readonly Check[];
  }) {
    this.#owned = parts.owned;
    this.#binary = parts.binary;
    this.#controlPlane = parts.controlPlane;
    this.plane = new Plane(parts.controlPlane, parts.config);
    this.#client = parts.client;
    this.checks = parts.checks;
  }

  /** With the mesh of all features, and the proxies of their workloads. */
  static async start(features: readonly Feature[]): Promise<Lab> {
    await using owned = new AsyncDisposableStack();
    const workDir = mkdtempSync(join(tmpdir(), "flotilla-traffic-"));
    owned.defer(() => rmSync(workDir, { recursive: true, force: true }));
    const ports = { http: await freePort(), tcp: await freePort(), tls: await freePort() };
    const mesh = new MeshBuilder(ports, owned);
    const checks: Check[] = [];
    for (const feature of features) checks.push(...(await feature(mesh)));
    mesh.object("Sidecar", "client", clientSidecar(mesh));
    const config = join(workDir, "mesh");
    mkdirSync(config);
    writeWhole(join(config, "mesh.yaml"), mesh.yaml);
    const meshConfig = join(workDir, "mesh-config.json");
    writeWhole(meshConfig, mesh.meshConfig);
    const controlPlane = owned.use(await startEmbedded(workDir, config, { meshConfig }));
    const binary = await findServer("envoy", { env: process.env });
    const lab = new Lab({ owned: owned.move(), binary, controlPlane, config, client: new Client(ports), checks });
    try {
      for (const { name } of mesh.workloads) await lab.#startEnvoy(name, name, true, lab.#owned);
    } catch (error) {
      await lab[Symbol.asyncDispose]();
      throw error;
    }
    return lab;
  }

  /** A workload `client` in r1/z1 with a proxy; one at a time, as all of them listen on the same ports. */
  async startClient(delta: boolean): Promise<{ readonly client: Client; readonly envoy: Envoy } & AsyncDisposable> {
    await using owned = new AsyncDisposableStack();
    const envoy = await this.#startEnvoy(delta ? "client-delta" : "client-sotw", "client", delta, owned);
    const kept = owned.move();
    return { client: this.#client, envoy, [Symbol.asyncDispose]: () => kept.disposeAsync() };
  }

  /** The resources that the proxies have rejected, in all their time. */
  async rejections(): Promise<readonly string[]> {
    const all = this.#envoys.map(async ({ name, stats }) =>
      [...(await stats(/update_rejected/))]
        .filter(([, count]) => count > 0)
        .map(([counter, count]) => `${name} ${counter} ${count}`),
    );
    return (await Promise.all(all)).flat();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#owned.disposeAsync();
  }

  async #startEnvoy(name: string, app: string, delta: boolean, owned: AsyncDisposableStack): Promise<Envoy> {
    const node = {
      name,
      namespace,
      serviceAccount: app,
      labels: { app },
      // Not the address that everything listens on: no endpoint is this workload's.
      address: "192.0.2.1",
      locality: { region: "r1", zone: "z1" },
    };
    const envoy = await startProxy(this.#binary, node, this.#controlPlane.layout, owned, delta);
    await envoy.ready(readyWithinMs);
    this.#envoys.push(envoy);
    owned.defer(() => void this.#envoys.splice(this.#envoys.indexOf(envoy), 1));
    return envoy;
  }
}

function clientSidecar({ ports }: MeshBuilder): object {
  return {
    workloadSelector: { labels: { app: "client" } },
    outboundTrafficPolicy: { mode: "REGISTRY_ONLY" },
    egress: (["http", "tcp", "tls"] as const).map((name) => ({
      port: { number: ports[name], protocol: name.toUpperCase(), name },
      bind: "127.0.0.1",
      captureMode: "NONE",
      hosts: ["./*"],
    })),
  };
}
