/** A directory of YAML and JSON files as a source of objects. */
import { join, relative } from "node:path";
import { TimeSlice } from "@flotilla/runtime";
import { SourceError } from "./errors.ts";
import type { FileText } from "./file-scan.ts";
import { FileTable } from "./file-table.ts";
import { type FileBatch, FileWatcher } from "./file-watcher.ts";
import { type Admission, type FileReading, readObjects, unreadableFile } from "./read-objects.ts";
import type { ObjectSource, SourceGroup, SourceProblem } from "./source.ts";

/** The path, which kinds are read, and times in milliseconds. */
export interface DirectorySourceOptions extends Admission {
  /** A directory, or a single file. */
  readonly path: string;
  readonly settleMs?: number;
  readonly rescanMs?: number;
  /** Called after each look that may have changed `problems()`. */
  readonly onProblems?: () => void;
}

/** Files of fewer documents are parsed whole: remembering them would cost more than it saves. */
const manyDocuments = 8;

/** Follows a directory or a file; invalid objects keep their last valid version and are listed as problems. */
export function directorySource(options: DirectorySourceOptions): ObjectSource {
  return new DirectorySource(options);
}

class DirectorySource implements ObjectSource {
  readonly name: string;
  readonly #options: DirectorySourceOptions;
  readonly #table = new FileTable();
  readonly #watcher: FileWatcher;
  /** Readings of the batch in hand: `doubtful` has parsed them already. */
  readonly #readings = new Map<string, { readonly text: string; readonly reading: FileReading }>();
  /** What the documents of large files gave last time: a change of one of thousands parses that one. */
  readonly #documents = new Map<string, FileReading["documents"]>();
  #trouble: string | undefined;
  #inUse = false;

  constructor(options: DirectorySourceOptions) {
    this.name = `file:${options.path}`;
    this.#options = options;
    this.#watcher = new FileWatcher({
      root: options.path,
      ...(options.settleMs === undefined ? {} : { settleMs: options.settleMs }),
      ...(options.rescanMs === undefined ? {} : { rescanMs: options.rescanMs }),
      doubtful: (path, text) => this.#table.loses(this.#label(path), this.#read(path, text)),
      onTrouble: (reason) => {
        const changed = this.#trouble !== reason;
        this.#trouble = reason;
        if (changed) this.#options.onProblems?.();
      },
    });
  }

  async *groups(stop: AbortSignal): AsyncGenerator<SourceGroup, void, undefined> {
    if (this.#inUse) throw new SourceError("SOURCE_BUSY", `${this.name} has a reader already`);
    this.#inUse = true;
    let first = true;
    for await (const batch of this.#watcher.batches(stop)) {
      const changes = this.#table.update(await this.#readAll(batch));
      this.#options.onProblems?.();
      if (first || changes.length > 0) yield { changes, eventTimeMs: batch.eventTimeMs };
      first = false;
    }
  }

  problems(): readonly SourceProblem[] {
    const trouble = this.#trouble === undefined ? [] : [{ file: this.#options.path, line: 0, reason: this.#trouble }];
    return [...trouble, ...this.#table.problems()];
  }

  ignored(): ReadonlyMap<string, number> {
    return this.#table.ignored();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#watcher[Symbol.asyncDispose]();
  }

  async #readAll({ texts }: FileBatch): Promise<ReadonlyMap<string, FileReading | undefined>> {
    const readings = new Map<string, FileReading | undefined>();
    const timeSlice = new TimeSlice();
    for (const [path, text] of texts) {
      const reading = this.#read(path, text);
      readings.set(this.#label(path), reading);
      if (reading !== undefined && reading.documents.size >= manyDocuments)
        this.#documents.set(path, reading.documents);
      else this.#documents.delete(path);
      if (timeSlice.isDue) await timeSlice.yield();
    }
    this.#readings.clear();
    return readings;
  }

  #read(path: string, text: FileText): FileReading | undefined {
    if (text === undefined) return undefined;
    if (text instanceof Error) return unreadableFile(this.#label(path), text.message);
    const known = this.#readings.get(path);
    if (known?.text === text) return known.reading;
    const reading = readObjects(this.#label(path), text, this.#options, this.#documents.get(path));
    this.#readings.set(path, { text, reading });
    return reading;
  }

  /** As the user knows the file: below the path he gave. */
  #label(path: string): string {
    return path === this.#options.path ? path : join(this.#options.path, relative(this.#options.path, path));
  }
}
