/** For tests: the service as it runs, on free ports, with a work directory and a token issuer of its own. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLocalIssuer, type TokenRequest } from "@flotilla/auth";
import { createLogger, type Logger } from "@flotilla/runtime";
import { main } from "./main.ts";

export interface RunningCa extends AsyncDisposable {
  readonly grpc: number;
  readonly health: number;
  readonly workDir: string;
  readonly rootsPem: string;
  readonly log: Logger;
  readonly lines: readonly Readonly<Record<string, unknown>>[];
  readonly stop: AbortSignal;
  mint(namespace: string, serviceAccount: string, more?: Partial<TokenRequest>): Promise<string>;
}

/** The name that the certificate of ca is checked for. */
export const serverName = "istiod.istio-system.svc";

/** `workDir` of an earlier life or of another replica; without one it is made and removed. */
export async function startCa(
  env: Readonly<Record<string, string>> = {},
  { workDir: given }: { readonly workDir?: string } = {},
): Promise<RunningCa> {
  const workDir = given ?? (await mkdtemp(join(tmpdir(), "ca-main-")));
  const lines: Record<string, unknown>[] = [];
  const log = createLogger("ca", "info", { write: (line) => void lines.push(JSON.parse(line)) });
  const stop = new AbortController();
  const ready = Promise.withResolvers<{ readonly grpc: number; readonly health: number }>();
  const settings = {
    WORK_DIR: workDir,
    ROOT_CA_DIR: join(workDir, "cacerts"),
    CA_HOST: "127.0.0.1",
    CA_PORT: "0",
    HEALTH_HOST: "127.0.0.1",
    HEALTH_PORT: "0",
    CA_SELF_SIGNED_KEY: "ecdsa-p256",
    ...env,
  };
  const running = main(settings, stop.signal, { log, onReady: ready.resolve });
  running.catch(ready.reject);
  const ports = await ready.promise;
  const issuer = await openLocalIssuer(workDir);
  return {
    ...ports,
    workDir,
    lines,
    log,
    stop: stop.signal,
    rootsPem: await readFile(join(workDir, "root-cert.pem"), "utf8"),
    mint: (namespace, serviceAccount, more) => issuer.mintToken({ namespace, serviceAccount, ...more }),
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await running;
      if (given === undefined) await rm(workDir, { recursive: true });
    },
  };
}
