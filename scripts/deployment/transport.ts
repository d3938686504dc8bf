/**
 * NATS and Redis over mutual TLS, in k8s/base and docker-compose.yml: each side names files and certificates that the other has, and
 * who may connect is who needs to.
 */
import {
  type Check,
  type Compose,
  type Container,
  type KubernetesObject,
  type Labels,
  systemNamespace as namespace,
  networksOf,
  optionOf,
  type PodSpec,
  type Read,
  readObjects,
  type Selector,
} from "./files.ts";

export interface TransportOptions {
  readonly read: Read;
  readonly check: Check;
  /** Accounts that ca gives the name of their Service to. */
  readonly serverAccounts: readonly string[];
  /** Services that read a setting. */
  readonly readersOf: (setting: string) => readonly string[];
}

interface Server {
  readonly name: "nats" | "redis";
  readonly setting: "BUS_URL" | "STORE_URL";
  readonly protocol: string;
  /** How its configuration names what `flotilla certificate` reloads it by, and that option. */
  readonly reload: { readonly key: string; readonly option: string };
}

const servers: readonly Server[] = [
  { name: "nats", setting: "BUS_URL", protocol: "tls:", reload: { key: "pid_file", option: "reload-pid-file" } },
  { name: "redis", setting: "STORE_URL", protocol: "rediss:", reload: { key: "unixsocket", option: "reload-redis" } },
];

export function checkKubernetesTransport(options: TransportOptions): void {
  const { read, check } = options;
  const objects = readObjects(read, "k8s/base");
  const settings =
    objects.find(({ kind, metadata }) => kind === "ConfigMap" && metadata.name === "flotilla")?.data ?? {};
  for (const server of servers) {
    const host = checkUrl("k8s/base/config.yaml", server, settings, check);
    const workload = objects.find(
      ({ kind, metadata: { name } }) => kind === "StatefulSet" && name === `flotilla-${server.name}`,
    );
    const pod = workload?.spec?.template?.spec;
    if (workload === undefined || pod === undefined) {
      check(false, `k8s/base: there is no StatefulSet flotilla-${server.name}`);
      continue;
    }
    checkPod(workload.file, server, pod, check);
    const args = pod.initContainers?.[0]?.args ?? [];
    check(
      optionOf(args, "service-account") === pod.serviceAccountName,
      `${workload.file}: the certificate is for another account than the pod's`,
    );
    for (const [option, setting] of [
      ["ca", "CA_ADDRESS"],
      ["token-file", "TOKEN_FILE"],
      ["root-file", "CA_ROOT_FILE"],
    ] as const)
      check(
        optionOf(args, option) === settings[setting],
        `${workload.file}: --${option} is not ${setting} of k8s/base/config.yaml`,
      );
    checkCertificate(workload.file, server, { args, host }, options);
    checkPolicy(server, objects, options);
  }
  checkUsers(options);
  checkCopy(options);
  checkKept(objects, settings["CLIENT_CERTIFICATE_DIR"] ?? "", check);
}

/** Each service has a place of its own for the certificate that it keeps. */
function checkKept(objects: readonly KubernetesObject[], directory: string, check: Check): void {
  for (const { file, spec } of objects.filter(({ kind }) => kind === "Deployment")) {
    const pod = spec?.template?.spec;
    const mount = pod?.containers[0]?.volumeMounts?.find(({ mountPath }) => directory.startsWith(`${mountPath}/`));
    const volume = pod?.volumes?.find(({ name }) => name === mount?.name);
    check(
      volume?.emptyDir !== undefined && mount?.readOnly !== true,
      `${file}: ${directory} is no place of the pod's own`,
    );
  }
}

