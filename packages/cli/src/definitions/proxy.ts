/** Commands that bring a proxy of one's own into the mesh. */
import { define } from "../parse/definition.ts";
import { choice, count, duration, existing, list, optionalCount, path, text, textOr } from "../parse/option-kinds.ts";
import { connection, output } from "./option-groups.ts";

const group = "A proxy of one's own:";
const workload = "Workload:";
const port = { least: 1, most: 65_535 };

const proxyOptions = {
  for: choice("--for <PROGRAM>", "program: a stock Envoy, or Istio's pilot-agent with a stock Envoy", [
    "envoy",
    "pilot-agent",
  ]),
  name: { ...textOr("--name <NAME>", "name of the workload", "proxy"), group: workload },
  namespace: { ...textOr("-n, --namespace <NAMESPACE>", "namespace of the workload", "default"), group: workload },
  serviceAccount: {
    ...textOr("--service-account <NAME>", "service account of the workload", "default"),
    group: workload,
  },
  label: { ...list("--label <KEY=VALUE>", "label of the workload"), group: workload },
  address: { ...textOr("--address <IP>", "address of the workload", "127.0.0.1"), group: workload },
  type: { ...choice("--type <TYPE>", "kind of proxy", ["sidecar", "router"]), group: workload },
  out: path("--out <DIR>", "directory for the files; else proxies/NAME.NAMESPACE in the work directory"),
  adminPort: optionalCount("--admin-port <PORT>", "Envoy's admin page; else 15000, with run a free port", port),
  statusPort: optionalCount("--status-port <PORT>", "pilot-agent's readiness; else 15021, with run a free port", port),
  tokenTtl: duration("--token-ttl <DURATION>", "lifetime of the token of the local issuer", "24h"),
  tokenFile: existing(
    "--token-file <FILE>",
    "token of the service account; else one of the local issuer is used",
    "file",
  ),
  rootFile: path("--root-file <FILE>", "root certificates of the mesh; else those of the work directory"),
  discoveryAddress: text(
    "--discovery-address <HOST:PORT>",
    "xds-server's secure port; else found by --work-dir or --url",
  ),
  discoveryName: textOr("--discovery-name <NAME>", "name in its certificate", "istiod.istio-system.svc"),
  ...connection,
} as const;

export const proxyBootstrap = define({
  name: "proxy bootstrap",
  progress: "asking ca and the services",
  group,
  summary: "write the files with which a stock Envoy or pilot-agent joins the mesh",
  details:
    "Envoy: envoy.json with the token, and root-cert.pem. pilot-agent: its directory with token, root and template, and agent.env. A stock Envoy gets its certificate for mutual TLS from `flotilla certificate --sds-socket`, as the output shows.",
  operands: {},
  options: { ...proxyOptions, ...output },
  examples: [
    ["proxy bootstrap --name web -n shop --label app=web --out web/", "then: envoy -c web/envoy.json"],
    ["proxy bootstrap --for pilot-agent --name web -n shop --out web/", "then: pilot-agent with web/agent.env"],
  ],
});

export const proxyRun = define({
  name: "proxy run",
  group,
  summary: "start a stock Envoy or pilot-agent in the mesh, keep it running, with its certificate renewed",
  details:
    "Envoy is found by ENVOY_BIN, PATH, or fetched as `flotilla up` fetches servers; PILOT_AGENT names the pilot-agent. Logs go to files in the directory. The proxy ends with this command.",
  operands: {},
  options: {
    ...proxyOptions,
    ca: text("--ca <HOST:PORT>", "address of ca, which issues Envoy's certificate; else found by --work-dir or --url"),
    concurrency: count("--concurrency <COUNT>", "Envoy's worker threads", { least: 1, most: 64, initial: 1 }),
  },
  examples: [
    ["proxy run --name web -n shop --label app=web", "an Envoy with mutual TLS"],
    ["proxy run --for pilot-agent --name web -n shop", "the same with the agent that PILOT_AGENT names"],
  ],
});
