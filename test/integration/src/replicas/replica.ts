/** One more xds-server as a child process, and its debug pages. */
import { join } from "node:path";
import { type ChildService, type ControlPlane, healthOf, startChild } from "@flotilla/cli/testing";
import { until } from "@flotilla/runtime";

export interface Replica extends AsyncDisposable {
  readonly service: ChildService;
  readonly port: number;
  readonly healthUrl: string;
  /** Value of a metric, all labels together. */
  metric(name: string): Promise<number>;
}

export interface ReplicaOptions {
  readonly plane: ControlPlane;
  readonly name: string;
  /** The first of four in a row. */
  readonly firstPort: number;
  readonly env?: Readonly<Record<string, string>>;
}

/** Resolves when it is ready. */
export async function startReplica({ plane, name, firstPort, env = {} }: ReplicaOptions): Promise<Replica> {
  const healthUrl = `http://127.0.0.1:${firstPort + 3}`;
  const service = startChild({
    name: "xds-server",
    env: {
      ...plane.environment("xds-server"),
      POD_NAME: name,
      XDS_PORT: String(firstPort),
      XDS_TLS_PORT: String(firstPort + 1),
      HTTP_PORT: String(firstPort + 2),
      HEALTH_PORT: String(firstPort + 3),
      ...env,
    },
    healthUrl,
    logFile: join(plane.layout.workDir, "logs", `${name}.log`),
  });
  const isReady = async () => (await healthOf({ healthUrl })).state === "ready";
  try {
    await Promise.race([until(isReady, { withinMs: 60_000, what: `${name} to be ready` }), service.ended]);
  } catch (error) {
    await service[Symbol.asyncDispose]();
    throw error;
  }
  return {
    service,
    port: firstPort,
    healthUrl,
    metric: async (metric) => {
      const page = await (await fetch(`${healthUrl}/metrics`)).text();
      const values = page.split("\n").filter((line) => line.startsWith(`${metric}{`) || line.startsWith(`${metric} `));
      return values.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
    },
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}
