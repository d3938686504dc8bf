/**
 * Writes who may do what on NATS and Redis, from the tables in packages/bus and packages/state, into the files that servers start with
 * and into docs/security/who-writes.md. `--check` only reports which of them are not up to date.
 */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { busServices, natsAuthorization, permissionsOf, storedStreams } from "../packages/bus/src/index.ts";
import { type StoreUser, storeRulesOf, storeServices, storeUsers } from "../packages/state/src/access.ts";
import { writeOrCheck } from "./generated-file.ts";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const natsFiles: Readonly<Record<string, string>> = {
  "k8s/base/nats.conf": "istio-system",
  "k8s/overlays/beside-istiod/nats.conf": "flotilla-system",
  "k8s/components/replicated-servers/nats.conf": "istio-system",
};

/** The users of Redis in each file. A single server has no replicas and no Sentinels. */
const redisFiles: readonly (readonly [file: string, text: string])[] = [
  ["k8s/base/redis-users.txt", redisUsers(storeServices, "server")],
  ["k8s/components/replicated-servers/redis-users.txt", redisUsers(storeUsers, "server")],
  ["k8s/components/replicated-servers/sentinel-users.txt", redisUsers(storeUsers, "sentinel")],
];

const page = ["docs/security/who-writes.md", pageText()] as const;
for (const [file, text] of [...Object.entries(natsFiles).map(natsFile), ...redisFiles, page])
  writeOrCheck({ file, text, from: "what services may do", command: "node scripts/write-access.ts" });

/** A line a user: its name, and its rules but for the password. */
function redisUsers(users: readonly StoreUser[], on: "server" | "sentinel"): string {
  return users
    .flatMap((user) => {
      const rules = storeRulesOf(user, on);
      return rules === undefined ? [] : [`${user} ${rules}\n`];
    })
    .join("");
}

/** The users stand at the end of the file, below a line that names their origin. */
function natsFile([file, namespace]: readonly [string, string]): readonly [string, string] {
  const start = "# Written by scripts/write-access.ts";
  const [head = ""] = readFileSync(join(root, file), "utf8").split(start);
  const users = busServices.map((service) => {
    return { service, identity: { user: `flotilla-${service}.${namespace}.svc` } };
  });
  return [
    file,
    `${head}${start}: a service publishes what it owns and reads what it needs.\n${natsAuthorization(users)}`,
  ];
}

function pageText(): string {
  const streams = storedStreams.map(
    ({ stream, writers, readers = [] }) =>
      `| ${stream} | ${writers.join(", ")} | ${stream === "FLOTILLA" ? "all" : [...writers, ...readers].join(", ")} |`,
  );
  const users = busServices.map((service) => {
    const { publish, deny, subscribe } = permissionsOf(service);
    const refused = deny.length === 0 ? "" : `\nRefused of these: ${code(deny)}.\n`;
    const own = publish.filter((subject) => !subject.startsWith("$JS."));
    const writes = own.length === 0 ? "Publishes nothing." : `Publishes ${code(own)}.`;
    return `### ${service}\n\n${writes}\n${refused}\nSubscribes to ${code(subscribe)}.\n`;
  });
  const store = storeUsers.map((user) => {
    const onSentinel = storeRulesOf(user, "sentinel");
    const more = onSentinel === undefined ? "" : `\nOn Sentinels:\n\n    ${onSentinel}\n`;
    return `### ${user}\n\n    ${storeRulesOf(user)}\n${more}`;
  });
  return `# Who writes what

Written by \`node scripts/write-access.ts\` from the tables in \`packages/bus/src/stored-streams.ts\`, \`packages/bus/src/access.ts\` and
\`packages/state/src/access.ts\`; decisions 0144 and 0145 have the reasons. Tests try every subject and key as every service, on real servers:
\`packages/bus/src/access.integration.test.ts\`, \`packages/state/src/access.integration.test.ts\`.

| way of running | NATS | Redis |
|---|---|---|
| \`flotilla up\`, \`serve\`, \`npm start\` | an NKey for each service, made at each start: files of mode 0600 below \`credentials\` in the work directory | a password for xds-server, in the same place |
| Docker Compose, Kubernetes | the name in the client certificate that ca issues to the service's account | the client certificate, and a password for xds-server |

In Compose the container \`issuer\` alone has the key of the token issuer (decision 0146).

## Streams and buckets of NATS

| stream | written by | read by |
|---|---|---|
${streams.join("\n")}

On FLOTILLA config-controller owns configuration objects, service-controller services and endpoints, ca the trust bundle.

## Users of NATS

Anything not named is refused. Of the API of JetStream each service may create, read and, where it writes, configure the
streams above; the webhook reads configuration and services only. No user may delete, purge, back up or restore a stream.

${users.join("\n")}
## Users of Redis

The user \`default\` is off, and in Compose and Kubernetes may \`PING\`, for probes. There the container that renews the certificate has a user
\`certificate\` for \`CONFIG SET\`. \`replica\` and \`sentinel\` exist where servers are replicated.

${store.join("\n")}`;
}

function code(subjects: readonly string[]): string {
  return subjects.map((subject) => `\`${subject}\``).join(", ");
}
