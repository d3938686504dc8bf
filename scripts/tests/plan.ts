/**
 * How test files run beside each other; those that would disturb each other are listed here, and only here.
 */
import type { TestKind } from "./find-files.ts";

export interface Limits {
  readonly atOnce: number;
  /** Of a process: of a file, or of several unit test files. */
  readonly withinMs: number;
  /** Of a test without a time-out of its own; less than a process's, so that the test is named that hangs. */
  readonly testMs: number;
}

export function limits(kind: TestKind, processors: number): Limits {
  const cores = Math.min(Math.max(processors, 2), 8);
  // Groups wait for clocks and processes half of their time: one more than there are processors left a third of two cores idle (decision 0460).
  if (kind === "unit") return { atOnce: cores + 3, withinMs: 480_000, testMs: 120_000 };
  // Most wait for servers: four at a time left a sixth of two cores idle (decision 0471).
  return { atOnce: Math.min(2 * cores + 1, 6), withinMs: 420_000, testMs: 180_000 };
}

/** Unit tests that need a process of their own, and why. */
export const ownProcess: Readonly<Record<string, string>> = {
  "packages/cli/src/signals.test.ts": "sends its process signals that end the test runner",
  "packages/runtime/src/watchdog.test.ts": "blocks its process",
  "services/ca/src/rotation/rotation.test.ts": "has hooks around each test of the process",
  "services/xds-server/src/main.test.ts":
    "asks a service that starts before all tests of the process, over connections kept since",
};

/** A process loads the modules of all its files once, which takes longer than most of them; few enough that processes end at about the same time. */
const groupSize = 32;

/**
 * Unit test files that run in one process: neighbours in the order of their paths, which load the same modules. Each file with a process of its
 * own is a group of one.
 */
export function unitGroups(files: readonly string[]): readonly (readonly string[])[] {
  const together = files.filter((file) => ownProcess[file] === undefined).toSorted();
  const size = Math.ceil(together.length / Math.max(1, Math.ceil(together.length / groupSize)));
  const groups = Array.from({ length: Math.ceil(together.length / Math.max(1, size)) }, (_, i) =>
    together.slice(i * size, (i + 1) * size),
  );
  return [...groups, ...files.filter((file) => ownProcess[file] !== undefined).map((file) => [file])];
}

/** Paths from the root of the repository. */
export interface Rules {
  /** Resources that a host has once: of the files that use one, a single file runs at a time. */
  readonly shared: Readonly<Record<string, readonly string[]>>;
  /** Files that measure, and what: no other file runs meanwhile. */
  readonly alone: Readonly<Record<string, string>>;
}

export const rules: Rules = {
  shared: {
    "the addresses of the sample mesh, 127.0.1.x, and the ports of pilot-agent": [
      "test/integration/src/installed-command.integration.test.ts",
      "test/integration/src/mesh.integration.test.ts",
      "test/integration/src/replicas.integration.test.ts",
      "test/integration/src/rolling.integration.test.ts",
      "test/integration/src/rotation-stock-agents.integration.test.ts",
      "test/integration/src/unmodified-clients.integration.test.ts",
    ],
  },
  alone: {},
};

/** How long a file took in the last run; undefined for one that has not run yet. */
export type SecondsOf = (file: string) => number | undefined;

/**
 * Runs each file once, at most `atOnce` beside each other. Those that run alone come last. Of the others those that take longest begin, so
 * that none of them runs by itself at the end; files of a rule count with all that wait for them. Files that have not run yet come before,
 * from the last to the first: those of test/ take longest.
 */
export async function runPlanned(
  files: readonly string[],
  atOnce: number,
  run: (file: string) => Promise<void>,
  { shared, alone }: Rules = rules,
  secondsOf: SecondsOf = () => undefined,
): Promise<void> {
  const isAlone = (file: string) => alone[file] !== undefined;
  const disturb = (one: string, two: string) =>
    isAlone(one) || isAlone(two) || Object.values(shared).some((some) => some.includes(one) && some.includes(two));
  const weights = new Map(files.map((file) => [file, weightOf(file, files, shared, secondsOf)]));
  const byWeight = (one: string, two: string) => {
    const [first = 0, second = 0] = [weights.get(one), weights.get(two)];
    return first === second ? 0 : second > first ? 1 : -1;
  };
  const waiting = [
    ...files
      .filter((file) => !isAlone(file))
      .toReversed()
      .toSorted(byWeight),
    ...files.filter(isAlone),
  ];
  const running = new Map<string, Promise<string>>();
  while (waiting.length + running.size > 0) {
    const at = waiting.findIndex((file) => ![...running.keys()].some((other) => disturb(file, other)));
    if (at !== -1 && running.size < atOnce) {
      for (const file of waiting.splice(at, 1))
        running.set(
          file,
          run(file).then(() => file),
        );
    } else running.delete(await Promise.race(running.values()));
  }
}

function weightOf(file: string, files: readonly string[], shared: Rules["shared"], secondsOf: SecondsOf): number {
  const others = Object.values(shared).find((some) => some.includes(file)) ?? [file];
  return others.reduce((sum, one) => sum + (files.includes(one) ? (secondsOf(one) ?? Number.POSITIVE_INFINITY) : 0), 0);
}
