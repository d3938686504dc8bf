/** Questions to the pages of the services of a control plane. */
import { openLocalIssuer } from "@flotilla/auth";
import { defaultPorts } from "@flotilla/runtime";
import { CliError, type CliErrorCode } from "./errors.ts";
import { runningIn } from "./running.ts";

/** Where the control plane is: the options of `connection` in `definitions/option-groups.ts`. */
export interface Connection {
  readonly workDir: string;
  /** `SERVICE=URL`, `http://HOST` for all services at their default ports, or the URL of the one service that is asked. */
  readonly url: readonly string[];
}

export interface ServiceAddress {
  readonly name: string;
  /** Name of the replica, where a host runs several. */
  readonly replica?: string;
  readonly url: string;
  /** Absent while the process is started again, or where it is not known. */
  readonly pid?: number;
  readonly restarts?: number;
}

const pagePorts: Readonly<Record<string, number>> = {
  ca: defaultPorts.ca.health,
  "config-controller": defaultPorts.configController.health,
  "service-controller": defaultPorts.serviceController.health,
  "xds-server": defaultPorts.xdsServer.health,
  webhook: defaultPorts.webhook.health,
};

/** Every replica of every service. @throws CliError CLI_NOT_RUNNING, CLI_USAGE */
export function serviceAddresses({ workDir, url }: Connection): readonly ServiceAddress[] {
  if (url.length > 0) return url.flatMap((given) => addressesOf(given));
  return runningIn(workDir).services.map(({ name, replica, healthUrl, pid, restarts }) => ({
    name,
    replica,
    url: healthUrl,
    restarts,
    ...(pid !== undefined && { pid }),
  }));
}

/** @throws CliError CLI_USAGE */
function addressesOf(given: string): readonly ServiceAddress[] {
  const [, service, text = ""] = /^(?:([a-z-]+)=)?(.*)$/.exec(given) ?? [];
  const parsed = URL.canParse(text) ? new URL(text) : undefined;
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol))
    throw new CliError("CLI_USAGE", `--url ${given} is neither URL nor SERVICE=URL`);
  const base = text.replace(/\/+$/, "");
  if (service === "api") return [];
  if (service !== undefined && !(service in pagePorts))
    throw new CliError("CLI_USAGE", `--url ${given}: there is no service ${service}, only ${services}`);
  if (service !== undefined) return [{ name: service, url: base }];
  // Without a port it is a host, on which each service has its own.
  const isHost = parsed.port === "" && parsed.pathname === "/";
  return Object.entries(pagePorts).map(([name, port]) => ({ name, url: isHost ? `${base}:${port}` : base }));
}

const services = [...Object.keys(pagePorts), "api"].join(", ");

/** Addresses of the pages of a service, one a replica. @throws CliError CLI_NOT_RUNNING */
export function pagesUrls(service: string, connection: Connection): readonly [string, ...string[]] {
  const [first, ...others] = serviceAddresses(connection)
    .filter(({ name }) => name === service)
    .map(({ url }) => url);
  if (first !== undefined) return [first, ...others];
  const where = connection.url.length > 0 ? "among --url" : `with the work directory ${connection.workDir}`;
  throw new CliError("CLI_NOT_RUNNING", `no ${service} ${where}`);
}

/** Where the API of config-controller is, when that is given: `--url api=URL`, or the host of `--url http://HOST`. */
export function givenApiUrl({ url }: Connection): string | undefined {
  const own = url.find((given) => given.startsWith("api="));
  if (own !== undefined) return own.slice("api=".length);
  const host = url.find((given) => /^https?:\/\/[^/:]+\/?$/.test(given) || /^https?:\/\/\[[^\]]+\]\/?$/.test(given));
  return host === undefined ? undefined : `https://${new URL(host).hostname}:${defaultPorts.configController.api}`;
}

const codes: Readonly<Record<number, CliErrorCode>> = { 400: "CLI_USAGE", 403: "CLI_REFUSED", 404: "CLI_ABSENT" };
const answerMs = 15_000;

/**
 * The JSON of a page. Replicas are asked in turn until one has an answer: a proxy is known to the one it is connected to.
 * @throws CliError CLI_NOT_RUNNING; CLI_ABSENT, CLI_USAGE, CLI_REFUSED, CLI_FAILED with the reason of the service
 */
export async function ask<Answer>(
  service: string,
  connection: Connection,
  path: string,
  query: Readonly<Record<string, string | undefined>> = {},
): Promise<Answer> {
  const known = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const suffix = known.length === 0 ? "" : `?${new URLSearchParams(known)}`;
  const failures: CliError[] = [];
  for (const base of pagesUrls(service, connection)) {
    try {
      return await askAt<Answer>(service, base, `${path}${suffix}`, connection);
    } catch (error) {
      if (!(error instanceof CliError) || (error.code !== "CLI_ABSENT" && error.code !== "CLI_NOT_RUNNING"))
        throw error;
      failures.push(error);
    }
  }
  throw failures.find(({ code }) => code === "CLI_ABSENT") ?? failures[0];
}

