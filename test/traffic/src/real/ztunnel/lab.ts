/** The control plane of the runs with real ztunnels, which pods reach by the bridge, and pods with a ztunnel each. */
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLocalIssuer } from "@flotilla/auth";
import type { ControlPlane } from "@flotilla/cli/testing";
import { startEmbedded, writeWhole } from "../embedded.ts";
import { bridgeAddress, type Pod, startPod } from "./pods.ts";
import { startZtunnel, type Ztunnel } from "./ztunnel.ts";

interface LabOptions {
  readonly objects: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly meshConfig?: object;
  /** Port of the bridge's address at which pods reach the control plane. */
  readonly discoveryPort?: number;
  /** A lab whose certificate authority and issuer of tokens are those of this one, too. */
  readonly trusting?: ZtunnelLab;
}

interface CapturedOptions {
  readonly name: string;
  readonly address: string;
  readonly serviceAccount: string;
  readonly network?: string;
}

export class ZtunnelLab implements AsyncDisposable {
  readonly #workDir: string;
  readonly #discoveryPort: number;
  readonly #startPlane: () => Promise<ControlPlane>;
  /** Ended with the lab. */
  readonly owned = new AsyncDisposableStack();
  /** The directory of the configuration. */
  readonly config: string;
  plane: ControlPlane;

  /** Needs the bridge (`makeBridge`). Ready when it resolves. */
  static async start(options: LabOptions): Promise<ZtunnelLab> {
    const { objects, settings, meshConfig = {}, discoveryPort = 15012, trusting } = options;
    const workDir = mkdtempSync(join(tmpdir(), "flotilla-ztunnel-"));
    const config = join(workDir, "mesh");
    mkdirSync(config);
    writeWhole(join(config, "base.yaml"), objects);
    const file = join(workDir, "mesh.yaml");
    writeWhole(file, JSON.stringify(meshConfig));
    if (trusting !== undefined)
      for (const part of ["ca", "issuer"])
        cpSync(join(trusting.#workDir, part), join(workDir, part), { recursive: true });
    const startPlane = () => startEmbedded(workDir, config, { more: settings, meshConfig: file });
    const lab = new ZtunnelLab(workDir, discoveryPort, startPlane, await startPlane());
    await lab.#relay();
    return lab;
  }

  private constructor(
    workDir: string,
    discoveryPort: number,
    startPlane: () => Promise<ControlPlane>,
    plane: ControlPlane,
  ) {
    this.#workDir = workDir;
    this.#discoveryPort = discoveryPort;
    this.#startPlane = startPlane;
    this.config = join(workDir, "mesh");
    this.plane = plane;
    this.owned.defer(() => rmSync(workDir, { recursive: true, force: true }));
    this.owned.defer(() => this.plane[Symbol.asyncDispose]());
  }

  /** Stops the control plane, runs `meanwhile`, and starts it again. */
  async restartPlane(meanwhile: () => Promise<void>): Promise<void> {
    await this.plane[Symbol.asyncDispose]();
    await meanwhile();
    this.plane = await this.#startPlane();
  }

  /** A pod whose connections go through a ztunnel. */
  async startCaptured({ name, address, serviceAccount, network }: CapturedOptions): Promise<[Pod, Ztunnel]> {
    const pod = this.owned.use(await startPod({ name, address, isCaptured: true }));
    const issuer = await openLocalIssuer(this.#workDir);
    const ztunnel = await startZtunnel({
      ...{ binary: process.env["ZTUNNEL_BIN"] ?? "", pod, namespace: "shop", serviceAccount },
      ...(network !== undefined && { network }),
      token: await issuer.mintToken({ namespace: "shop", serviceAccount }),
      discoveryAddress: `${bridgeAddress}:${this.#discoveryPort}`,
      rootFile: join(this.#workDir, "root-cert.pem"),
      directory: join(this.#workDir, name),
    });
    return [pod, this.owned.use(ztunnel)];
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.owned.disposeAsync();
  }

  /** The control plane listens on the loopback address, which pods do not reach. */
  async #relay(): Promise<void> {
    const relay = createServer((socket) => {
      const onward = connect({ host: "127.0.0.1", port: this.plane.layout.ports.xdsTls });
      for (const [from, to] of [
        [socket, onward],
        [onward, socket],
      ] as const) {
        from.on("error", () => to.destroy());
        from.on("close", () => to.destroy());
        from.pipe(to);
      }
    });
    await new Promise<void>((resolve) => relay.listen(this.#discoveryPort, bridgeAddress, resolve));
    this.owned.defer(() => void relay.close());
  }
}

/** A JSON line for each check: its name, and its failure if it failed. */
export async function printOutcomes(checks: Readonly<Record<string, () => Promise<void>>>): Promise<void> {
  for (const [name, check] of Object.entries(checks)) {
    const failure = await check().then(
      () => undefined,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
    process.stdout.write(`${JSON.stringify({ name, failure })}\n`);
  }
}
