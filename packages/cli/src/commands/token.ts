/** `flotilla token`: a token of the local issuer, for a service account. */
import { existsSync } from "node:fs";
import { localIssuerRule, openLocalIssuer } from "@flotilla/auth";
import type { token as definition } from "../definitions/identity.ts";
import { CliError } from "../errors.ts";
import type { Run } from "../parse/definition.ts";

export const token: Run<typeof definition> = async ({ options, terminal }) => {
  const { namespace, serviceAccount, audience, ttlSeconds, workload, workDir } = options;
  if (namespace === undefined || serviceAccount === undefined)
    throw new CliError("CLI_USAGE", "token needs --namespace NS and --service-account SA");
  // A mistyped work directory gets an issuer of its own, whose tokens every control plane refuses.
  const isNew = !existsSync(String(localIssuerRule(workDir).jwksFile));
  const issuer = await openLocalIssuer(workDir);
  if (isNew)
    terminal.warn(
      `flotilla: ${workDir} had no issuer of tokens: one was created, which only a control plane of this directory trusts`,
    );
  const text = await issuer.mintToken({
    namespace,
    serviceAccount,
    ...(audience !== undefined && { audience }),
    // Equal names are one workload, whose renewed certificate replaces the one before.
    ...(workload !== undefined && { pod: { name: workload, uid: workload } }),
    ...(ttlSeconds !== undefined && { ttlMs: ttlSeconds * 1000 }),
  });
  // No newline at its end in files and pipes: clients put the text into a header as it is.
  terminal.write(terminal.isInteractive ? `${text}\n` : text);
  return 0;
};