/** The JSON of a page of every replica that answers. */
export async function pages<Answer>(service: string, connection: Connection, path: string): Promise<readonly Answer[]> {
  const addresses = serviceAddresses(connection).filter(({ name }) => name === service);
  const asked = await Promise.allSettled(addresses.map(({ url }) => askAt<Answer>(service, url, path, connection)));
  return asked.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
}

/** The JSON of a page of the replica at `base`. @throws CliError as `ask` */
export async function askAt<Answer>(
  service: string,
  base: string,
  path: string,
  connection: Connection,
): Promise<Answer> {
  const response = await requestAt(base, { service, path, method: "GET" }, connection);
  if (response.ok) return (await response.json()) as Answer;
  throw new CliError(codes[response.status] ?? "CLI_FAILED", errorOf(await response.text()));
}

interface PageRequest {
  readonly service: string;
  readonly path: string;
  readonly method: string;
  readonly body?: string;
}

/** The answer of a page, whatever its status. @throws CliError CLI_NOT_RUNNING */
export async function requestAt(
  base: string,
  { service, path, method, body }: PageRequest,
  connection: Connection,
): Promise<Response> {
  const headers = await authorizationFor(base, connection);
  const init = { headers, method, signal: AbortSignal.timeout(answerMs), ...(body !== undefined && { body }) };
  return fetch(`${base}${path}`, init).catch((cause: unknown) => {
    throw new CliError("CLI_NOT_RUNNING", `${service} does not answer at ${base}`, { cause });
  });
}

const tokenTtlMs = 300_000;

/**
 * Services on other hosts that the work directory records, as containers of one network have it, get a token of its issuer. A service that
 * `--url` names gets none: the party that answers there is unknown.
 */
async function authorizationFor(
  base: string,
  { workDir, url }: Connection,
): Promise<{ readonly authorization?: string }> {
  if (url.length > 0 || isOwnHost(base)) return {};
  const issuer = await openLocalIssuer(workDir);
  const token = await issuer.mintToken({
    namespace: "istio-system",
    serviceAccount: "flotilla-admin",
    ttlMs: tokenTtlMs,
  });
  return { authorization: `Bearer ${token}` };
}

export function isOwnHost(url: string): boolean {
  return /^(127\.|\[::1\]$|localhost$)/.test(new URL(url).hostname);
}

function errorOf(text: string): string {
  try {
    const { error } = JSON.parse(text) as { readonly error?: unknown };
    if (typeof error === "string") return error;
  } catch {
    // Not JSON: the text itself is the reason.
  }
  return text.trim();
}

/** By the label `app.kubernetes.io/name` of the pods. */
const podPorts: Readonly<Record<string, number>> = Object.fromEntries(
  Object.entries(pagePorts).map(([service, port]) => [`flotilla-${service}`, port]),
);

interface ReachableOptions extends AsyncDisposable {
  readonly options: Readonly<Record<string, unknown>>;
}

/**
 * A control plane in a cluster: ports of this host that lead to the pages of its pods, in place of `--url`. With
 * `--context` the options have a URL for each pod of the control plane. @throws CliError; KubeError
 */
export async function reachCluster(options: Readonly<Record<string, unknown>>): Promise<ReachableOptions> {
  const { context, kubeconfig, meshNamespace: namespace, url } = options;
  if (typeof context !== "string" || typeof namespace !== "string")
    return { options, [Symbol.asyncDispose]: async () => undefined };
  if (Array.isArray(url) && url.length > 0)
    throw new CliError("CLI_USAGE", "--context and --url name two control planes: give one of them");
  // Loaded for clusters only: it takes a second.
  const { forwardPods } = await import("@flotilla/kube-api");
  const file = typeof kubeconfig === "string" ? kubeconfig : undefined;
  const target = { namespace, labels: "app.kubernetes.io/part-of=flotilla", ports: podPorts };
  const forwarded = await forwardPods({ file, context }, target);
  if (forwarded.pods.length === 0) {
    await forwarded[Symbol.asyncDispose]();
    throw new CliError("CLI_NOT_RUNNING", `no pod of a control plane runs in namespace ${namespace} of ${context}`);
  }
  const urls = forwarded.pods.map(({ app, port }) => `${app.replace(/^flotilla-/, "")}=http://127.0.0.1:${port}`);
  return { options: { ...options, url: urls }, [Symbol.asyncDispose]: () => forwarded[Symbol.asyncDispose]() };
}
