/** The pages that services serve over HTTP, as their code registers them. */
import { createMetrics, noopLogger } from "@flotilla/runtime";
import { addPages as addCaPages } from "../../services/ca/src/serve/create-issuer.ts";
import { serveDebugPages as serveConfigPages } from "../../services/config-controller/src/app/pages.ts";
import { serveDebugPages as serveRegistryPages } from "../../services/service-controller/src/app/pages.ts";
import { serveInjectionPages } from "../../services/webhook/src/app/pages.ts";
import { createDebug } from "../../services/xds-server/src/debug/debug.ts";
import type { DebugPage } from "../../services/xds-server/src/debug/page.ts";

export interface ServedPage {
  /** `GET /debug/problems` */
  readonly request: string;
  readonly service: string;
}

/** Handlers are registered and never called: what they show need not be there. */
const nothing = {} as never;
const settings = { debugAuth: true, workDir: ".", namespace: "istio-system", pageWriters: [], apiWriters: [] };
const frame = { settings, log: noopLogger, pages: nothing };

export function servedPages(): readonly ServedPage[] {
  return [
    ...registered("config-controller", (health) =>
      serveConfigPages(
        { ...frame, health } as never,
        {
          ...{ view: { sources: [], store: nothing }, status: nothing, ledger: nothing, published: nothing },
          reviewer: undefined,
        } as never,
      ),
    ),
    ...registered("service-controller", (health) =>
      serveRegistryPages({ ...frame, health } as never, { inputs: nothing, registry: nothing } as never),
    ),
    ...registered("ca", (health) => addCaPages(settings as never, { ...frame, health, status: nothing } as never)),
    ...registered("webhook", (health) =>
      serveInjectionPages(health as never, { read: (handler: unknown) => handler } as never, nothing),
    ),
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
