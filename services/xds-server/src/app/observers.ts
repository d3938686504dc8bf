/** The stages that observe streams and changes, and serve nothing: debug pages, reports to the fleet. */
import manifest from "../../package.json" with { type: "json" };
import { createDebug, type Debug } from "../debug/debug.ts";
import { Distribution } from "../fleet/distribution.ts";
import { RegisteredWorkloads } from "../fleet/registered-workloads.ts";
import type { Ingest } from "../ingest/ingest.ts";
import type { ConnectedStreams } from "../serve/connected-streams.ts";
import { joinObservers } from "../serve/observers.ts";
import type { StreamObserver } from "../serve/stream-record.ts";
import type { XdsService } from "../settings.ts";
import type { ChangeFlow } from "./change-flow.ts";
import type { Identity } from "./identity.ts";
import type { ServedMesh } from "./mesh.ts";
import type { Snapshot } from "./snapshot.ts";

export interface ObserverOptions {
  /** Pod or host name of this replica. */
  readonly replica: string;
  readonly mesh: ServedMesh;
  readonly identity: Identity;
  readonly snapshot: Snapshot;
  readonly flow: ChangeFlow;
  readonly ingest: Ingest;
  readonly connected: ConnectedStreams;
}

export interface Observers {
  readonly debug: Debug;
  readonly machines: RegisteredWorkloads;
  readonly distribution: Distribution;
  /** All of them. */
  readonly streams: StreamObserver;
}

/** Registers them for the changes, too. */
export function createObservers({ settings, metrics }: XdsService, options: ObserverOptions): Observers {
  const { replica, mesh, identity, snapshot, flow, ingest, connected } = options;
  const { core, source } = mesh;
  const debug = createDebug({
    ...{ core, source, metrics, store: snapshot.store, reportId: snapshot.reportId },
    authenticator: identity.pageCallers,
    ...{ ingest, connected, arrivals: flow.arrivals, settings, replica, version: manifest.version },
  });
  const distribution = new Distribution({
    ...{ replica, core, lastChange: debug.lastChange, nowMs: Date.now },
    streams: () => connected.list(),
    position: () => source.position,
    epoch: () => ingest.epoch,
    isSettling: () => flow.deliveries.open > 0,
  });
  const machines = new RegisteredWorkloads();
  source.listen(debug.changes);
  source.listen(distribution.changes);
  return {
    ...{ debug, machines, distribution },
    streams: joinObservers(debug.observer, machines.observer, distribution.observer),
  };
}
