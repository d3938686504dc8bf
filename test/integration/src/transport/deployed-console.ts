/** The console as k8s/components/console has it, beside the deployed services, and a caller over HTTPS who trusts the mesh's root. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { main } from "@flotilla/console-server";
import { noopLogger } from "@flotilla/runtime";
import { freePorts } from "@flotilla/servers";
import type { Cluster } from "./cluster.ts";
import { type Deployed, type Service, services } from "./deployed.ts";
import { objectsIn } from "./objects.ts";

interface Variable {
  readonly name: string;
  readonly value?: string;
}
interface ConsoleDeployment {
  readonly kind: string;
  readonly spec: {
    readonly template: { readonly spec: { readonly containers: readonly { env: readonly Variable[] }[] } };
  };
}

interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: the JSON of many endpoints, which each test knows
  readonly body: any;
  readonly cookie: string;
}

export interface DeployedConsole extends AsyncDisposable {
  readonly url: string;
  /** As a page of the console's own origin asks; `cookie`: of the session. */
  ask(method: string, path: string, cookie?: string, body?: unknown): Promise<Answer>;
}

/** With a token of its account for ca, and the settings of the component's container. */
export async function startDeployedConsole(
  directory: string,
  cluster: Cluster,
  deployed: Deployed,
): Promise<DeployedConsole> {
  const workDir = join(directory, "console");
  mkdirSync(workDir);
  const tokenFile = join(workDir, "token");
  writeFileSync(tokenFile, await cluster.token("flotilla-console", ["istio-ca"]), { mode: 0o600 });
  const stop = new AbortController();
  const port = await freePorts(2);
  const ready = Promise.withResolvers<number>();
  const running = main(
    {
      ...settingsOf(deployed),
      ...{ POD_NAMESPACE: "istio-system", POD_NAME: "console", WORK_DIR: workDir, TOKEN_FILE: tokenFile },
      ...{ CA_ADDRESS: `127.0.0.1:${deployed.ports.ca}`, CA_ROOT_FILE: cluster.rootFile, INTROSPECTION_PORT: "0" },
      ...{ CONSOLE_PORT: String(port), HEALTH_PORT: String(port + 1), HEALTH_HOST: "127.0.0.1" },
      CONSOLE_PAGE_DIR: workDir,
    },
    stop.signal,
    { log: noopLogger, onReady: ({ page }) => ready.resolve(page) },
  );
  running.catch(ready.reject);
  const url = `https://localhost:${await ready.promise}`;
  return {
    url,
    ask: (method, path, cookie, body) => ask(`${url}${path}`, { method, cookie, body, rootFile: cluster.rootFile }),
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await running;
    },
  };
}

/** The Services that lead to pods are processes of this host. */
function settingsOf(deployed: Deployed): Readonly<Record<string, string>> {
  const deployment = (objectsIn("k8s/components/console") as readonly object[] as readonly ConsoleDeployment[]).find(
    ({ kind }) => kind === "Deployment",
  );
  const variables = deployment?.spec.template.spec.containers[0]?.env ?? [];
  const placed = variables.flatMap(({ name, value }) => {
    const service = /http:\/\/flotilla-console-([a-z-]+)\.istio-system\.svc:\d+/.exec(value ?? "")?.[1];
    if (service === undefined) return value === undefined ? [] : [[name, value] as const];
    if (!services.includes(service as Service)) throw new Error(`${name} names no service: ${value}`);
    return [[name, `${service}=${deployed.pages(service as Service)}`] as const];
  });
  return Object.fromEntries(placed);
}

function ask(
  url: string,
  {
    method,
    cookie,
    body,
    rootFile,
  }: {
    readonly method: string;
    readonly cookie: string | undefined;
    readonly body: unknown;
    readonly rootFile: string;
  },
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const headers = {
    ...(cookie !== undefined && { cookie }),
    ...(method !== "GET" && { origin: new URL(url).origin, "sec-fetch-site": "same-origin" }),
    ...(body !== undefined && { "content-type": "application/json" }),
  };
  const sent = request(url, { method, headers, ca: readFileSync(rootFile) }, async (response) => {
    let text = "";
    for await (const chunk of response.setEncoding("utf8")) text += String(chunk);
    const [given = ""] = response.headers["set-cookie"] ?? [];
    resolve({ status: response.statusCode ?? 0, body: text === "" ? undefined : JSON.parse(text), cookie: given });
  });
  sent.once("error", reject);
  sent.end(body === undefined ? undefined : JSON.stringify(body));
  return promise;
}
