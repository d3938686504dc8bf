/** `flotilla check`: whether this host can run a control plane, and whether the one that runs is sound. */
import { type CheckResult, checkCertificates, checkHost, checkReplicas } from "../check/checks.ts";
import { certificateFacts, hostFacts, replicaFacts } from "../check/gather.ts";
import type { check as definition } from "../definitions/insight.ts";
import { portsFrom } from "../layout.ts";
import { counted, formatOf, render } from "../output.ts";
import type { Run } from "../parse/definition.ts";
import { packageVersion } from "../parse/program.ts";
import type { Terminal } from "../parse/terminal.ts";
import { portsFree } from "../supervise/ports-free.ts";

export const check: Run<typeof definition> = async ({ options, terminal, env }) => {
  const replicas = await replicaFacts(options);
  const results = [
    ...checkHost(await hostFacts(options.workDir)),
    ...(replicas.length === 0
      ? [await checkPorts()]
      : [...checkReplicas(replicas, packageVersion()), ...checkCertificates(await certificateFacts(options))]),
    ...(await rightsInCluster(options, env)),
  ];
  terminal.print(render(formatOf(options), results, (all) => describe(all, terminal)));
  return results.some(({ state }) => state === "failed") ? 3 : 0;
};

interface ClusterOptions {
  readonly context: string | undefined;
  readonly kubeconfig: string | undefined;
  readonly meshNamespace: string;
}

/** None unless a cluster is named. A cluster that does not answer, or does not let this user ask, is one result. */
async function rightsInCluster(
  { context, kubeconfig, meshNamespace: namespace }: ClusterOptions,
  env: NodeJS.ProcessEnv,
): Promise<readonly CheckResult[]> {
  if (context === undefined && kubeconfig === undefined) return [];
  // Loaded for clusters only: they take a second.
  const [{ openUsersCluster }, { checkRights }, { KubeError }] = await Promise.all([
    import("../api/cluster-objects.ts"),
    import("../check/rights.ts"),
    import("@flotilla/kube-api"),
  ]);
  using api = await openUsersCluster(kubeconfig, env, context);
  try {
    return await checkRights(api, { namespace, of: context === undefined ? "caller" : "accounts" });
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    const detail = `the API server cannot be asked: ${error.message.replace(/^\[\w+\] /, "")}`;
    return [{ name: "rights", state: "failed", detail, advice: "ask as a user who may create SubjectAccessReviews" }];
  }
}

/** Where nothing runs, the ports must be free. */
async function checkPorts(): Promise<CheckResult> {
  const name = "ports";
  try {
    await portsFree(portsFrom(undefined));
    return { name, state: "ok", detail: "no control plane runs here, and its ports are free" };
  } catch (error) {
    const detail = error instanceof Error ? error.message.replace(/^\[\w+\] /, "") : String(error);
    return { name, state: "failed", detail, advice: "end what holds it, or start with --xds-port PORT" };
  }
}

const marks = { ok: "ok     ", warning: "warning", failed: "FAILED " } as const;
const styles = { ok: "green", warning: "yellow", failed: "red" } as const;

function describe(results: readonly CheckResult[], { paint }: Pick<Terminal, "paint">): string {
  const lines = results.flatMap(({ name, state, detail, advice }) => [
    `${paint(styles[state], marks[state])}  ${name}: ${detail}`,
    ...(advice === undefined ? [] : [`         ${advice}`]),
  ]);
  const count = (state: CheckResult["state"]) => results.filter((one) => one.state === state).length;
  return [...lines, "", `${count("ok")} ok, ${counted(count("warning"), "warning")}, ${count("failed")} failed`].join(
    "\n",
  );
}
