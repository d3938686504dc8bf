/**
 * `flotilla certificate`: a certificate of ca in files, kept renewed, for servers and clients that read files, such as NATS and
 * Redis. The files are named as in a Secret of type kubernetes.io/tls. With --reload-pid-file or --reload-redis the server is told
 * of each.
 */
import { hostname } from "node:os";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import {
  obtainServingCertificate,
  serviceToken,
  type TlsMaterial,
  writeCertificateFiles,
} from "@flotilla/auth/serving";
import { aborted, createLogger } from "@flotilla/runtime";
import { reloadServer } from "../certificate-reload.ts";
import type { Command } from "../command.ts";
import { CliError } from "../errors.ts";
import { paths } from "../layout.ts";
import { defaultWorkDir } from "../options.ts";
import { untilSignal } from "../signals.ts";

export const certificate: Command = async (args, env) => {
  const { values } = parseCommand(args, env);
  const { namespace, "service-account": serviceAccount, out, ca, once } = values;
  if (namespace === undefined || serviceAccount === undefined || out === undefined || ca === undefined)
    throw new CliError(
      "CLI_USAGE",
      "certificate needs --namespace NS --service-account SA --ca HOST:PORT --out DIRECTORY",
    );
  const workDir = resolve(values["work-dir"]);
  const directory = resolve(out);
  const { "token-file": tokenFile, "root-file": rootFile } = values;
  const token = () => serviceToken({ tokenFile, workDir, namespace, serviceAccount });
  const log = createLogger("certificate", "info");
  using signals = untilSignal();
  const { stop } = signals;
  const server = { pidFile: values["reload-pid-file"], redisSocket: values["reload-redis"], directory, log };
  const writeAndTell = async (material: TlsMaterial): Promise<void> => {
    await writeCertificateFiles(directory, material);
    await reloadServer(server, stop);
  };
  const renewed = (material: TlsMaterial): void =>
    void writeAndTell(material).catch((error: unknown) => log.error("certificate not written", { directory, error }));
  await using serving = await obtainServingCertificate(
    {
      caAddress: ca,
      caServerName: values["ca-name"],
      rootFile: rootFile ?? paths({ workDir }).root,
      instance: `${hostname()}:${directory}`,
      token,
      names: values.name ?? [],
      log,
      onRenewed: renewed,
    },
    stop,
  );
  await writeAndTell(serving.material);
  log.info("certificate written", { directory });
  if (!once) await aborted(stop);
  return 0;
};

function parseCommand(args: readonly string[], env: NodeJS.ProcessEnv) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        "work-dir": { type: "string", default: defaultWorkDir(env) },
        namespace: { type: "string" },
        "service-account": { type: "string" },
        ca: { type: "string" },
        "ca-name": { type: "string", default: "flotilla-ca.istio-system.svc" },
        "root-file": { type: "string" },
        "token-file": { type: "string" },
        name: { type: "string", multiple: true },
        out: { type: "string" },
        "reload-pid-file": { type: "string" },
        "reload-redis": { type: "string" },
        once: { type: "boolean", default: false },
      },
    });
  } catch (cause) {
    throw new CliError("CLI_USAGE", (cause as Error).message, { cause });
  }
}
