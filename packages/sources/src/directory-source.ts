/**
 * A directory of YAML and JSON files as a source of objects. Decides for each object which file's version is in force. Pure state: readings
 * of files in, changes of objects out. A refused object keeps its last good version. A file that cannot be read keeps all of them, and a
 * file with a document whose syntax is wrong all that its other documents do not name. Of two files with the same object the one that had
 * it first keeps it: a new file takes nothing over unnoticed.
 */

import { join, relative } from "node:path";
import { equalJson, type KubeObject } from "@flotilla/model";
import { TimeSlice } from "@flotilla/runtime";
import { DocumentThread } from "./documents.ts";
import { SourceError } from "./errors.ts";
import type { FileText } from "./file-scan.ts";
import { type FileBatch, FileWatcher } from "./file-watcher.ts";
import {
  type Admission,
  type FileReading,
  objectKeyText,
  objectText,
  type ReadItem,
  readAhead,
  readObjects,
  unreadableFile,
} from "./read-objects.ts";
import type { ForeignKind, ObjectKey, ObjectSource, SourceChange, SourceGroup, SourceProblem } from "./source.ts";

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
  /** Documents of the batch in hand, read ahead. */
  readonly #ahead = new Map<string, { readonly text: string; readonly documents: FileReading["documents"] }>();
  /** Results of the last parse of large files' documents: a change of one of thousands parses that one. */
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
      prepare: (texts) => this.#readAhead(texts),
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

  ignored(): ReadonlyMap<ForeignKind, number> {
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
    this.#ahead.clear();
    return readings;
  }

  async #readAhead(texts: FileBatch["texts"]): Promise<void> {
    await using thread = new DocumentThread();
    for (const [path, text] of texts) {
      if (typeof text !== "string" || this.#ahead.get(path)?.text === text) continue;
      const documents = await readAhead(text, this.#options, thread, this.#documents.get(path));
      this.#ahead.set(path, { text, documents });
    }
  }

  #read(path: string, text: FileText): FileReading | undefined {
    if (text === undefined) return undefined;
    if (text instanceof Error) return unreadableFile(this.#label(path), text.message);
    const before = this.#readings.get(path);
    if (before?.text === text) return before.reading;
    const ahead = this.#ahead.get(path);
    const known = ahead?.text === text ? ahead.documents : this.#documents.get(path);
    const reading = readObjects(this.#label(path), text, this.#options, known);
    this.#readings.set(path, { text, reading });
    return reading;
  }

  /** The file's name in the user's terms: below the path that the user gave. */
  #label(path: string): string {
    return path === this.#options.path ? path : join(this.#options.path, relative(this.#options.path, path));
  }
}

interface Held {
  readonly key: ObjectKey;
  readonly object: KubeObject;
  readonly index: number;
  readonly line: number;
  readonly hint: string;
}
interface InForce {
  readonly file: string;
  readonly held: Held;
}
interface FileState {
  readonly held: ReadonlyMap<string, Held>;
  readonly problems: readonly SourceProblem[];
  readonly ignored: ReadonlyMap<ForeignKind, number>;
}

const noState: FileState = { held: new Map(), problems: [], ignored: new Map() };

/** Objects by file; of two files with the same object the one that had it first keeps it. */
export class FileTable {
  readonly #files = new Map<string, FileState>();
  readonly #holders = new Map<string, Set<string>>();
  readonly #inForce = new Map<string, InForce>();

