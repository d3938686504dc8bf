/** A fresh clone of the project in a directory of its own, run by Compose under a name of its own. */
import { execFile, execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);

const repository = fileURLToPath(new URL("../../..", import.meta.url));

export interface Container {
  readonly id: string;
  readonly service: string;
  readonly pid: number;
  readonly running: boolean;
  readonly health: string;
  readonly exitCode: number;
  readonly user: string;
}

interface Inspected {
  readonly Id: string;
  readonly State: {
    readonly Pid: number;
    readonly Running: boolean;
    readonly ExitCode: number;
    readonly Health?: { readonly Status: string };
  };
  readonly Config: { readonly User: string; readonly Labels: Readonly<Record<string, string>> };
}

export class Project implements AsyncDisposable {
  readonly name = "flotilla-test";
  readonly directory = mkdtempSync(join(tmpdir(), "flotilla-compose-"));
  readonly env: NodeJS.ProcessEnv = { ...process.env, COMPOSE_PROJECT_NAME: this.name, COMPOSE_ANSI: "never" };

  constructor() {
    const listed = execFileSync("git", ["ls-files", "-co", "--exclude-standard", "-z"], {
      cwd: repository,
      encoding: "utf8",
    });
    for (const file of listed.split("\0").filter((name) => name !== ""))
      cpSync(join(repository, file), join(this.directory, file));
  }

  /** Standard output. Rejects with both outputs in the message. */
  async compose(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
    return this.command("docker", ["compose", ...args], env);
  }

  async command(program: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
    const options = {
      cwd: this.directory,
      env: { ...this.env, ...env },
      maxBuffer: 64 * 1024 * 1024,
      timeout: 600_000,
    };
    const { stdout } = await run(program, [...args], options).catch((error: unknown) => {
      const { stdout = "", stderr = "" } = error as { readonly stdout?: string; readonly stderr?: string };
      throw new Error(`${program} ${args.join(" ")}\n${stdout}${stderr}`, { cause: error });
    });
    return stdout;
  }

  /** The command of this repository, in the directory of the project. */
  async flotilla(...args: readonly string[]): Promise<string> {
    return this.command(process.execPath, [join(repository, "packages/cli/bin/flotilla.mjs"), ...args]);
  }

  async exec(service: string, ...command: readonly string[]): Promise<string> {
    return this.compose(["exec", "-T", service, ...command]);
  }

  async containers(): Promise<readonly Container[]> {
    const filter = `label=com.docker.compose.project=${this.name}`;
    const ids = (await this.command("docker", ["ps", "-aq", "--filter", filter])).split("\n").filter((id) => id !== "");
    if (ids.length === 0) return [];
    const inspected = JSON.parse(await this.command("docker", ["inspect", ...ids])) as readonly Inspected[];
    return inspected.map(({ Id, State, Config }) => ({
      id: Id,
      service: Config.Labels["com.docker.compose.service"] ?? "",
      pid: State.Pid,
      // An engine that starts a container anew calls it running before it has a process.
      running: State.Running && State.Pid > 0,
      health: State.Health?.Status ?? "none",
      exitCode: State.ExitCode,
      user: Config.User,
    }));
  }

  async containersOf(service: string): Promise<readonly Container[]> {
    return (await this.containers()).filter((one) => one.service === service);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.compose(["down", "-v", "--remove-orphans", "--timeout", "5"]);
    rmSync(this.directory, { recursive: true, force: true });
  }
}
