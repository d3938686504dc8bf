/** Commands that show what the control plane does. */
import { define } from "../parse/definition.ts";
import { choice, count, duration, flag, optional, optionalCount, required } from "../parse/option-kinds.ts";
import { connection, output, workDir } from "./option-groups.ts";

const group = "State of the mesh:";

export const status = define({
  name: "status",
  progress: "asking the services",
  group,
  summary: "show services, proxies, and objects that are refused or not yet in effect",
  operands: {
    object: optional(
      "KIND/NAME.NAMESPACE",
      "one object: the proxies where it is in effect, those that reject it, and why",
    ),
  },
  options: { ...output, ...connection },
  examples: [
    ["status", "the whole mesh"],
    ["status VirtualService/reviews.shop", "one object"],
  ],
  exitCodes: {
    0: "every service is ready, nothing is refused",
    3: "a service is not ready, or an object is refused by validation or by a proxy",
    4: "no service answers",
  },
});

export const consoleCommand = define({
  name: "console",
  group,
  summary: "print the address of the console, and open it in a browser",
  details:
    "The console asks for a token of the caller, and the command prints how to get one: the token decides what the console shows.",
  operands: {},
  options: { printOnly: flag("--print-only", "do not open a browser"), workDir },
  examples: [
    ["console", "the console of the control plane that runs here"],
    ["console --print-only", "on a host without a browser"],
  ],
  exitCodes: { 0: "the console answers", 4: "no console runs with the work directory" },
});

const askable = ["xds-server", "config-controller", "service-controller", "ca", "webhook"] as const;

export const check = define({
  name: "check",
  progress: "checking this host and the services",
  group,
  summary: "check this host and the control plane that runs, with remedies",
  details:
    "Node, open files, memory, the work directory; where a control plane runs its services, versions, clocks and certificates, else whether its ports are free. With --context the rights of its accounts in the cluster, with --kubeconfig alone those of its user, each missing one with the line of the manifest that grants it.",
  operands: {},
  options: { ...output, ...connection },
  examples: [
    ["check", "before a control plane is started, and while it runs"],
    ["check --context prod", "the control plane of a cluster, and the rights of its accounts"],
    ["check --kubeconfig admin.yaml", "whether a local control plane may use this cluster"],
  ],
  exitCodes: { 0: "nothing failed; there may be warnings", 3: "a check failed" },
});

export const request = define({
  name: "request",
  progress: "waiting for the answer",
  group,
  summary: "send a request to a page of a service and print its answer",
  details: "As `pilot-discovery request`; each replica of the service is asked in turn until one answers with success.",
  operands: {
    method: { ...required("METHOD", "GET, POST, PUT or DELETE"), values: ["GET", "POST", "PUT", "DELETE"] },
    path: required("PATH", "/debug/syncz, /ready, /metrics, …; / lists all pages of the service"),
    body: optional("BODY", "body of the request"),
  },
  options: { service: choice("--service <SERVICE>", "the service that is asked", askable), ...connection },
  examples: [
    ["request GET /debug/syncz", "the versions that every proxy has acknowledged"],
    ["request GET / --service ca", "the pages of ca"],
  ],
});

export const wait = define({
  name: "wait",
  progress: "waiting for the proxies",
  group,
  summary: "wait until an object is in effect on the proxies that it concerns",
  operands: { object: required("KIND/NAME.NAMESPACE", "the object") },
  options: {
    for: choice("--for <CONDITION>", "condition to wait for", ["distribution"]),
    timeout: duration("--timeout <DURATION>", "longest time to wait", "30s"),
    threshold: count("--threshold <PERCENT>", "share of the concerned proxies that is enough", {
      least: 0,
      most: 100,
      initial: 100,
    }),
    generation: optionalCount("--generation <NUMBER>", "metadata.generation that the object must have at least", {
      least: 0,
      most: Number.MAX_SAFE_INTEGER,
    }),
    ...connection,
  },
  examples: [["wait --for=distribution vs/reviews.shop --timeout 60s", "until the route is live"]],
  exitCodes: {
    0: "in effect",
    1: "not in effect within the time",
    3: "refused by validation or by too many proxies for the threshold, or nothing is generated from it",
  },
});

export const history = define({
  name: "history",
  progress: "reading the history",
  group,
  summary: "list the generations of the configuration: changes, times, authors",
  operands: { object: optional("KIND/NAME.NAMESPACE", "only generations that changed this object") },
  options: {
    limit: count("--limit <COUNT>", "how many generations", { least: 1, most: 10_000, initial: 50 }),
    ...output,
    ...connection,
  },
  examples: [["history VirtualService/reviews.shop", "the history of one object"]],
});

export const explain = define({
  name: "explain",
  progress: "asking the services",
  group,
  summary: "show why a proxy has a resource as it is",
  operands: {
    proxy: required("PROXY", "name.namespace, as status lists them"),
    type: {
      ...required("TYPE", "cds, lds, rds, eds, sds, …"),
      values: ["cds", "lds", "rds", "eds", "sds", "ecds", "nds"],
    },
    name: required("NAME", "name of the resource"),
  },
  options: { ...output, ...connection },
  examples: [["explain web.shop rds 80", "the routes of port 80"]],
});
