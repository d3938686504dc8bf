/**
 * `flotilla certificate`: a certificate of ca in files, kept renewed, for servers and clients that read files, such as NATS and
 * Redis. The files are named as in a Secret of type kubernetes.io/tls.
 */
import { mkdir, readFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { openLocalIssuer, replaceFile } from "@flotilla/auth";
import { obtainServingCertificate, type TlsMaterial } from "@flotilla/auth/serving";
import { aborted, createLogger } from "@flotilla/runtime";
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
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const { "token-file": tokenFile, "root-file": rootFile } = values;
  const token = async (): Promise<string> => {
    if (tokenFile !== undefined) return readFile(tokenFile, "utf8");
    return (await openLocalIssuer(workDir)).mintToken({ namespace, serviceAccount });
  };
  const log = createLogger("certificate", "info");
  using signals = untilSignal();
  const { stop } = signals;
  const write = (material: TlsMaterial): void => {
    writeFiles(directory, material).catch((error: unknown) =>
      log.error("certificate not written", { directory, error }),
    );
  };
  await using serving = await obtainServingCertificate(
    {
      caAddress: ca,
      caServerName: values["ca-name"],
      rootFile: rootFile ?? paths({ workDir }).root,
      instance: `${hostname()}:${directory}`,
      token,
      names: values.name ?? [],
      log,
      onRenewed: write,
    },
    stop,
  );
  await writeFiles(directory, serving.material);
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
        once: { type: "boolean", default: false },
      },
    });
  } catch (cause) {
    throw new CliError("CLI_USAGE", (cause as Error).message, { cause });
  }
}

/** The key first: who reads while it is written finds a key without its certificate and tries again. */
async function writeFiles(directory: string, { keyPem, chainPem, rootsPem }: TlsMaterial): Promise<void> {
  await replaceFile(join(directory, "tls.key"), keyPem, 0o600);
  await replaceFile(join(directory, "tls.crt"), chainPem, 0o644);
  await replaceFile(join(directory, "ca.crt"), rootsPem, 0o644);
}
