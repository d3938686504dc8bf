/** The debug side of the server, put together: what it watches, its pages, its answers over xDS. */
import type { Authenticator } from "@flotilla/auth";
import type { AppliedSet } from "@flotilla/model";
import type { Metrics } from "@flotilla/runtime";
import type { SnapshotStore } from "@flotilla/state";
import type { Core } from "../app/core.ts";
import type { ChangeListener, CoreSource } from "../app/core-source.ts";
import type { Ingest } from "../ingest/ingest.ts";
import type { Arrivals } from "../serve/arrivals.ts";
import type { ConnectedStreams } from "../serve/connected-streams.ts";
import type { DebugAnswers } from "../serve/debug-answers.ts";
import type { StreamObserver } from "../serve/stream-record.ts";
import { arrivalsPage } from "./arrivals-page.ts";
import { ChangeLedger } from "./change-ledger.ts";
import { declareEnvoyFilterMetric } from "./envoy-filter-metric.ts";
import { explainPage } from "./explain.ts";
import { createFleetRows, fleetPage } from "./fleet-page.ts";
import { createFleetStatus, type FleetStatus } from "./fleet-status.ts";
import { madeFromPage } from "./made-from-page.ts";
import { declareMeshMetrics, mayHaveServices } from "./mesh-metrics.ts";
import type { DebugPage } from "./page.ts";
import { debugPages } from "./pages.ts";
import { ResourceHistory } from "./resource-history.ts";
import { resourcePages } from "./resource-pages.ts";
import { servicePages } from "./service-pages.ts";
import { ServiceTable } from "./service-table.ts";
import { findUnselected } from "./unselected.ts";
import type { AccessRules } from "./viewer.ts";
import { createDebugAnswers } from "./xds-answers.ts";

export interface DebugOptions {
  readonly core: Core;
  readonly store: SnapshotStore;
  /** Key of this replica's reports in the store. */
  readonly reportId: string;
  readonly authenticator: Authenticator;
  readonly metrics: Metrics;
  /** Pod or host name of this replica. */
  readonly replica: string;
  /** Of this program. */
  readonly version: string;
  readonly source: Pick<CoreSource, "latest">;
  readonly ingest: Pick<Ingest, "changes" | "position">;
  readonly connected: Pick<ConnectedStreams, "list" | "disconnect">;
  readonly arrivals: Pick<Arrivals, "of">;
  readonly settings: {
    readonly debugAuth: boolean;
    readonly debugNamespaces: readonly string[];
    readonly unsafePages: boolean;
  };
}

export interface Debug {
  readonly pages: readonly DebugPage[];
  readonly rules: AccessRules;
  readonly answers: DebugAnswers;
  readonly fleet: FleetStatus;
  readonly observer: StreamObserver;
  /** Place in the fleet's sequence of the last change of an input of the core. */
  lastChange(input: string): number | undefined;
  /** Records when changes are applied. */
  readonly changes: ChangeListener;
}

export function createDebug(options: DebugOptions): Debug {
  const { core, source, store, authenticator, metrics, version, ingest, connected, settings } = options;
  const [ledger, history] = [new ChangeLedger(), new ResourceHistory()];
  const streams = () => connected.list();
  const fleet = createFleetStatus(streams, store, options.reportId);
  const rules: AccessRules = {
    required: settings.debugAuth,
    authenticator,
    rootNamespace: () => core.mesh.rootNamespace,
    allowedNamespaces: settings.debugNamespaces,
  };
  const [position, inputs] = [() => ingest.position, () => ingest.changes()];
  const [table, fleetRows] = [new ServiceTable(inputs, ledger), createFleetRows(fleet, options.replica)];
  const unselected = () =>
    findUnselected(
      inputs(),
      streams().map(({ proxy }) => proxy),
      core.mesh.rootNamespace,
    );
  const withoutServices = () =>
    streams().filter(({ proxy }) => mayHaveServices(proxy) && core.subjectOf(proxy).targets.length === 0).length;
  const findings = () => core.findings();
  declareEnvoyFilterMetric(metrics, { inputs, outcomes: () => core.patchOutcomes() });
  declareMeshMetrics(metrics, { inputs, findings, unselected, withoutServices, version, nowMs: Date.now });
  const pages = debugPages(
    { core, streams, fleet, disconnect: (id) => connected.disconnect(id), inputs, unselected },
    [
      explainPage({ core, streams, fleet, ledger, history, position }),
      positionPage(core, position, () => source.latest),
      fleetPage(fleetRows),
      arrivalsPage(options.arrivals),
      madeFromPage(core, streams),
      ...servicePages({ core, table, fleetRows, inputs }),
      ...resourcePages({ core, streams, fleet, history }),
    ],
    { allowUnsafe: settings.unsafePages },
  );
  return {
    pages,
    rules,
    fleet,
    answers: createDebugAnswers({ core, streams, fleet, pages: () => pages }, rules),
    observer: {
      sent: (_stream, _typeUrl, receipt, change) => {
        if (change !== undefined) history.note(change, receipt);
      },
    },
    lastChange: (input) => ledger.of(input)?.position,
    changes: {
      beforeApply: (_changes, { groups, applied }) => {
        const atMs = Date.now();
        for (const group of groups) {
          // One that was overtaken by what is urgent counts as of where it is applied.
          const at = Math.min(group.position, applied.position);
          ledger.note(group.changes, { position: at, atMs, cause: group.cause });
        }
      },
    },
  };
}

function positionPage(core: Core, position: () => number, latest: () => AppliedSet | undefined): DebugPage {
  return {
    path: "position",
    help: "the place in the fleet's sequence of changes that is served, and the change applied last",
    scope: "namespace",
    answer: () => ({ json: { position: position(), latest: latest(), graph: core.stats() } }),
  };
}
