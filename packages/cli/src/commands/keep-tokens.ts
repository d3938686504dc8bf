/**
 * `flotilla keep-tokens`: tokens of the local issuer in files, for workloads on this host that must not have the issuer's key. Below the
 * directory each account has one of its own, NAMESPACE/ACCOUNT, which may be a volume of its container.
 */
import { readdirSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type LocalIssuer, openLocalIssuer, replaceFile } from "@flotilla/auth";
import { createLogger, delay } from "@flotilla/runtime";
import type { keepTokens as definition } from "../definitions/identity.ts";
import { CliError } from "../errors.ts";
import type { Run } from "../parse/definition.ts";
import { untilSignal } from "../signals.ts";

const ttlMs = 3_600_000;
/** A third of their life: a service that asks for a certificate finds one that holds. */
const renewMs = ttlMs / 3;

export const keepTokens: Run<typeof definition> = async ({ options, env }) => {
  const { directory, jwksFile, renewByFile, workDir, once } = options;
  if (directory === undefined) throw new CliError("CLI_USAGE", "keep-tokens needs --directory DIRECTORY");
  const log = createLogger("tokens", "info");
  using signals = untilSignal(env);
  while (!signals.stop.aborted) {
    const issuer = await openLocalIssuer(workDir);
    if (jwksFile !== undefined)
      await replaceFile(jwksFile, await readFile(String(issuer.rule.jwksFile), "utf8"), 0o644);
    const accounts = await writeTokens(issuer, directory);
    log.info("tokens written", { accounts });
    if (renewByFile !== undefined) await writeFile(renewByFile, `${Math.floor((Date.now() + 2 * renewMs) / 1000)}\n`);
    if (once) return 0;
    await delay(renewMs, signals.stop);
  }
  return 0;
};

async function writeTokens(issuer: LocalIssuer, directory: string): Promise<readonly string[]> {
  const accounts = directoriesIn(directory).flatMap((namespace) =>
    directoriesIn(join(directory, namespace)).map((serviceAccount) => ({ namespace, serviceAccount })),
  );
  if (accounts.length === 0) throw new CliError("CLI_USAGE", `${directory} has no directory NAMESPACE/ACCOUNT`);
  for (const { namespace, serviceAccount } of accounts) {
    const token = await issuer.mintToken({ namespace, serviceAccount, ttlMs });
    await replaceFile(join(directory, namespace, serviceAccount, "token"), token, 0o600);
  }
  return accounts.map(({ namespace, serviceAccount }) => `${namespace}/${serviceAccount}`);
}

function directoriesIn(directory: string): readonly string[] {
  return readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .toSorted();
}