export function checkComposeTransport({ services, networks }: Compose, options: TransportOptions): void {
  const { check } = options;
  const file = "docker-compose.yml";
  for (const name of options.readersOf("CLIENT_CERTIFICATE_DIR")) {
    const { environment = {}, tmpfs = [] } = services[name] ?? {};
    const isOwn = tmpfs.some((path) => environment["CLIENT_CERTIFICATE_DIR"]?.startsWith(`${path}/`));
    check(isOwn, `${file}: ${name} keeps its certificate where others may read it`);
  }
  for (const server of servers) {
    const host = checkUrl(file, server, services["xds-server"]?.environment ?? {}, check);
    const service = services[server.name];
    const on = networksOf(service ?? {});
    check([...on.values()].flat().includes(host), `${file}: ${server.name} is not known as ${host}`);
    for (const network of on.keys())
      check(networks[network]?.internal === true, `${file}: ${server.name} is on ${network}, which is not internal`);
    for (const reader of options.readersOf(server.setting))
      check(
        [...on.keys()].some((network) => networksOf(services[reader] ?? {}).has(network)),
        `${file}: ${reader} does not reach ${server.name}`,
      );
    const isMounted = (path: string) =>
      (service?.volumes ?? []).some((mount) => typeof mount === "string" && mount.startsWith(`./${path}:`));
    const config = `k8s/base/${server.name}.conf`;
    check(isMounted(config), `${file}: ${server.name} is not configured by ${config}`);
    const keepers = Object.values(services).filter(
      ({ command = [] }) => optionOf(command, "service-account") === `flotilla-${server.name}`,
    );
    const keeper = keepers.find(({ command = [] }) => !command.includes("--once"));
    check(keeper !== undefined, `${file}: no container renews the certificate of ${server.name}`);
    const args = keeper?.command ?? [];
    // Containers share files, not processes: the script around NATS sends it the signal.
    if (server.name === "nats")
      check(isMounted("compose/nats.sh"), `${file}: NATS does not read a renewed certificate`);
    const reloadedBy = server.name === "nats" ? "script" : "command";
    checkCertificate(file, server, { args, host, reloadedBy }, options);
    const served = URL.parse(optionOf(args, "served-by") ?? "");
    check(served?.hostname === host, `${file}: no health check compares the certificate that ${server.name} presents`);
    const [condition, renewBy] = (keeper?.healthcheck?.test ?? []).slice(-2);
    const isShown = condition === "until" && optionOf(args, "renew-by-file") === renewBy;
    check(isShown, `${file}: a certificate of ${server.name} that is not renewed makes nothing unhealthy`);
  }
}

/** The host of the setting. */
function checkUrl(file: string, { name, setting, protocol }: Server, settings: Labels, check: Check): string {
  const url = URL.parse(settings[setting] ?? "");
  check(url?.protocol === protocol, `${file}: ${setting} does not begin with ${protocol}`);
  const directory = url?.searchParams.get("certificates");
  check(
    directory === settings["CLIENT_CERTIFICATE_DIR"],
    `${file}: ${setting} shows other certificates than those in CLIENT_CERTIFICATE_DIR`,
  );
  const host = url?.hostname ?? "";
  check(
    host === `flotilla-${name}.${namespace}.svc`,
    `${file}: ${setting} names ${host}, the Service is flotilla-${name}.${namespace}.svc`,
  );
  return host;
}

function checkPod(file: string, { name }: Server, pod: PodSpec, check: Check): void {
  const [keeper] = pod.initContainers ?? [];
  const out = optionOf(keeper?.args ?? [], "out") ?? "";
  const volumeAt = (container: Container | undefined) =>
    container?.volumeMounts?.find(({ mountPath, readOnly }) => mountPath === out && readOnly !== true)?.name;
  const isShared = volumeAt(keeper) !== undefined && volumeAt(keeper) === volumeAt(pod.containers[0]);
  check(isShared, `${file}: the certificate container and ${name} do not share ${out}`);
  if (name === "nats") check(pod.shareProcessNamespace === true, `${file}: NATS cannot be reloaded by a signal`);
}

interface CertificateUse {
  readonly args: readonly string[];
  readonly host: string;
  /** The party that makes the server reload its files. */
  readonly reloadedBy?: "command" | "script";
}

