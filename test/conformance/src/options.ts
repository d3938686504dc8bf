/** The command line of `pnpm conformance`. */
import { parseArgs } from "node:util";

export interface Options {
  /** Scenario groups, `group/name` or corpora; empty: everything the project claims. */
  readonly names: readonly string[];
  readonly scenarios: string;
  readonly corpus: string;
  readonly proxyTypes: readonly string[];
  readonly json: string | undefined;
  readonly verbose: boolean;
  /** Fail when a result is under its committed floor. */
  readonly floors: boolean;
}

export const usage = `pnpm conformance [NAME…] [--scenarios DIR] [--corpus DIR] [--proxy-type TYPE…] [--json FILE] [--verbose] [--floors]

NAME is a scenario group, GROUP/NAME of a scenario, or a corpus; without one, everything that the project claims is compared, and the
rest is listed with its numbers. --scenarios DIR takes the project's form and folders of captures. --corpus DIR has Istio's own test
cases, one folder a corpus.`;

/** @throws when an option is unknown. */
export function parseOptions(args: readonly string[], root: string): Options {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      scenarios: { type: "string", default: `${root}/test/conformance/scenarios` },
      corpus: { type: "string", default: `${root}/../shared/corpus` },
      "proxy-type": { type: "string", multiple: true, default: [] },
      json: { type: "string" },
      verbose: { type: "boolean", default: false },
      floors: { type: "boolean", default: false },
    },
  });
  const { scenarios, corpus, json, verbose, floors } = values;
  return { names: positionals, scenarios, corpus, proxyTypes: values["proxy-type"], json, verbose, floors };
}
