/** The settings each service is started with, on one host. */
import { healthPort, paths, type ServiceName } from "./layout.ts";
import type { RunOptions } from "./options.ts";
import type { Instance } from "./supervise/instances.ts";

export interface Shared {
  /** NATS, or the embedded bus. */
  readonly busUrl: string;
  /** Redis, or the embedded store. */
  readonly storeUrl: string;
  /** The same addresses with the credentials of a service, which has those that it needs. */
  settingsOf(service: ServiceName): Readonly<Record<string, string>>;
}

export function environmentOf(
  instance: Instance,
  options: RunOptions,
  workDir: string,
  shared: Shared,
): Readonly<Record<string, string>> {
  const { name, ports } = instance;
  const common = {
    HEALTH_PORT: String(healthPort(name, ports)),
    ...shared.settingsOf(name),
    SEAL_KEY_FILE: paths({ workDir }).sealKey,
    WORK_DIR: workDir,
    CA_ADDRESS: `127.0.0.1:${ports.ca}`,
    // On one host there is no cluster, be the host a pod of one; CLUSTER_KUBECONFIG names one that is meant.
    KUBERNETES_SERVICE_HOST: "",
    // After a crash a replica need not wait for what it held itself under its name.
    ...(name === "ca" || name === "webhook" ? {} : { POD_NAME: instance.replica }),
  };
  // Pages are for this host unless a setting opens them.
  return {
    // The well-known port is that of xds-server; the others log theirs.
    ...(name !== "xds-server" && { INTROSPECTION_PORT: "0" }),
    ...{ HEALTH_HOST: "127.0.0.1", ...options.settings, ...common, ...own(instance, options) },
    ...options.binding?.(name),
  };
}

function own({ name, ports }: Instance, { config, mesh, networks }: RunOptions): Readonly<Record<string, string>> {
  switch (name) {
    case "ca":
      return { CA_HOST: "127.0.0.1", CA_PORT: String(ports.ca) };
    case "config-controller":
      return {
        API_PORT: String(ports.api),
        ...(config !== undefined && { CONFIG_DIR: config }),
        ...(mesh !== undefined && { MESH_CONFIG_FILE: mesh }),
        ...(networks !== undefined && { MESH_NETWORKS_FILE: networks }),
      };
    case "service-controller":
      return config === undefined ? {} : { CONFIG_DIR: config };
    case "xds-server":
      return {
        XDS_HOST: "127.0.0.1",
        XDS_PORT: String(ports.xds),
        XDS_TLS_PORT: String(ports.xdsTls),
        HTTP_PORT: String(ports.http),
        DEBUG_URL: `http://127.0.0.1:${ports.xdsHealth}`,
      };
    case "webhook":
      return { WEBHOOK_HOST: "127.0.0.1", WEBHOOK_PORT: String(ports.webhook) };
    case "console":
      return { CONSOLE_HOST: "127.0.0.1", CONSOLE_PORT: String(ports.console) };
  }
}