  /** Readings by file; undefined for a file that is gone. */
  update(readings: ReadonlyMap<string, FileReading | undefined>): readonly SourceChange[] {
    const touched = new Set<string>();
    for (const file of [...readings.keys()].sort()) {
      const before = this.#files.get(file) ?? noState;
      const after = nextState(before, readings.get(file));
      for (const id of before.held.keys()) this.#release(id, file);
      for (const id of after.held.keys()) this.#hold(id, file);
      if (readings.get(file) === undefined) this.#files.delete(file);
      else this.#files.set(file, after);
      for (const id of before.held.keys()) touched.add(id);
      for (const id of after.held.keys()) touched.add(id);
    }
    return [...touched].flatMap((id) => this.#settle(id));
  }

  /** Would this reading take objects away that are in force? It may be half of a write. */
  loses(file: string, reading: FileReading | undefined): boolean {
    const before = this.#files.get(file);
    if (before === undefined) return reading?.items === undefined || reading.isPartial;
    if (reading !== undefined && (reading.items === undefined || reading.isPartial)) return true;
    const after = nextState(before, reading);
    return [...before.held.keys()].some((id) => !after.held.has(id));
  }

  files(): readonly string[] {
    return [...this.#files.keys()];
  }

  problems(): readonly SourceProblem[] {
    const own = [...this.#files.values()].flatMap(({ problems }) => problems);
    const duplicates = [...this.#holders].flatMap(([id, files]) => {
      const winner = this.#inForce.get(id);
      return [...files].flatMap((file) => this.#duplicate(id, file, winner));
    });
    return [...own, ...duplicates].sort((a, b) => (a.file < b.file ? -1 : a.file > b.file ? 1 : a.line - b.line));
  }

  /** Objects of foreign kinds. */
  ignored(): ReadonlyMap<ForeignKind, number> {
    const counts = new Map<ForeignKind, number>();
    for (const { ignored } of this.#files.values())
      for (const [kind, count] of ignored) counts.set(kind, (counts.get(kind) ?? 0) + count);
    return counts;
  }

  #duplicate(id: string, file: string, winner: InForce | undefined): readonly SourceProblem[] {
    const held = this.#files.get(file)?.held.get(id);
    if (winner === undefined || held === undefined || winner.file === file) return [];
    const reason = `is in ${winner.file}:${winner.held.line} already`;
    return [{ file, line: held.line, object: objectText(held.key), reason }];
  }

  #settle(id: string): readonly SourceChange[] {
    const before = this.#inForce.get(id);
    const holders = this.#holders.get(id);
    const file = before !== undefined && holders?.has(before.file) ? before.file : [...(holders ?? [])].sort()[0];
    const held = file === undefined ? undefined : this.#files.get(file)?.held.get(id);
    if (file === undefined || held === undefined) {
      if (before === undefined) return [];
      this.#inForce.delete(id);
      return [{ op: "delete", key: before.held.key }];
    }
    this.#inForce.set(id, { file, held });
    const hasMoved = before?.file !== file || before.held.line !== held.line;
    // An equal object in another place is a change too: status pages name its place.
    if (before !== undefined && !hasMoved && equalJson(before.held.object, held.object)) return [];
    const provenance = { source: "file", location: `${file}:${held.line}` };
    return [{ op: "put", key: held.key, object: held.object, provenance }];
  }

  #hold(id: string, file: string): void {
    const files = this.#holders.get(id);
    if (files === undefined) this.#holders.set(id, new Set([file]));
    else files.add(file);
  }

  #release(id: string, file: string): void {
    const files = this.#holders.get(id);
    if (files?.delete(file) && files.size === 0) this.#holders.delete(id);
  }
}

function nextState(before: FileState, reading: FileReading | undefined): FileState {
  if (reading === undefined) return noState;
  const { problems, ignored } = reading;
  if (reading.items === undefined) return { held: before.held, problems, ignored };
  const held = new Map<string, Held>();
  for (const { key, object, index, line, hint } of reading.items) {
    if (key === undefined) continue;
    const id = objectKeyText(key);
    const last = before.held.get(id);
    if (object !== undefined) held.set(id, { key, object, index, line, hint });
    else if (last !== undefined) held.set(id, { ...last, index, line });
  }
  for (const item of reading.items) {
    const meant = item.key === undefined ? formerSelf(item, before, held) : undefined;
    if (meant !== undefined) held.set(meant[0], meant[1]);
  }
  // A document that cannot be parsed may have been any of those that are not named any more.
  if (reading.isPartial) for (const [id, last] of before.held) if (!held.has(id)) held.set(id, last);
  return { held, problems, ignored };
}

/** A document whose kind or name is spoiled: which object of the file was it before? */
function formerSelf(
  item: ReadItem,
  before: FileState,
  held: ReadonlyMap<string, Held>,
): readonly [string, Held] | undefined {
  const missing = [...before.held].filter(([id]) => !held.has(id));
  return missing.find(([, { hint }]) => hint === item.hint) ?? missing.find(([, { index }]) => index === item.index);
}
