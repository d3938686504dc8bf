/** The overview: the control plane's replicas, the fleet, what is refused, and how pushes go. */
import type {
  FleetCounts,
  ObjectCounts,
  ObjectRow,
  Overview,
  Problem,
  ProxyPage,
  RejectionGroup,
  ReplicaState,
  Severity,
} from "@flotilla/console/contract";
import type { ApiRequest, Handler } from "../serve/endpoint.ts";
import { type Answer, awayOf, type Services } from "../upstream/services.ts";
import type { MetricWatch } from "../watch/metric-watch.ts";
import type { ReplicaWatch } from "../watch/replica-watch.ts";

export interface OverviewSources {
  readonly services: Services;
  readonly replicas: Pick<ReplicaWatch, "list">;
  readonly metrics: Pick<MetricWatch, "pushes">;
}

interface ObjectsAnswer {
  readonly rows: readonly ObjectRow[];
  readonly total: number;
  readonly generation: number;
  readonly states: Readonly<Record<string, number>>;
}

interface ProblemsAnswer {
  readonly problems: readonly {
    readonly object?: string;
    readonly file?: string;
    readonly field?: string;
    readonly reason?: string;
  }[];
}

interface RejectionsAnswer {
  readonly rows: readonly RejectionGroup[];
  readonly total: number;
}

const shownRejections = 5;
const shownProblems = 50;

export function overviewHandler(sources: OverviewSources): Handler<"GET /api/v1/overview"> {
  return async (request) => {
    const { services, replicas, metrics } = sources;
    const { fleet, objects, rejections, problems, positions } = await askAll(services, request);
    const found = problemsOf(objects, problems);
    const away = awayOf([fleet, objects, rejections, ...problems.map(({ answer }) => answer), ...positions]);
    const overview: Overview = {
      services: replicas.list().map(({ address, ...state }) => withPosition(state, address.name, positions, fleet)),
      ...(objects.isAnswered && { generation: objects.value.generation }),
      proxies: countsOf(fleet),
      objects: objectCounts(objects),
      rejections: rejections.isAnswered ? rejections.value.rows : [],
      rejectionCount: rejections.isAnswered ? rejections.value.total : 0,
      problems: found.slice(0, shownProblems),
      problemCounts: {
        error: found.filter(({ severity }) => severity === "error").length,
        warning: found.filter(({ severity }) => severity === "warning").length,
        info: found.filter(({ severity }) => severity === "info").length,
      },
      pushes: metrics.pushes(),
      away: [...new Map(away.map((one) => [`${one.service} ${one.replica}`, one])).values()],
    };
    return overview;
  };
}

async function askAll(services: Services, { session: { token } }: ApiRequest) {
  const config = <T>(path: string, query: Readonly<Record<string, string>> = {}) =>
    services.first<T>("config-controller", { path, query, token });
  const [fleet, objects, rejections, ofConfig, ofRegistry, positions] = await Promise.all([
    services.first<ProxyPage>("xds-server", { path: "/debug/fleet", query: { limit: "1" }, token }),
    config<ObjectsAnswer>("/debug/object_rows", { state: "warning,rejected", limit: "200", sort: "-generation" }),
    config<RejectionsAnswer>("/debug/rejections", { limit: String(shownRejections) }),
    config<ProblemsAnswer>("/debug/problems"),
    services.first<ProblemsAnswer>("service-controller", { path: "/debug/problems", token }),
    services.all<{ readonly position: number }>("xds-server", { path: "/debug/position", token }),
  ]);
  const problems = [
    { service: "config-controller" as const, answer: ofConfig },
    { service: "service-controller" as const, answer: ofRegistry },
  ];
  return { fleet, objects, rejections, problems, positions };
}

function withPosition(
  state: ReplicaState,
  name: string,
  positions: readonly Answer<{ readonly position: number }>[],
  fleet: Answer<ProxyPage>,
): ReplicaState {
  if (state.service !== "xds-server") return state;
  const own = positions.find((answer) => answer.isAnswered && answer.replica === name);
  const proxies = fleet.isAnswered ? fleet.value.facets.replica.find(({ value }) => value === name)?.count : undefined;
  return {
    ...state,
    ...(own?.isAnswered && { generation: own.value.position }),
    ...(proxies !== undefined && { proxies }),
  };
}

function countsOf(fleet: Answer<ProxyPage>): FleetCounts {
  if (!fleet.isAnswered) return { total: 0, byState: noStates, byType: {}, byVersion: {}, byReplica: {} };
  const { total, facets } = fleet.value;
  const counts = (facet: readonly { readonly value: string; readonly count: number }[]) =>
    Object.fromEntries(facet.map(({ value, count }) => [value, count]));
  return {
    total,
    byState: { ...noStates, ...counts(facets.state) },
    ...{ byType: counts(facets.type), byVersion: counts(facets.version), byReplica: counts(facets.replica) },
  };
}

const noStates = { synced: 0, sending: 0, rejected: 0 } as const;
const noObjects: ObjectCounts = { total: 0, live: 0, arriving: 0, warning: 0, rejected: 0, refused: 0 };

function objectCounts(objects: Answer<ObjectsAnswer>): ObjectCounts {
  return objects.isAnswered ? { ...noObjects, ...objects.value.states, total: objects.value.total } : noObjects;
}

function problemsOf(
  objects: Answer<ObjectsAnswer>,
  problems: readonly { readonly service: Problem["service"]; readonly answer: Answer<ProblemsAnswer> }[],
): readonly Problem[] {
  const refused = problems.flatMap(({ service, answer }) =>
    (answer.isAnswered ? answer.value.problems : []).map(({ object, file = "", field, reason = "" }) => {
      const place = object ?? (file === "" ? undefined : file);
      return problem("error", service, { object: place, field, reason });
    }),
  );
  const doubtful = (objects.isAnswered ? objects.value.rows : []).map(({ object, state, reason = "" }) =>
    problem(state === "rejected" ? "error" : "warning", "config-controller", { object, reason }),
  );
  return [...refused, ...doubtful].sort((a, b) => order[a.severity] - order[b.severity]);
}

const order: Readonly<Record<Severity, number>> = { error: 0, warning: 1, info: 2 };

function problem(
  severity: Severity,
  service: Problem["service"],
  {
    object,
    field,
    reason,
  }: { readonly object?: string | undefined; readonly field?: string | undefined; readonly reason: string },
): Problem {
  return {
    ...{ severity, service, reason },
    ...(object !== undefined && { object }),
    ...(field !== undefined && field !== "" && { field }),
  };
}
