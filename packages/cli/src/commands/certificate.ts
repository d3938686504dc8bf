/**
 * `flotilla certificate`: a certificate of ca in files, kept renewed, for servers and clients that read files, such as NATS and
 * Redis. The files are named as in a Secret of type kubernetes.io/tls. With --reload-pid-file or --reload-redis the server is told
 * of each.
 */
import { hostname } from "node:os";
import {
  obtainServingCertificate,
  serviceToken,
  type TlsMaterial,
  writeCertificateFiles,
} from "@flotilla/auth/serving";
import { aborted, createLogger } from "@flotilla/runtime";
import { reloadServer } from "../certificate-reload.ts";
import type { certificate as definition } from "../definitions/identity.ts";
import { CliError } from "../errors.ts";
import { paths } from "../layout.ts";
import type { Run } from "../parse/definition.ts";
import { untilSignal } from "../signals.ts";

export const certificate: Run<typeof definition> = async ({ options }) => {
  const { namespace, serviceAccount, out: directory, ca, once, workDir, tokenFile, rootFile } = options;
  if (namespace === undefined || serviceAccount === undefined || directory === undefined || ca === undefined)
    throw new CliError(
      "CLI_USAGE",
      "certificate needs --namespace NS --service-account SA --ca HOST:PORT --out DIRECTORY",
    );
  const token = () => serviceToken({ tokenFile, workDir, namespace, serviceAccount });
  const log = createLogger("certificate", "info");
  using signals = untilSignal();
  const { stop } = signals;
  const server = { pidFile: options.reloadPidFile, redisSocket: options.reloadRedis, directory, log };
  const writeAndTell = async (material: TlsMaterial): Promise<void> => {
    await writeCertificateFiles(directory, material);
    await reloadServer(server, stop);
  };
  const renewed = (material: TlsMaterial): void =>
    void writeAndTell(material).catch((error: unknown) => log.error("certificate not written", { directory, error }));
  await using serving = await obtainServingCertificate(
    {
      caAddress: ca,
      caServerName: options.caName,
      rootFile: rootFile ?? paths({ workDir }).root,
      instance: `${hostname()}:${directory}`,
      token,
      names: options.name,
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
