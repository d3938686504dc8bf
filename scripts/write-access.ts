/**
 * Writes who may do what on NATS and Redis, from the tables in packages/bus and packages/state, into the files that servers start with
 * and into docs/security/who-writes.md. `--check` only tells which of them are not up to date.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { busServices, natsAuthorization, permissionsOf, storedStreams } from "../packages/bus/src/index.ts";
import { storeRulesOf, storeServices } from "../packages/state/src/index.ts";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const natsFiles: Readonly<Record<string, string>> = {
  "k8s/base/nats.conf": "istio-system",
  "k8s/overlays/beside-istiod/nats.conf": "flotilla-system",
  "k8s/components/replicated-servers/nats.conf": "istio-system",
};

for (const [file, text] of [
  ...Object.entries(natsFiles).map(natsFile),
  ["docs/security/who-writes.md", page()] as const,
]) {
  const path = join(root, file);
  if (!process.argv.includes("--check")) writeFileSync(path, text);
  else if (readFileSync(path, "utf8") !== text) {
    process.stdout.write(
      `${file} is not what packages/bus and packages/state allow: run node scripts/write-access.ts\n`,
    );
    process.exitCode = 1;
  }
}

/** The users stand at the end of the file, below a line that says where they come from. */
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

function page(): string {
  const streams = storedStreams.map(
    ({ stream, writers, readers = [] }) =>
      `| ${stream} | ${writers.join(", ")} | ${stream === "FLOTILLA" ? "all" : [...writers, ...readers].join(", ")} |`,
  );
  const users = busServices.map((service) => {
    const { publish, deny, subscribe } = permissionsOf(service);
    const refused = deny.length === 0 ? "" : `\nRefused of these: ${code(deny)}.\n`;
    const own = publish.filter((subject) => !subject.startsWith("$JS."));
    const writes = own.length === 0 ? "Publishes nothing." : `Publishes ${code(own)}.`;
    return `### ${service}\n\n${writes}\n${refused}\nHears ${code(subscribe)}.\n`;
  });
  const store = storeServices.map((service) => `### ${service}\n\n    ${storeRulesOf(service)}\n`);
  return `# Who writes what

Written by \`node scripts/write-access.ts\` from the tables in \`packages/bus/src/stored-streams.ts\`, \`packages/bus/src/access.ts\` and
\`packages/state/src/access.ts\`; decision 0144 has the reasons. Tests try every subject and key as every service, on real servers:
\`packages/bus/src/access.integration.test.ts\`, \`packages/state/src/access.integration.test.ts\`.

| way of running | NATS | Redis |
|---|---|---|
| \`flotilla up\`, \`serve\`, \`npm start\` | an NKey for each service, made at each start: files of mode 0600 below \`credentials\` in the work directory | a password for xds-server, in the same place |
| Docker Compose, Kubernetes | the name in the client certificate that ca issues to the service's account | the client certificate, and a password for xds-server |

## Streams and buckets of NATS

| stream | written by | read by |
|---|---|---|
${streams.join("\n")}

On FLOTILLA config-controller owns configuration objects, service-controller services and endpoints, ca the trust bundle.

## Users of NATS

What is not named is refused. Of the API of JetStream each service has what it takes to create, read and, where it writes, configure the
streams above; the webhook reads configuration only. Nobody may delete, purge, back up or restore a stream.

${users.join("\n")}
## Users of Redis

${store.join("\n")}`;
}

function code(subjects: readonly string[]): string {
  return subjects.map((subject) => `\`${subject}\``).join(", ");
}
