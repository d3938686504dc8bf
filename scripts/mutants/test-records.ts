/**
 * Code that each unit test file runs, and its time: recorded once with V8's coverage and kept on disk. A record holds while every file of
 * the project that the test loaded is as it was then, and so are the dependencies and Node: a test that fails for another reason than a mutant
 * would notice all of them.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { isRan, type RanRanges } from "./coverage.ts";
import { runWithCoverage } from "./test-process.ts";

interface LoadedFile {
  readonly digest: string;
  /** One list for each process that loaded it. */
  readonly ran: readonly RanRanges[];
}

export interface TestRecord {
  /** Absolute. */
  readonly test: string;
  /** Without a change; one that fails so takes no part. */
  readonly isPassed: boolean;
  readonly seconds: number;
  /** By path from the root. */
  readonly files: Readonly<Record<string, LoadedFile>>;
}

export interface TestRecords {
  /** The record of a test file, taken now when there is none that holds. */
  of(test: string): Promise<TestRecord>;
}

export interface RecordOptions {
  readonly root: string;
  readonly directory: string;
  readonly withinMs: number;
}

const lockFile = "pnpm-lock.yaml";
/** Files that are no source of the project, or are generated, are not mutated. */
const notRecorded = /\/node_modules\/|\/gen\//;

export function openTestRecords({ root, directory, withinMs }: RecordOptions): TestRecords {
  const records = new Map<string, Promise<TestRecord>>();
  const digests = new Map<string, string>();
  const digestOf = (path: string): string => {
    const file = join(root, path);
    const digest = digests.get(path) ?? (existsSync(file) ? sha256(readFileSync(file)) : "");
    digests.set(path, digest);
    return digest;
  };
  const read = async (test: string): Promise<TestRecord> => {
    const kept = join(directory, `${sha256(`${process.version} ${relative(root, test)}`).slice(0, 24)}.json`);
    if (existsSync(kept)) {
      const record = JSON.parse(readFileSync(kept, "utf8")) as TestRecord;
      if (Object.entries(record.files).every(([path, { digest }]) => digestOf(path) === digest))
        return { ...record, test };
    }
    const record = await take(test);
    mkdirSync(directory, { recursive: true });
    if (record.isPassed) writeFileSync(kept, JSON.stringify(record));
    return record;
  };
  const take = async (test: string): Promise<TestRecord> => {
    const rootUrl = `${pathToFileURL(root).href}/`;
    const isWanted = (url: string): boolean => url.startsWith(rootUrl) && !notRecorded.test(url);
    const { end, seconds, coverage } = await runWithCoverage(test, isWanted, withinMs);
    const files = [...coverage].map(([url, ran]) => {
      const path = decodeURIComponent(url.slice(rootUrl.length));
      return [path, { digest: digestOf(path), ran }] as const;
    });
    const dependencies = { [lockFile]: { digest: digestOf(lockFile), ran: [] } };
    return { test, isPassed: end === "passed", seconds, files: { ...dependencies, ...Object.fromEntries(files) } };
  };
  return {
    of(test) {
      const record = records.get(test) ?? read(test);
      records.set(test, record);
      return record;
    },
  };
}

/** True when the test ran the place of the file, a path from the root. */
export function runsPlace({ files }: TestRecord, path: string, at: number): boolean {
  return files[path]?.ran.some((ranges) => isRan(ranges, at)) === true;
}

function sha256(text: string | Buffer): string {
  return createHash("sha256").update(text).digest("hex");
}
