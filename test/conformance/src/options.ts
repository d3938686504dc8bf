/** The command line of `pnpm conformance`. */
import { parseArgs } from "node:util";
import type { Form } from "@flotilla/xds";
import { type OpenPlane, openEmbedded, openRunning, openStarted } from "./wire/plane.ts";

export interface Options {
  /** Scenario groups, `group/name` or corpora, with `scenarios/` or `corpora/` in front where both are so called; empty: everything the project claims. */
  readonly names: readonly string[];
  readonly scenarios: string;
  readonly corpus: string;
  readonly proxyTypes: readonly string[];
  readonly json: string | undefined;
  readonly verbose: boolean;
  /** Fail when a result is under its committed floor. */
  readonly floors: boolean;
  /** Compares over the wire, against this control plane. */
  readonly wire: OpenPlane | undefined;
  readonly forms: readonly Form[];
}

export const usage = `pnpm conformance [NAME…] [--scenarios DIR] [--corpus DIR] [--proxy-type TYPE…] [--json FILE] [--verbose] [--floors]
pnpm conformance reference [--verbose]
pnpm conformance [NAME…] --serve | --target HOST:PORT | --start COMMAND [--form sotw|delta] [--verbose]

NAME is a scenario group, GROUP/NAME of a scenario, or a corpus (scenarios/NAME and corpora/NAME where both have the name); without one, everything that the project claims is compared, and the
rest is listed with its numbers. --scenarios DIR takes the project's form and folders of captures. --corpus DIR has Istio's own test
cases, one folder a corpus.
reference: which environment variables, flags, debug pages, metrics and messages of istiod are honoured; --verbose has the reason of each that is not.

Over the wire, in both forms unless --form names one:
  --serve             a control plane in this process for each scenario, over 15010 and 15012 (on free ports)
  --target HOST:PORT  one that runs already; --ca FILE for TLS; --input DIR where it reads DIR/input, DIR/mesh.yaml and DIR/networks.yaml: scenarios
                      and their steps are written there. Without, it must hold the input of the one scenario that is named, and steps are left out.
  --start COMMAND     one process for each scenario; COMMAND may name {input} {clusters} {mesh} {networks} {env} {port} {work}`;

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
      ...wireOptions,
    },
  });
  const { scenarios, corpus, json, verbose, floors } = values;
  return {
    ...{ names: positionals, scenarios, corpus, proxyTypes: values["proxy-type"], json, verbose, floors },
    wire: openerOf(values),
    forms: formsOf(values.form ?? []),
  };
}

/** Options that name a control plane; `pnpm conformance:record` has them too. */
export const wireOptions = {
  serve: { type: "boolean", default: false },
  target: { type: "string" },
  start: { type: "string" },
  ca: { type: "string" },
  input: { type: "string" },
  form: { type: "string", multiple: true },
} as const;

interface WireValues {
  readonly serve?: boolean;
  readonly target?: string | undefined;
  readonly start?: string | undefined;
  readonly ca?: string | undefined;
  readonly input?: string | undefined;
}

/** @throws RangeError when two control planes are named. */
export function openerOf({ serve = false, target, start, ca: root, input }: WireValues): OpenPlane | undefined {
  const named = [
    ...(serve ? [openEmbedded] : []),
    ...(target === undefined ? [] : [openRunning({ address: target, root, input })]),
    ...(start === undefined ? [] : [openStarted(start)]),
  ];
  if (named.length > 1)
    throw new RangeError("--serve, --target and --start name different control planes: give one of them");
  return named[0];
}

/** @throws RangeError */
function formsOf(names: readonly string[]): readonly Form[] {
  if (names.length === 0) return ["sotw", "delta"];
  return names.map((name) => {
    if (name !== "sotw" && name !== "delta") throw new RangeError(`--form is sotw or delta, not ${name}`);
    return name;
  });
}
