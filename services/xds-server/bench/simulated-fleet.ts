/** Simulated proxies in this process, each with a connection of its own, that acknowledge everything. */

import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { create, typeUrl } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { XdsClient } from "@flotilla/xds/client";
import { grpcTransport } from "@flotilla/xds/grpc";
import { type EditFigures, type EditRun, editsPerRun, median } from "./edit-figures.ts";
import { virtualServiceOf } from "./mesh-objects.ts";

const markedWithinMs = 60_000;

export async function simulatedRun({ config, ...run }: EditRun): Promise<EditFigures> {
  const started = performance.now();
  await using fleet = await Fleet.connect(run);
  const allSyncedMs = performance.now() - started;
  const rounds: { readonly p50: number; readonly last: number; readonly bytes: number }[] = [];
  for (let round = 0; round < editsPerRun; round++) {
    const mark = `mark-${run.clients}-${round}`;
    const awaited = fleet.awaitMark(mark, markedWithinMs);
    const written = performance.now();
    const file = join(config, "route.yaml");
    writeFileSync(`${file}.new`, JSON.stringify(virtualServiceOf(1, mark)));
    renameSync(`${file}.new`, file);
    const { times, bytes } = await awaited;
    const waits = times.map((time) => time - written);
    rounds.push({ p50: median(waits), last: Math.max(...waits), bytes });
  }
  return {
    proxies: "in the bench's own process",
    allSyncedMs,
    p50Ms: median(rounds.map(({ p50 }) => p50)),
    lastMs: median(rounds.map(({ last }) => last)),
    bytesPerEdit: median(rounds.map(({ bytes }) => bytes)),
  };
}

type FleetOptions = Pick<EditRun, "address" | "clients" | "form">;

interface Mark {
  readonly text: string;
  readonly times: number[];
  bytes: number;
  done(): void;
}

class Fleet implements AsyncDisposable {
  readonly #stop = new AbortController();
  readonly #running: Promise<void>[] = [];
  readonly #clients: number;
  #mark: Mark | undefined;

  private constructor(clients: number) {
    this.#clients = clients;
  }

  /** Resolves when every client has had its clusters, endpoints, listeners and routes. */
  static async connect({ address, clients, form }: FleetOptions): Promise<Fleet> {
    const fleet = new Fleet(clients);
    await Promise.all(Array.from({ length: clients }, (_, i) => fleet.#start(address, form, i)));
    return fleet;
  }

  /** When each client received a resource that holds `text`, in milliseconds of `performance.now()`. */
  awaitMark(text: string, withinMs: number): Promise<{ readonly times: readonly number[]; readonly bytes: number }> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`${mark.times.length} of ${this.#clients} received ${text} within ${withinMs} ms`)),
        withinMs,
      );
      const mark: Mark = {
        text,
        times: [],
        bytes: 0,
        done: () => {
          clearTimeout(timer);
          resolve({ times: mark.times, bytes: mark.bytes });
        },
      };
      this.#mark = mark;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#running);
  }

  #start(address: string, form: "delta" | "sotw", i: number): Promise<void> {
    const ip = `10.9.${i >> 8}.${i & 255}`;
    const metadata = {
      NAMESPACE: "mesh",
      INSTANCE_IPS: ip,
      LABELS: { app: "client" },
      CLUSTER_ID: "Kubernetes",
      ISTIO_VERSION: "1.32.0",
    };
    return new Promise((resolve) => {
      const awaited = new Set<string>([typeUrl.cluster, typeUrl.endpoint, typeUrl.listener, typeUrl.route]);
      const client: XdsClient = new XdsClient({
        form,
        transport: grpcTransport({ address }),
        node: create(NodeSchema, { id: `sidecar~${ip}~client-${i}.mesh~mesh.svc.cluster.local`, metadata }),
        keepBytes: false,
        backoffMs: () => 500,
        onUpdate: ({ typeUrl: type, changed }) => {
          this.#look(changed);
          if (!awaited.delete(type)) return;
          if (type === typeUrl.cluster)
            client.subscribe(
              typeUrl.endpoint,
              changed.map(({ name }) => name).filter((name) => name.startsWith("outbound|")),
            );
          if (type === typeUrl.listener) client.subscribe(typeUrl.route, ["80"]);
          if (awaited.size === 0) resolve();
        },
      });
      client.subscribe(typeUrl.cluster);
      client.subscribe(typeUrl.listener);
      this.#running.push(client.run(this.#stop.signal));
    });
  }

  #look(changed: readonly { readonly bytes: Uint8Array }[]): void {
    const mark = this.#mark;
    if (mark === undefined) return;
    for (const { bytes } of changed) {
      mark.bytes += bytes.length;
      if (!Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes(mark.text)) continue;
      mark.times.push(performance.now());
      if (mark.times.length === this.#clients) mark.done();
    }
  }
}
