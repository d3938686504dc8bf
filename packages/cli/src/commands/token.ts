/** `flotilla token`: a token of the local issuer, for a service account. */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { openLocalIssuer } from "@flotilla/auth";
import type { Command } from "../command.ts";
import { CliError } from "../errors.ts";
import { defaultWorkDir } from "../options.ts";

export const token: Command = async (args, env) => {
  const { values } = parseArgs({
    args: [...args],
    options: {
      "work-dir": { type: "string", default: defaultWorkDir(env) },
      namespace: { type: "string" },
      "service-account": { type: "string" },
      audience: { type: "string" },
      "ttl-seconds": { type: "string" },
      workload: { type: "string" },
    },
  });
  const { namespace, "service-account": serviceAccount, audience, "ttl-seconds": ttl, workload } = values;
  if (namespace === undefined || serviceAccount === undefined) {
    throw new CliError("CLI_USAGE", "token needs --namespace NS and --service-account SA");
  }
  if (ttl !== undefined && !/^\d+$/.test(ttl)) throw new CliError("CLI_USAGE", `--ttl-seconds ${ttl} is not a number`);
  const issuer = await openLocalIssuer(resolve(values["work-dir"]));
  const text = await issuer.mintToken({
    namespace,
    serviceAccount,
    ...(audience !== undefined && { audience }),
    // Equal names are one workload, whose renewed certificate replaces the one before.
    ...(workload !== undefined && { pod: { name: workload, uid: workload } }),
    ...(ttl !== undefined && { ttlMs: Number(ttl) * 1000 }),
  });
  // No newline at its end: clients put the text into a header as it is.
  process.stdout.write(text);
  return 0;
};
