/** Findings of `flotilla check`, as a list of results: each with advice where something is wrong. Pure. */

export interface CheckResult {
  readonly name: string;
  readonly state: "ok" | "warning" | "failed";
  readonly detail: string;
  /** Advice for the operator; absent where nothing is to be done. */
  readonly advice?: string;
}

/** Of this host and this program. */
export interface HostFacts {
  readonly node: string;
  /** Open files that a process may have; undefined where it is not known. */
  readonly openFiles: number | undefined;
  readonly memoryBytes: number;
  /** Why the work directory cannot be written; undefined: it can. */
  readonly workDirProblem: string | undefined;
  readonly workDir: string;
}

/** Of one replica, as it answered; without `ready` it did not. */
export interface ReplicaFacts {
  readonly name: string;
  readonly url: string;
  readonly version?: string;
  readonly ready?: boolean;
  readonly detail?: string;
  /** How far its clock is ahead of this host's, in milliseconds. */
  readonly clockAheadMs?: number;
}

export interface CertificateFacts {
  readonly name: string;
  readonly daysLeft: number;
}

const neededNode = 24;
const wantedFiles = 8_192;
const wantedMemoryBytes = 1024 ** 3;

export function checkHost({
  node,
  openFiles,
  memoryBytes,
  workDir,
  workDirProblem,
}: HostFacts): readonly CheckResult[] {
  const megabytes = Math.round(memoryBytes / 1024 ** 2);
  return [
    Number(/^v?(\d+)/.exec(node)?.[1]) >= neededNode
      ? ok("Node", node)
      : failed("Node", `${node} is older than ${neededNode}`, `install Node ${neededNode} or newer`),
    openFiles === undefined || openFiles >= wantedFiles
      ? ok("open files", openFiles === undefined ? "no limit is known" : `${openFiles} a process`)
      : warning(
          "open files",
          `${openFiles} a process: each connected proxy takes one`,
          `raise the limit to ${wantedFiles} or more: ulimit -n, LimitNOFILE= of systemd, --ulimit nofile of Docker`,
        ),
    memoryBytes >= wantedMemoryBytes
      ? ok("memory", `${megabytes} MB`)
      : warning("memory", `${megabytes} MB`, "the five services and their servers take about 1 GB"),
    workDirProblem === undefined
      ? ok("work directory", workDir)
      : failed("work directory", workDirProblem, "make it writable, or name another one by --work-dir"),
  ];
}

/** Replicas that answer, are ready, have one version and one time. */
export function checkReplicas(replicas: readonly ReplicaFacts[], ownVersion: string): readonly CheckResult[] {
  return [...replicas.map(checkReplica), ...checkVersions(replicas, ownVersion), ...checkClocks(replicas)];
}

function checkReplica({ name, url, ready, detail = "" }: ReplicaFacts): CheckResult {
  if (ready === undefined)
    return failed(
      name,
      `does not answer at ${url}`,
      `look at its log; flotilla status shows when it was started again`,
    );
  if (!ready) return failed(name, `not ready: ${detail}`, "the condition names what it waits for");
  return detail === ""
    ? ok(name, "ready")
    : warning(name, `ready, with conditions: ${detail}`, "it serves; the condition names the unreachable server");
}

function checkVersions(replicas: readonly ReplicaFacts[], ownVersion: string): readonly CheckResult[] {
  const versions = new Set(replicas.flatMap(({ version }) => (version === undefined ? [] : [version])));
  if (versions.size === 0) return [];
  const list = [...versions].sort().join(", ");
  if (versions.size > 1)
    return [
      warning("versions", `services of several versions: ${list}`, "finish the upgrade: flotilla version --remote"),
    ];
  return versions.has(ownVersion)
    ? [ok("versions", list)]
    : [warning("versions", `services ${list}, this program ${ownVersion}`, "use the program of the services' version")];
}

/** Tokens and certificates are refused when clocks are apart. */
const mostApartMs = 5_000;

function checkClocks(replicas: readonly ReplicaFacts[]): readonly CheckResult[] {
  const known = replicas.filter((one) => one.clockAheadMs !== undefined);
  if (known.length === 0) return [];
  const apart = known.filter(({ clockAheadMs = 0 }) => Math.abs(clockAheadMs) > mostApartMs);
  if (apart.length === 0) return [ok("clocks", `within ${mostApartMs / 1_000} s of this host's`)];
  const list = apart.map(({ name, clockAheadMs = 0 }) => `${name} ${Math.round(clockAheadMs / 1_000)} s`).join(", ");
  return [
    failed("clocks", `ahead of this host's: ${list}`, "synchronize the clocks: certificates and tokens depend on them"),
  ];
}

/** The signing certificate and the roots of ca. */
export function checkCertificates(certificates: readonly CertificateFacts[]): readonly CheckResult[] {
  return certificates.map(({ name, daysLeft }) => {
    const title = `certificate ${name}`;
    const advice = "go over to a new root while the mesh runs: flotilla ca rotate";
    if (daysLeft < 0) return failed(title, "has expired", advice);
    return daysLeft < 30 ? warning(title, `expires in ${daysLeft} days`, advice) : ok(title, `${daysLeft} days left`);
  });
}

function ok(name: string, detail: string): CheckResult {
  return { name, state: "ok", detail };
}

function warning(name: string, detail: string, advice: string): CheckResult {
  return { name, state: "warning", detail, advice };
}

function failed(name: string, detail: string, advice: string): CheckResult {
  return { name, state: "failed", detail, advice };
}
