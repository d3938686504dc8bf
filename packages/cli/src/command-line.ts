/** `flotilla`: chooses the command and turns failures into one line and an exit code. */
import type { Command } from "./command.ts";
import { CliError } from "./errors.ts";

interface Entry {
  readonly sentence: string;
  readonly load: () => Promise<Command>;
}

const commands: Readonly<Record<string, Entry>> = {
  up: {
    sentence: "start the whole control plane and show what runs where",
    load: async () => (await import("./commands/up.ts")).up,
  },
  serve: {
    sentence: "the same for scripts: foreground, JSON logs",
    load: async () => (await import("./commands/serve.ts")).serve,
  },
  demo: {
    sentence: "up, with a sample mesh, real Envoys and requests through them",
    load: async () => (await import("./commands/demo.ts")).demo,
  },
  status: {
    sentence: "services, proxies and what they have, refused objects; OBJECT: all about one",
    load: async () => (await import("./commands/status.ts")).status,
  },
  wait: {
    sentence: "--for=distribution KIND/NAME.NAMESPACE: until it is live on the proxies it concerns",
    load: async () => (await import("./commands/wait.ts")).wait,
  },
  apply: {
    sentence: "-f FILE: objects into the mesh, all at once or none",
    load: async () => (await import("./commands/apply.ts")).apply,
  },
  get: {
    sentence: "KIND [NAME]: what is in force, and where it comes from",
    load: async () => (await import("./commands/get.ts")).get,
  },
  delete: {
    sentence: "-f FILE | KIND NAME…: objects out of the mesh",
    load: async () => (await import("./commands/delete.ts")).deleteObjects,
  },
  history: {
    sentence: "[OBJECT]: the generations of the configuration: what each changed, who told it, when",
    load: async () => (await import("./commands/history.ts")).history,
  },
  diff: {
    sentence: "-f FILE: what apply would change | GENERATION GENERATION: what differs between the two",
    load: async () => (await import("./commands/diff.ts")).diff,
  },
  explain: {
    sentence: "PROXY TYPE NAME: why a proxy has a resource as it is",
    load: async () => (await import("./commands/explain.ts")).explain,
  },
  ca: {
    sentence: "status | rotate | abort: replace the root while the mesh runs",
    load: async () => (await import("./commands/ca.ts")).ca,
  },
  certificate: {
    sentence: "a certificate of ca in files, kept renewed, for NATS, Redis and the like",
    load: async () => (await import("./commands/certificate.ts")).certificate,
  },
  token: {
    sentence: "a token of the local issuer for a service account",
    load: async () => (await import("./commands/token.ts")).token,
  },
  version: {
    sentence: "the version of this program",
    load: async () => (await import("./commands/version.ts")).version,
  },
};

export async function run(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const [name = "help", ...rest] = args;
  const entry = commands[name];
  if (entry === undefined) {
    process.stderr.write(usage());
    return ["help", "--help", "-h"].includes(name) ? 0 : 2;
  }
  try {
    return await (await entry.load())(rest, env);
  } catch (error) {
    const text =
      error instanceof CliError || isCoded(error)
        ? error.message
        : error instanceof Error
          ? (error.stack ?? error.message)
          : String(error);
    process.stderr.write(`flotilla: ${text}\n`);
    return error instanceof CliError && error.code === "CLI_USAGE" ? 2 : 1;
  }
}

function usage(): string {
  const lines = Object.entries(commands).map(([name, { sentence }]) => `  ${name.padEnd(12)} ${sentence}`);
  return `flotilla COMMAND [options]\n\n${lines.join("\n")}\n
Options of apply, get, delete and diff:
  -n NAMESPACE       of objects that name none (default "default")
  --server URL, --token-file FILE, --root-file FILE
                     another API than that of the control plane of --work-dir
  --dry-run, --force, -o yaml|json|name, -l SELECTOR, -A

Options of up, serve and demo:
  --config DIR       directory of YAML with the mesh's objects
  --mesh FILE        MeshConfig          --networks FILE   MeshNetworks
  --env-file FILE    settings, NAME=value a line
  --xds-port PORT    first of ten ports in a row
  --work-dir DIR     keys, logs and data (default ~/.flotilla)
  --embedded         all services in one process, without NATS and Redis
  --once             demo: end after the checks
`;
}

/** Errors of our packages name what failed: a stack would hide it. */
function isCoded(error: unknown): error is Error {
  return error instanceof Error && /^\[[A-Z_]+\] /.test(error.message);
}
