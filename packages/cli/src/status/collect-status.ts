/** Everything that `flotilla status` shows, from the pages of the services. */

import type { IgnoredKind } from "../api/api-client.ts";
import { type Connection, pages, type ServiceAddress, serviceAddresses } from "../connection.ts";
import type { ObjectStatus } from "../object-status.ts";
import { type Health, healthOf } from "../supervise/health.ts";

export interface Status {
  readonly services: readonly ServiceState[];
  /** Undefined when no xds-server answers. */
  readonly proxies: readonly Sync[] | undefined;
  /** Undefined when config-controller does not answer. */
  readonly objects: ObjectsPage | undefined;
  readonly problems: readonly Problem[];
  /** Objects of foreign kinds beside configuration, such as Deployments. */
  readonly ignored: readonly (IgnoredKind & { readonly source: string })[];
  /** Conflicts and errors that xds-server met. */
  readonly findings: readonly { readonly object: string; readonly message: string }[];
  /** Objects that validation refuses, files that cannot be read, resources that proxies refuse. */
  readonly refusals: number;
}

export interface ServiceState {
  readonly name: string;
  readonly state: Health["state"] | "restarting";
  readonly detail: string;
  readonly url: string;
  readonly pid?: number;
  readonly restarts?: number;
}

/** Of one proxy, as `/debug/syncz` of xds-server has it. */
export interface Sync {
  readonly proxy: string;
  readonly resources?: Readonly<
    Record<string, { readonly sent?: string; readonly acked?: string; readonly lastError?: string }>
  >;
}

/** Answer of `/debug/objects` of config-controller. */
interface ObjectsPage {
  readonly generation: number;
  readonly total: number;
  readonly objects: readonly ObjectStatus[];
}

/** Of `/debug/problems` of a controller. */
export interface Problem {
  readonly service: string;
  readonly object?: string;
  readonly file?: string;
  readonly line?: number;
  readonly field?: string;
  readonly reason?: string;
}

type Findings = Readonly<Record<string, Readonly<Record<string, { readonly message: string }>>>>;

/** @throws CliError CLI_NOT_RUNNING when no control plane runs with the work directory */
export async function collectStatus(connection: Connection): Promise<Status> {
  const services = await Promise.all(
    serviceAddresses(connection).map(async ({ name, replica = name, ...address }): Promise<ServiceState> => {
      return { name: replica, ...(await stateOf(address)), ...address };
    }),
  );
  const all = <T>(service: string, path: string) => pages<T>(service, connection, path);
  const synced = await all<readonly Sync[]>("xds-server", "/debug/syncz");
  const proxies = synced.length === 0 ? undefined : sortByProxy(synced.flat());
  const [objects] = await all<ObjectsPage>("config-controller", "/debug/objects?open=true");
  const { problems, ignored } = await problemsOf(connection);
  const findings = (await all<Findings>("xds-server", "/debug/push_status"))
    .flatMap((page) => Object.values(page))
    .flatMap((kind) => Object.entries(kind).map(([object, { message }]) => ({ object, message })));
  const refusals = countRefusals(objects, problems, proxies ?? []);
  const shown = { proxies, objects, problems, ignored, findings: distinct(findings) };
  return { services, ...shown, refusals };
}

/** A record with a count of restarts is of this host: without a process the replica is started again just now. */
async function stateOf({
  url,
  pid,
  restarts,
}: Omit<ServiceAddress, "name">): Promise<Pick<ServiceState, "state" | "detail">> {
  if (restarts !== undefined && pid === undefined) return { state: "restarting", detail: "" };
  const health = await healthOf({ healthUrl: url, pid });
  return health.state === "away" && health.detail === "" ? { ...health, detail: `no answer at ${url}` } : health;
}

async function problemsOf(connection: Connection): Promise<Pick<Status, "problems" | "ignored">> {
  const controllers = ["config-controller", "service-controller"];
  const found = await Promise.all(
    controllers.map(async (service) => {
      const [page] = await pages<Partial<Pick<Status, "problems" | "ignored">>>(service, connection, "/debug/problems");
      const problems = (page?.problems ?? []).map((problem) => ({ ...problem, service }));
      return { problems, ignored: page?.ignored ?? [] };
    }),
  );
  return { problems: found.flatMap(({ problems }) => problems), ignored: found.flatMap(({ ignored }) => ignored) };
}

function countRefusals(
  objects: ObjectsPage | undefined,
  problems: readonly Problem[],
  proxies: readonly Sync[],
): number {
  const refused = (objects?.objects ?? []).filter(
    ({ state, inForce }) => state === "refused" || (inForce?.distribution.refusals.length ?? 0) > 0,
  );
  const errors = proxies.flatMap(({ resources = {} }) => Object.values(resources).filter(({ lastError }) => lastError));
  return refused.length + problems.length + errors.length;
}

function sortByProxy(proxies: readonly Sync[]): readonly Sync[] {
  return proxies.toSorted((a, b) => (a.proxy < b.proxy ? -1 : 1));
}

/** Replicas report the same. */
function distinct<T>(items: readonly T[]): readonly T[] {
  return [...new Map(items.map((item) => [JSON.stringify(item), item])).values()];
}
