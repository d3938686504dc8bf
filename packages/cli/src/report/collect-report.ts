/** The files of a bug report: what the services show of themselves, their logs, this host. Secrets stay where they are. */
import { readFile } from "node:fs/promises";
import { arch, cpus, platform, release, totalmem } from "node:os";
import { hostFacts } from "../check/gather.ts";
import { type Connection, requestAt, type ServiceAddress, serviceAddresses } from "../connection.ts";
import { type LogFile, logFilesIn } from "../logs/log-files.ts";
import { packageVersion } from "../parse/program.ts";

/** A file of the report, by its path in the archive. */
export interface ReportFile {
  readonly name: string;
  readonly data: string;
}

/** Pages that every service has. */
const commonPages = ["/ready", "/version", "/metrics"];
/** Pages that show what a service holds; none has keys or tokens. */
const ownPages: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    "xds-server": ["/debug/syncz", "/debug/push_status", "/debug/connections"],
    "config-controller": ["/debug/problems", "/debug/objects?open=true"],
    "service-controller": ["/debug/problems", "/debug/clusterz"],
    ca: ["/debug/caz"],
  }),
);
/** Of one log; earlier lines are left out, as its first line reports. */
const mostLogBytes = 4 * 1024 * 1024;

/** A page or log that cannot be read becomes a line of `problems.txt`, never an end of the report. */
export async function collectReport(connection: Connection): Promise<readonly ReportFile[]> {
  const problems: string[] = [];
  const note = (what: string, error: unknown): readonly ReportFile[] => {
    problems.push(`${what}: ${error instanceof Error ? error.message : String(error)}`);
    return [];
  };
  const addresses = await attempt(() => serviceAddresses(connection));
  if (addresses instanceof Error) note("services", addresses);
  const pages = await Promise.all(
    addresses instanceof Error ? [] : addresses.flatMap((address) => pagesOf(address, connection, note)),
  );
  const files = await attempt(() => logFilesIn(connection.workDir, []));
  if (files instanceof Error) note("logs", files);
  const logs = await Promise.all(files instanceof Error ? [] : files.map((file) => logOf(file, note)));
  return [
    { name: "host.json", data: json(await hostOf(connection.workDir)) },
    ...pages.flat(),
    ...logs.flat(),
    { name: "problems.txt", data: problems.map((problem) => `${problem}\n`).join("") },
  ];
}

type Note = (what: string, error: unknown) => readonly ReportFile[];

function pagesOf(
  { name, replica = name, url }: ServiceAddress,
  connection: Connection,
  note: Note,
): readonly Promise<readonly ReportFile[]>[] {
  return [...commonPages, ...(ownPages.get(name) ?? [])].map(async (path) => {
    try {
      const answer = await requestAt(url, { service: name, path, method: "GET" }, connection);
      const file = path.replace(/^\/(debug\/)?/, "").replaceAll(/[^\w.-]/g, "-");
      return [{ name: `${replica}/${file}${path === "/metrics" ? ".txt" : ".json"}`, data: await answer.text() }];
    } catch (error) {
      return note(`${replica} ${path}`, error);
    }
  });
}

async function logOf({ replica, path }: LogFile, note: Note): Promise<readonly ReportFile[]> {
  try {
    const bytes = await readFile(path);
    const tail = bytes.subarray(Math.max(0, bytes.length - mostLogBytes)).toString("utf8");
    const cut = bytes.length <= mostLogBytes ? "" : `the first ${bytes.length - mostLogBytes} bytes are left out\n`;
    return [{ name: `${replica}/log.jsonl`, data: cut + withoutCredentials(tail) }];
  } catch (error) {
    return note(`log of ${replica}`, error);
  }
}

/** Services write no secret into their logs; libraries' own texts may quote a URL or a header. */
export function withoutCredentials(text: string): string {
  return text
    .replaceAll(/(\b[a-z][a-z+.-]*:\/\/)[^\s/@"]+@/gi, "$1(hidden)@")
    .replaceAll(/\beyJ[\w-]+\.[\w-]+\.[\w-]+/g, "(token hidden)")
    .replaceAll(/-----BEGIN ([A-Z ]*PRIVATE KEY)-----[\s\S]*?-----END \1-----/g, "(key hidden)");
}

async function hostOf(workDir: string): Promise<unknown> {
  return {
    ...{ flotilla: packageVersion(), at: new Date().toISOString() },
    ...{ platform: platform(), release: release(), arch: arch(), processors: cpus().length, memory: totalmem() },
    ...(await hostFacts(workDir)),
  };
}

/** An error of any kind is a line of the report: a directory without the right to read it is one of the host. */
async function attempt<T>(action: () => T | Promise<T>): Promise<T | Error> {
  try {
    return await action();
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

function json(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}
