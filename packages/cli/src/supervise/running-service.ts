/** A service that is kept running: one replica of it, with the ports that are its own. */
import type { Ports, ServiceName } from "../layout.ts";
import type { Run, Supervised } from "./supervised.ts";

export interface RunningService extends AsyncDisposable {
  readonly name: ServiceName;
  /** The service's name, or with its number where it has several replicas: `xds-server-2`. */
  readonly replica: string;
  readonly healthUrl: string;
  /** Those it binds. */
  readonly ports: Ports;
  /** Of the present run; undefined while there is none, and for a service within this process. */
  readonly pid: number | undefined;
  readonly supervised: Supervised<Run>;
  /** Rejects when it ends again and again without getting ready. */
  readonly ended: Promise<never>;
  /** Ends it as a crash would, and for good. */
  kill(): Promise<void>;
}

export function runningService(
  given: Pick<RunningService, "name" | "replica" | "healthUrl" | "ports" | "supervised">,
): RunningService {
  const { supervised } = given;
  return {
    ...given,
    get pid() {
      return supervised.run?.pid;
    },
    ended: supervised.ended,
    kill: () => supervised.kill(),
    [Symbol.asyncDispose]: () => supervised[Symbol.asyncDispose](),
  };
}
