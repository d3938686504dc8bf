/** The profile `observability` of docker-compose.yml: Prometheus scrapes every service, Grafana finds it and the dashboard. */
import { join } from "node:path";
import { defaultPorts } from "@flotilla/runtime";
import { parse } from "yaml";
import type { Check, Compose, ComposeService, Read } from "./files.ts";

const folder = "compose/observability";
const services: Readonly<Record<string, number>> = {
  "xds-server": defaultPorts.xdsServer.health,
  "config-controller": defaultPorts.configController.health,
  "service-controller": defaultPorts.serviceController.health,
  ca: defaultPorts.ca.health,
  webhook: defaultPorts.webhook.health,
  console: defaultPorts.console.health,
};

interface PrometheusFile {
  readonly rule_files: readonly string[];
  readonly scrape_configs: readonly {
    readonly job_name: string;
    readonly dns_sd_configs: readonly { readonly names: readonly string[]; readonly port: number }[];
    readonly relabel_configs: readonly { readonly target_label: string; readonly replacement?: string }[];
  }[];
}

export function checkComposeObservability({ services: containers }: Compose, read: Read, check: Check): void {
  const { prometheus, grafana } = containers;
  for (const [name, container] of Object.entries({ prometheus, grafana })) {
    check(
      container?.profiles?.join() === "observability",
      `docker-compose.yml: ${name} is not of the profile observability`,
    );
    for (const port of container?.ports ?? [])
      check(port.startsWith("127.0.0.1:"), `docker-compose.yml: ${name} is published beyond this host`);
  }
  if (prometheus !== undefined) checkPrometheus(prometheus, containers, read, check);
  if (grafana !== undefined) checkGrafana(grafana, containers, read, check);
}

function checkPrometheus(prometheus: ComposeService, containers: Compose["services"], read: Read, check: Check): void {
  const file = `${folder}/prometheus.yaml`;
  const { rule_files: rules, scrape_configs: jobs } = parse(read(file)) as PrometheusFile;
  const option = `--config.file=${targetOf(prometheus, file)}`;
  check(prometheus.command?.includes(option) === true, `docker-compose.yml: prometheus is not started with ${option}`);
  check(
    rules.join() === targetOf(prometheus, "k8s/observability/rules.yaml"),
    `${file}: the rules are not those of k8s/observability`,
  );
  const scraped = new Map(
    jobs.flatMap(({ dns_sd_configs: found }) => found.flatMap(({ names, port }) => names.map((name) => [name, port]))),
  );
  for (const [name, port] of Object.entries(services))
    check(
      name in containers && scraped.get(name) === port,
      `${file}: ${name} is scraped at port ${scraped.get(name)}, and shows its metrics at ${port}`,
    );
  check(scraped.size === Object.keys(services).length, `${file}: something is scraped that is no service`);
  const labelled = jobs.filter(({ relabel_configs: all }) => all.some(({ replacement }) => replacement === "istiod"));
  check(labelled.map(({ job_name: name }) => name).join() === "xds-server", `${file}: xds-server is not app istiod`);
}

function checkGrafana(grafana: ComposeService, containers: Compose["services"], read: Read, check: Check): void {
  const source = `${folder}/grafana-datasource.yaml`;
  const [{ url = "", type = "" } = {}] = (
    parse(read(source)) as { readonly datasources: readonly { readonly url: string; readonly type: string }[] }
  ).datasources;
  check(type === "prometheus" && new URL(url).hostname in containers, `${source}: ${url} is no Prometheus of Compose`);
  const provider = `${folder}/grafana-dashboards.yaml`;
  const [{ options: { path = "" } = {} } = {}] = (
    parse(read(provider)) as { readonly providers: readonly { readonly options: { readonly path: string } }[] }
  ).providers;
  const dashboard = targetOf(grafana, "k8s/observability/dashboard.json") ?? "";
  check(dashboard.startsWith(join(path, "/")), `${provider}: ${path} does not have the dashboard ${dashboard}`);
  const provisioning = "/etc/grafana/provisioning/";
  for (const [file, kind] of [
    [source, "datasources"],
    [provider, "dashboards"],
  ] as const)
    check(
      targetOf(grafana, file)?.startsWith(`${provisioning}${kind}/`) === true,
      `docker-compose.yml: grafana does not read ${file}`,
    );
}

/** Where a file of the project is seen in a container. */
function targetOf({ volumes = [] }: ComposeService, file: string): string | undefined {
  const mounts = volumes.filter((mount) => typeof mount === "string").map((mount) => mount.split(":"));
  return mounts.find(([source]) => source === `./${file}`)?.[1];
}
