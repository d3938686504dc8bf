/** The live table of `flotilla up`: what runs where, and since when it is ready. */
import type { RunningService } from "./child-service.ts";
import { healthOf } from "./health.ts";

export interface TableRow {
  readonly name: string;
  readonly where: string;
  readonly state: string;
  readonly detail: string;
}

export async function tableRows(
  services: readonly RunningService[],
  addresses: (name: string) => string,
): Promise<readonly TableRow[]> {
  return Promise.all(
    services.map(async (service) => {
      const { state, detail } = await healthOf(service);
      const pid = service.pid === undefined ? "in process" : `pid ${service.pid}`;
      return { name: service.name, where: `${addresses(service.name)} (${pid})`, state, detail };
    }),
  );
}

export function formatTable(rows: readonly TableRow[]): string {
  const widths = (["name", "where", "state"] as const).map((column) =>
    Math.max(...rows.map((row) => row[column].length)),
  );
  return rows
    .map(({ name, where, state, detail }) => {
      const [a = 0, b = 0, c = 0] = widths;
      return `  ${name.padEnd(a)}  ${where.padEnd(b)}  ${state.padEnd(c)}  ${detail}`.trimEnd();
    })
    .join("\n");
}

/** Draws the table again in place on a terminal; elsewhere only when it changed. */
export class LiveTable {
  #last = "";
  readonly #output: NodeJS.WriteStream;

  constructor(output: NodeJS.WriteStream) {
    this.#output = output;
  }

  draw(text: string): void {
    if (text === this.#last) return;
    if (this.#output.isTTY && this.#last !== "") this.#output.write(`\x1b[${this.#last.split("\n").length}A\x1b[J`);
    this.#output.write(`${text}\n`);
    this.#last = text;
  }
}
