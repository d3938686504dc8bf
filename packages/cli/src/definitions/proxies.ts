/** Commands on connected proxies, with the words and tables of istioctl. */
import { define } from "../parse/definition.ts";
import { optional, required, text } from "../parse/option-kinds.ts";
import { connection, output } from "./option-groups.ts";

const group = "State of the mesh:";

export const proxyStatus = define({
  name: "proxy-status",
  aliases: ["ps"],
  progress: "asking xds-server",
  group,
  summary: "show for every connected proxy whether it has acknowledged what it was sent",
  details:
    "SYNCED: acknowledged; STALE: sent and not acknowledged yet; ERROR: rejected, with the reason for one proxy and with -o wide; NOT SENT: nothing was sent.",
  operands: { proxy: optional("PROXY", "name.namespace: one proxy, type by type") },
  options: { ...output, ...connection },
  examples: [
    ["proxy-status", "all proxies"],
    ["proxy-status web.shop", "one proxy: versions, times, reasons of rejections"],
  ],
  exitCodes: { 0: "no proxy rejects anything", 3: "a proxy rejects something", 4: "no xds-server answers" },
});

export const proxyConfig = define({
  name: "proxy-config",
  aliases: ["pc"],
  progress: "asking xds-server",
  group,
  summary: "show the clusters, listeners, routes, endpoints or names of secrets that a proxy gets",
  details: "It is what xds-server sends; an Envoy that rejected a part of it has the former one.",
  operands: {
    part: {
      ...required("PART", "clusters, listeners, routes, endpoints, secrets or all, or the short names of istioctl"),
      values: ["clusters", "listeners", "routes", "endpoints", "secrets", "all"],
    },
    proxy: required("PROXY", "name.namespace, as proxy-status lists them"),
  },
  options: {
    name: text("--name <TEXT>", "only resources that have this text in their name"),
    ...output,
    ...connection,
  },
  examples: [
    ["proxy-config clusters web.shop", "the clusters of a proxy"],
    ["proxy-config routes web.shop --name 80 -o json", "one route configuration, whole"],
  ],
  exitCodes: { 0: "it is shown", 1: "there is no such proxy" },
});
