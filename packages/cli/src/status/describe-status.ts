/** The text of `flotilla status`. */
import { ignoredText } from "../api/api-client.ts";
import { describeObject } from "../object-status.ts";
import { columns, counted, type Format } from "../output.ts";
import type { Problem, ServiceState, Status, Sync } from "./collect-status.ts";

export function describeStatus(status: Status, format: Format): string {
  const { services, proxies, objects, problems, ignored, findings } = status;
  return [
    servicesText(services, format),
    proxies === undefined ? "proxies unknown: no xds-server answers" : proxiesText(proxies),
    ...(objects === undefined ? [] : [objectsText(objects)]),
    ...problemsText(problems),
    ignored.map(({ source, ...kind }) => `${source}: ${ignoredText(kind)}`).join("\n"),
    findings.length === 0
      ? ""
      : section(
          `${findings.length} conflicts and errors in the configuration of proxies`,
          findings.map(({ object, message }) => `  ${object}  ${message}`),
        ),
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

function servicesText(services: readonly ServiceState[], format: Format): string {
  const isWide = format === "wide";
  const rows = services.map(({ name, state, pid, restarts, url, detail }) => [
    name,
    state,
    pid === undefined ? "-" : String(pid),
    restarts === undefined ? "-" : String(restarts),
    ...(isWide ? [url] : []),
    detail,
  ]);
  return columns([["SERVICE", "STATE", "PID", "RESTARTS", ...(isWide ? ["PAGES"] : []), "DETAIL"], ...rows]);
}

function objectsText({ total, generation, objects }: NonNullable<Status["objects"]>): string {
  const live = total - objects.length;
  const title = `${counted(total, "object")}, generation ${generation}: ${live} in effect on every proxy that they concern`;
  return section(
    title,
    objects.map((object) => indent(describeObject(object))),
  );
}

/** Types in the order in which people name them, by the end of their URL. */
const types = { CDS: "Cluster", LDS: "Listener", RDS: "RouteConfiguration", EDS: "ClusterLoadAssignment" };

function proxiesText(proxies: readonly Sync[]): string {
  const rows = proxies.map(({ proxy, resources = {} }) => [
    proxy,
    ...Object.values(types).map((suffix) => {
      const found = Object.entries(resources).find(([url]) => url.endsWith(`.${suffix}`))?.[1];
      if (found?.lastError !== undefined) return `rejected: ${found.lastError.replaceAll(/\s+/g, " ")}`;
      if (found?.sent === undefined) return "-";
      return found.sent === found.acked ? "synced" : "sent";
    }),
  ]);
  const table = columns([["PROXY", ...Object.keys(types)], ...rows]);
  return section(counted(proxies.length, "proxy", "proxies"), proxies.length === 0 ? [] : [indent(table)]);
}

/** Both controllers read the directory: a file that neither can read is one problem. */
function problemsText(problems: readonly Problem[]): readonly string[] {
  const ofConfig = new Set(problems.filter(({ service }) => service === "config-controller").map(problemText));
  return ["config-controller", "service-controller"].map((service) => {
    const texts = problems.filter((problem) => problem.service === service).map(problemText);
    const own = service === "config-controller" ? texts : texts.filter((text) => !ofConfig.has(text));
    return own.length === 0 ? "" : section(`${own.length} refused by ${service}`, own);
  });
}

function problemText({ object, file, line, field, reason }: Problem): string {
  const where =
    file === undefined || file === "" ? "" : `${file}${line === undefined || line === 0 ? "" : `:${line}`} `;
  return `  ${`${where}${object ?? ""} ${field ?? ""} ${reason ?? ""}`.replaceAll(/ +/g, " ").trim()}`;
}

function section(title: string, lines: readonly string[]): string {
  return [title, ...lines].join("\n");
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, "  ");
}