/** Checks that the server reads the certificate that `flotilla certificate` keeps and its clients expect. */
function checkCertificate(
  file: string,
  { name, reload }: Server,
  { args, host, reloadedBy = "command" }: CertificateUse,
  { read, check, serverAccounts }: TransportOptions,
): void {
  const account = optionOf(args, "service-account") ?? "";
  check(serverAccounts.includes(account), `${file}: ca gives no name to ${account} (CA_SERVER_ACCOUNTS)`);
  check(optionOf(args, "namespace") === namespace, `${file}: the account of ${name} is not in ${namespace}`);
  check(optionOf(args, "name") === host, `${file}: the certificate of ${name} is not for ${host}`);
  const config = read(`k8s/base/${name}.conf`);
  const out = optionOf(args, "out") ?? "";
  for (const part of ["tls.crt", "tls.key", "ca.crt"])
    check(config.includes(`${out}/${part}`), `k8s/base/${name}.conf: ${out}/${part} is not used`);
  if (reloadedBy === "script") return;
  const place = new RegExp(`^${reload.key}:? "?([^"\\s]+)`, "m").exec(config)?.[1];
  check(
    place !== undefined && optionOf(args, reload.option) === place,
    `${file}: --${reload.option} is not ${reload.key} of k8s/base/${name}.conf`,
  );
}

/** NATS has each of our services as a user, and no others. */
function checkUsers({ read, check, readersOf }: TransportOptions): void {
  const users = [...read("k8s/base/nats.conf").matchAll(/user: "([^"]*)"/g)].map(([, user]) => user);
  const expected = readersOf("BUS_URL").map((name) => `flotilla-${name}.${namespace}.svc`);
  for (const user of expected) check(users.includes(user), `k8s/base/nats.conf: ${user} is no user`);
  for (const user of users)
    check(user !== undefined && expected.includes(user), `k8s/base/nats.conf: ${user} is no service`);
}

/** The overlay beside an istiod has the same NATS, in its own namespace. */
function checkCopy({ read, check }: TransportOptions): void {
  const copy = "k8s/overlays/beside-istiod/nats.conf";
  const expected = read("k8s/base/nats.conf").replaceAll(namespace, "flotilla-system");
  check(read(copy) === expected, `${copy} is not k8s/base/nats.conf with its namespace`);
}

function checkPolicy(
  server: Server,
  objects: readonly KubernetesObject[],
  { check, readersOf }: TransportOptions,
): void {
  const app = `flotilla-${server.name}`;
  const policy = objects.find(
    ({ kind, spec }) => kind === "NetworkPolicy" && spec?.podSelector?.matchLabels?.[nameLabel] === app,
  );
  const what = `k8s/base: the NetworkPolicy of ${app}`;
  const allowed = (policy?.spec?.ingress ?? []).flatMap(({ from = [] }) =>
    from.flatMap(({ podSelector }) => appsOf(podSelector)),
  );
  const expected = readersOf(server.setting).map((name) => `flotilla-${name}`);
  for (const name of expected) check(allowed.includes(name), `${what} keeps ${name} out`);
  for (const name of allowed)
    check(expected.includes(name), `${what} lets ${name} in, which does not read ${server.setting}`);
  const service = objects.find(({ kind, metadata: { name } }) => kind === "Service" && name === app);
  const ports = (policy?.spec?.ingress ?? []).flatMap(({ ports }) => ports.map(({ port }) => port));
  for (const { port } of service?.spec?.ports ?? []) check(ports.includes(port), `${what} does not open port ${port}`);
}

const nameLabel = "app.kubernetes.io/name";

function appsOf({ matchLabels = {}, matchExpressions = [] }: Selector): readonly string[] {
  const named = matchLabels[nameLabel];
  return [
    ...(named === undefined ? [] : [named]),
    ...matchExpressions.flatMap(({ key, values }) => (key === nameLabel ? values : [])),
  ];
}
