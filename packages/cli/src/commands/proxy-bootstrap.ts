/** `flotilla proxy bootstrap`: the files with which a stock Envoy or pilot-agent joins the mesh. */
import type { proxyBootstrap as definition } from "../definitions/proxy.ts";
import { formatOf, render } from "../output.ts";
import type { Run } from "../parse/definition.ts";
import { prepareAgent, writeEnvironment } from "../proxy/agent.ts";
import { type ProxyPlan, planProxy } from "../proxy/proxy-plan.ts";
import { writeTokenBootstrap } from "../proxy/stock-envoy.ts";

interface Written {
  readonly directory: string;
  readonly files: readonly string[];
  /** Commands to start it with, each with its purpose. */
  readonly commands: readonly { readonly purpose: string; readonly command: string }[];
}

/** Ports that Istio's proxies have. */
const defaults = { adminPort: 15_000, statusPort: 15_021 };

export const proxyBootstrap: Run<typeof definition> = async ({ options, env, terminal }) => {
  const plan = planProxy(options);
  const { adminPort = defaults.adminPort, statusPort = defaults.statusPort } = options;
  const written =
    options.for === "envoy"
      ? await writeForEnvoy(plan, adminPort)
      : await writeForAgent(plan, env["ENVOY_BIN"] ?? "envoy", { adminPort, statusPort });
  terminal.print(render(formatOf(options), written, describe));
  return 0;
};

async function writeForEnvoy(plan: ProxyPlan, adminPort: number): Promise<Written> {
  const { bootstrap, root, secretSocket } = await writeTokenBootstrap(plan, adminPort);
  const { namespace, serviceAccount } = plan.node;
  const certificate = [
    ...["flotilla certificate", "-n", namespace, "--service-account", serviceAccount, "--ca", plan.caAddress],
    ...["--root-file", root, "--sds-socket", secretSocket],
  ];
  return {
    directory: plan.directory,
    files: [bootstrap, root],
    commands: [
      { purpose: "start", command: `envoy -c ${bootstrap}` },
      { purpose: "certificate for mutual TLS", command: certificate.join(" ") },
    ],
  };
}

async function writeForAgent(
  plan: ProxyPlan,
  envoy: string,
  ports: { readonly adminPort: number; readonly statusPort: number },
): Promise<Written> {
  using agent = await prepareAgent(plan, envoy, ports);
  const file = writeEnvironment(plan, agent);
  const start = `cd ${plan.directory} && set -a && . ${file} && set +a && pilot-agent ${agent.args.join(" ")}`;
  return {
    directory: plan.directory,
    files: [file, agent.tokenFile],
    commands: [{ purpose: "start", command: start }],
  };
}

function describe({ files, commands }: Written): string {
  return [
    ...files.map((file) => `wrote ${file}`),
    ...commands.map(({ purpose, command }) => `${purpose}:\n  ${command}`),
  ].join("\n");
}
