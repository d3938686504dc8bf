/** The settings each service is started with, on one host. */
import type { Layout, ServiceName } from "./layout.ts";
import { healthPort, paths } from "./layout.ts";
import type { RunOptions } from "./options.ts";

export interface Shared {
  /** NATS, or the embedded bus. */
  readonly busUrl: string;
  /** Redis, or the embedded store. */
  readonly storeUrl: string;
}

export function environmentOf(
  service: ServiceName,
  options: RunOptions,
  layout: Layout,
  shared: Shared,
): Readonly<Record<string, string>> {
  const { ports, workDir } = layout;
  const place = paths(layout);
  const common = {
    HEALTH_HOST: "127.0.0.1",
    HEALTH_PORT: String(healthPort(service, ports)),
    BUS_URL: shared.busUrl,
    STORE_URL: shared.storeUrl,
    SEAL_KEY_FILE: place.sealKey,
    WORK_DIR: workDir,
    CA_ADDRESS: `127.0.0.1:${ports.ca}`,
    // On one host there is no cluster, be the host a pod of one; CLUSTER_KUBECONFIG names one that is meant.
    KUBERNETES_SERVICE_HOST: "",
  };
  return { ...options.settings, ...common, ...own(service, options, layout) };
}

function own(
  service: ServiceName,
  { config, mesh, networks }: RunOptions,
  { ports }: Layout,
): Readonly<Record<string, string>> {
  switch (service) {
    case "ca":
      return { CA_HOST: "127.0.0.1", CA_PORT: String(ports.ca) };
    case "config-controller":
      return {
        // The only one here: after a crash it need not wait for what it held itself.
        POD_NAME: service,
        API_PORT: String(ports.api),
        ...(config !== undefined && { CONFIG_DIR: config }),
        ...(mesh !== undefined && { MESH_CONFIG_FILE: mesh }),
        ...(networks !== undefined && { MESH_NETWORKS_FILE: networks }),
      };
    case "service-controller":
      return { POD_NAME: service, ...(config !== undefined && { CONFIG_DIR: config }) };
    case "xds-server":
      return {
        XDS_HOST: "127.0.0.1",
        XDS_PORT: String(ports.xds),
        XDS_TLS_PORT: String(ports.xdsTls),
        HTTP_PORT: String(ports.http),
      };
    case "webhook":
      return { WEBHOOK_HOST: "127.0.0.1", WEBHOOK_PORT: String(ports.webhook) };
  }
}
