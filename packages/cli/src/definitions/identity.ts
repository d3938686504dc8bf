/** Commands about certificates and tokens. */
import { define } from "../parse/definition.ts";
import { existing, flag, list, optionalCount, path, text, textOr } from "../parse/option-kinds.ts";
import { connection, output, workDir } from "./option-groups.ts";

const group = "Certificates and tokens:";

export const caStatus = define({
  name: "ca status",
  progress: "asking the replicas of ca",
  group,
  summary: "show how far the replacement of the root certificate is",
  operands: {},
  options: { ...output, ...connection },
  examples: [["ca status", "the phase, and what it waits for"]],
});

export const caRotate = define({
  name: "ca rotate",
  progress: "rotating the root",
  group,
  summary: "replace the root certificate while the mesh runs",
  details:
    "Every phase ends when all proxies and certificates have followed; `ca status` lists what it waits for. Agents that do not subscribe to PCDS (PROXY_CONFIG_XDS_AGENT=true) follow when they renew their certificate, in the middle of its life.",
  operands: {},
  options: {
    without: list(
      "--without <NAME>",
      "go on without it: a name that `ca status` lists, an identity, NAME.NAMESPACE of a proxy, or `disconnected`",
    ),
    ...output,
    ...connection,
  },
  examples: [
    ["ca rotate", "start"],
    ["ca rotate --without web.shop", "go on without an unreachable proxy"],
    ["ca rotate --without disconnected", "go on without all holders that have no connected proxy"],
  ],
});

export const caAbort = define({
  name: "ca abort",
  progress: "ending the rotation",
  group,
  summary: "go back to the old root certificate",
  operands: {},
  options: { ...output, ...connection },
  examples: [["ca abort", "end a rotation"]],
});

export const certificate = define({
  name: "certificate",
  group,
  summary: "obtain a certificate from ca into files or for Envoys and keep it renewed",
  details:
    "For servers and clients that read files, such as NATS and Redis: tls.crt, tls.key and ca.crt. For Envoys without an agent it is served on a socket, as `default` and `ROOTCA`.",
  operands: {},
  options: {
    namespace: text("-n, --namespace <NAMESPACE>", "namespace of the service account (required)"),
    serviceAccount: text("--service-account <NAME>", "service account (required)"),
    ca: text("--ca <HOST:PORT>", "address of ca (required)"),
    out: path("--out <DIR>", "directory for the files (this or --sds-socket is required)"),
    sdsSocket: path("--sds-socket <SOCKET>", "Unix socket to serve it on to Envoys by SDS"),
    caName: textOr("--ca-name <NAME>", "name in the certificate of ca", "flotilla-ca.istio-system.svc"),
    name: list("--name <DNS-NAME>", "name in the certificate"),
    reloadPidFile: path("--reload-pid-file <FILE>", "send SIGHUP to the process of this file after each renewal"),
    reloadRedis: path(
      "--reload-redis <SOCKET>",
      "set the files of the Redis behind this Unix socket after each renewal",
    ),
    redisPasswordFile: path(
      "--redis-password-file <FILE>",
      "password of the user `certificate` of that Redis; without it, it is asked as everybody may",
    ),
    servedBy: text("--served-by <URL>", "wait until the server at tls://HOST:PORT or nats://HOST:PORT presents it"),
    renewByFile: path(
      "--renew-by-file <FILE>",
      "write the time by which it must have been renewed, in seconds since 1970",
    ),
    once: flag("--once", "end after the first certificate"),
    tokenFile: existing("--token-file <FILE>", "token of the account; else one of the local issuer is used", "file"),
    rootFile: path("--root-file <FILE>", "root certificates that ca is verified by; else those of the work directory"),
    workDir,
  },
  examples: [
    ["certificate -n istio-system --service-account flotilla-nats --ca ca:15013 --out /certificates", "keep renewed"],
  ],
  exitCodes: { 0: "written", 3: "ca refuses: the caller may not have this certificate" },
});

export const token = define({
  name: "token",
  progress: "issuing the token",
  group,
  summary: "print a token of the local issuer for a service account",
  operands: {},
  options: {
    namespace: text("-n, --namespace <NAMESPACE>", "namespace of the service account (required)"),
    serviceAccount: text("--service-account <NAME>", "service account (required)"),
    audience: text("--audience <AUDIENCE>", "audience; else that of ca"),
    ttlSeconds: optionalCount("--ttl-seconds <SECONDS>", "lifetime", { least: 1, most: 10 * 365 * 86_400 }),
    workload: text("--workload <NAME>", "workload: its renewed certificate replaces the one before"),
    workDir,
  },
  examples: [["token -n shop --service-account web", "for a proxy of the account"]],
});

export const keepTokens = define({
  name: "keep-tokens",
  group,
  summary: "keep tokens of the local issuer in files, for workloads that must not have its key",
  details:
    "Below the directory each account has one of its own, NAMESPACE/ACCOUNT, in which its file `token` is renewed three times in its life.",
  operands: {},
  options: {
    directory: path("--directory <DIR>", "directory of the accounts' directories (required)"),
    jwksFile: path("--jwks-file <FILE>", "where the keys that prove the tokens are copied to"),
    renewByFile: path(
      "--renew-by-file <FILE>",
      "write the time by which they must have been renewed, in seconds since 1970",
    ),
    once: flag("--once", "end after the first tokens"),
    workDir,
  },
  examples: [["keep-tokens --directory /tokens", "for the accounts whose volumes are mounted there"]],
});
