/** The pages that services serve over HTTP, as their code registers them. */
import { createMetrics, noopLogger, serveHealth } from "@flotilla/runtime";
import { serveProcessPages } from "../../packages/auth/src/index.ts";
import { addPages as addCaPages } from "../../services/ca/src/serve/create-issuer.ts";
import { serveDebugPages as serveConfigPages } from "../../services/config-controller/src/app/pages.ts";
import { serveDebugPages as serveRegistryPages } from "../../services/service-controller/src/app/pages.ts";
import { serveInjectionPages } from "../../services/webhook/src/app/pages.ts";
import { createDebug } from "../../services/xds-server/src/debug/debug.ts";
import { serveOperatorPages } from "../../services/xds-server/src/debug/operator-pages.ts";
import type { DebugPage } from "../../services/xds-server/src/debug/page.ts";
import { serveDebugPages as serveProxyPages } from "../../services/xds-server/src/debug/pages.ts";

export interface ServedPage {
  /** `GET /debug/problems` */
  readonly request: string;
  readonly service: string;
}

/** Handlers are registered and never called: what they show need not be there. */
const nothing = {} as never;
const settings = { debugAuth: true, workDir: ".", namespace: "istio-system", pageWriters: [], apiWriters: [] };
const pages = { inEffect: nothing, settings: nothing, setLevel: nothing };
const frame = { settings, log: noopLogger, pages };
const access = { read: () => nothing, write: () => nothing, caller: nothing };

/** Requests that every service answers on its health port. */
export async function ownRequests(): Promise<readonly string[]> {
  await using health = await serveHealth({
    ...{ service: "any", version: "0", log: noopLogger, metrics: createMetrics() },
    ...{ host: "127.0.0.1", port: 0, setting: "HEALTH_PORT" },
  });
  const { pages: paths } = (await (await fetch(health.url)).json()) as { readonly pages: readonly string[] };
  return paths.map((path) => (path.startsWith("/") ? `GET ${path}` : path));
}

/** Pages that no function registers by itself. */
export const byHand: readonly ServedPage[] = [{ service: "config-controller", request: "GET /debug/api" }];

/** Debug pages, but for those of `proxyPages`. */
export function servedPages(): readonly ServedPage[] {
  return [
    ...registered("xds-server", (health) => {
      serveProxyPages(health as never, [], nothing);
      serveOperatorPages(health as never, { rules: nothing, pages, writers: [] });
    }),
    ...registered("config-controller", (health) =>
      serveConfigPages(
        { ...frame, health } as never,
        {
          ...{ view: { sources: [], store: nothing }, status: nothing, ledger: nothing, published: nothing },
          reviewer: undefined,
        } as never,
      ),
    ),
    // Registered where the API is opened.
    ...byHand,
    ...registered("service-controller", (health) =>
      serveRegistryPages({ ...frame, health } as never, { inputs: nothing, registry: nothing } as never),
    ),
    ...registered("ca", (health) => addCaPages(settings as never, { ...frame, health, status: nothing } as never)),
    ...registered("webhook", (health) => {
      serveProcessPages(health as never, access, pages);
      serveInjectionPages(health as never, access, nothing);
    }),
    ...registered("console", (health) => serveProcessPages(health as never, access, pages)),
  ];
}

/** Those of xds-server about the mesh and its proxies, with their own sentences. */
export function proxyPages(): readonly Pick<DebugPage, "path" | "help" | "scope" | "isUnsafe">[] {
  const options = { debugAuth: true, debugNamespaces: [], unsafePages: true };
  const metrics = createMetrics();
  const connected = { list: () => [] };
  return createDebug({ metrics, connected, settings: options, core: nothing, ingest: nothing } as never).pages;
}

function registered(service: string, serve: (health: unknown) => void): readonly ServedPage[] {
  const requests: string[] = [];
  serve({
    route: (method: string, path: string) => void requests.push(`${method} ${path}`),
    setCondition: () => undefined,
  });
  return requests.map((request) => ({ service, request }));
}
