/**
 * `flotilla certificate`: a certificate of ca, kept renewed, for servers and clients that read files, such as NATS and Redis, and for
 * Envoys that ask by SDS. The files are named as in a Secret of type kubernetes.io/tls.
 */
import { createLogger } from "@flotilla/runtime";
import { keepCertificate } from "../certificate/keep-certificate.ts";
import type { certificate as definition } from "../definitions/identity.ts";
import { CliError } from "../errors.ts";
import { paths } from "../layout.ts";
import type { Run } from "../parse/definition.ts";
import { untilSignal } from "../signals.ts";

export const certificate: Run<typeof definition> = async ({ options, env }) => {
  const { namespace, serviceAccount, out, ca, sdsSocket, workDir, rootFile = paths({ workDir }).root } = options;
  if (namespace === undefined || serviceAccount === undefined || ca === undefined || (out ?? sdsSocket) === undefined)
    throw new CliError(
      "CLI_USAGE",
      "certificate needs --namespace NS --service-account SA --ca HOST:PORT and --out DIRECTORY or --sds-socket SOCKET",
    );
  const log = createLogger("certificate", "info");
  using signals = untilSignal(env);
  const required = { namespace, serviceAccount, ca, rootFile, names: options.name };
  await keepCertificate({ ...options, ...required, log }, signals.stop);
  return 0;
};
