/** Survivors by file and line, and a table by folder. */
import type { Outcome, Trial } from "./try-mutants.ts";

export interface Result extends Trial {
  readonly folder: string;
  /** Of a survivor that makes no difference. */
  readonly reason?: string;
}

export interface Row {
  readonly folder: string;
  readonly mutants: number;
  readonly noticed: number;
  readonly timeLimit: number;
  readonly survived: number;
  readonly excused: number;
  readonly notRun: number;
}

export function rowsOf(results: readonly Result[]): readonly Row[] {
  const folders = [...new Set(results.map(({ folder }) => folder))].toSorted();
  return folders.map((folder) =>
    rowOf(
      folder,
      results.filter((result) => result.folder === folder),
    ),
  );
}

function rowOf(folder: string, results: readonly Result[]): Row {
  const count = (outcome: Outcome, isExcused: boolean): number =>
    results.filter((result) => result.outcome === outcome && (result.reason !== undefined) === isExcused).length;
  return {
    folder,
    mutants: results.length,
    noticed: count("noticed", false),
    timeLimit: count("time limit", false),
    survived: count("survived", false),
    excused: count("survived", true),
    notRun: count("not run", false),
  };
}

/** The share is of those noticed and survived: a mutant past its time limit is in neither. */
export function formatTable(results: readonly Result[]): string {
  const lines = [...rowsOf(results), rowOf("all", results)].map((row) => {
    const { folder, mutants, noticed, timeLimit, survived, excused, notRun } = row;
    const counted = noticed + survived;
    const share = counted === 0 ? "" : `${((100 * noticed) / counted).toFixed(0)} %`;
    return `| ${[folder, mutants, noticed, timeLimit, survived, excused, notRun, share].join(" | ")} |\n`;
  });
  const head =
    "| folder | mutants | noticed | past the time limit | survived | excused | not run | noticed of noticed and survived |";
  return `${head}\n|---|---|---|---|---|---|---|---|\n${lines.join("")}`;
}

export function formatResult({ mutant, outcome, detail, reason }: Result): string {
  const { file, line, operator, before, after } = mutant;
  const end = reason === undefined ? `${outcome} (${detail})` : `excused (${reason})`;
  return `${file}:${line}: ${operator}: ${shorten(before)} → ${shorten(after)}: ${end}`;
}

function shorten(text: string): string {
  return text.length > 120 ? `${text.slice(0, 117)}…` : text;
}
