/**
 * Follows the files below a path and gives their texts: all of them first, then whatever a look found changed.
 * * The kernel reports changes in directories; a slow look at everything catches what it misses (network file systems, links that point
 * elsewhere). A write is waited out: events must pause for `settleMs`, and a text that `doubtful` takes for half of a write must stay
 * the same for `stableMs`.
 * The kernel's word of changes in directories, for as many as there are.
 */
import { type FSWatcher, watch } from "node:fs";
import { join } from "node:path";
import { Wakeup } from "@flotilla/runtime";
import {
  type FileStamp,
  type FileText,
  isConfigFile,
  isGone,
  readTexts,
  sameStamp,
  scanFiles,
  stampFile,
} from "./file-scan.ts";

/** The texts of files that changed together. */
export interface FileBatch {
  readonly texts: ReadonlyMap<string, FileText>;
  readonly eventTimeMs: number;
}

/** The path to follow, and times in milliseconds. */
export interface FileWatcherOptions {
  /** A directory or a single file. */
  readonly root: string;
  /** Is this what an unfinished write would leave? */
  readonly doubtful: (path: string, text: FileText) => boolean;
  /** Does the work that `doubtful` and the reader of the batch need, without holding others up. */
  readonly prepare?: (texts: FileBatch["texts"]) => Promise<void>;
  /** Called when `root` cannot be read or watched, and with undefined when it can again. */
  readonly onTrouble: (reason: string | undefined) => void;
  readonly settleMs?: number;
  readonly stableMs?: number;
  readonly rescanMs?: number;
}

const retryMs = 500;
interface Sighting {
  readonly stamp: FileStamp | undefined;
  readonly at: number;
}

/** Yields the texts of all files, then those that changed; disposing of it ends the watches. */
export class FileWatcher implements AsyncDisposable {
  readonly #options: Required<Omit<FileWatcherOptions, "prepare">> & Pick<FileWatcherOptions, "prepare">;
  readonly #known = new Map<string, FileStamp>();
  readonly #watches: DirectoryWatches;
  readonly #wakeup = new Wakeup();
  readonly #paths = new Set<string>();
  readonly #sightings = new Map<string, Sighting>();
  #everything = true;
  #unwatched = false;

  constructor(options: FileWatcherOptions) {
    this.#options = { settleMs: 3, stableMs: 40, rescanMs: 5_000, ...options };
    this.#watches = new DirectoryWatches({
      onEvent: (directory, name) => this.#onEvent(directory, name),
      onDoubt: () => {
        this.#everything = true;
        this.#wakeup.wake();
      },
      onFailure: (directory, { message }) => {
        // Out of inotify watches, most likely: looking often is slower, but nothing is missed.
        this.#unwatched = true;
        this.#options.onTrouble(`cannot watch ${directory}, looking every ${retryMs} ms: ${message}`);
      },
    });
  }

  async *batches(stop: AbortSignal): AsyncGenerator<FileBatch, void, undefined> {
    let sinceMs = 0;
    for (let first = true; !stop.aborted; ) {
      const startMs = Date.now();
      const looked = await this.#look();
      const waitMs = looked === undefined || this.#unwatched ? retryMs : this.#options.rescanMs;
      if (looked !== undefined) {
        const texts = await readTexts(looked);
        await this.#options.prepare?.(texts);
        const held = !first && this.#isUnsettled(looked, texts);
        if (held) {
          for (const path of looked.keys()) this.#paths.add(path);
          await this.#pause(this.#options.stableMs / 2, stop);
          continue;
        }
        if (first || texts.size > 0) {
          this.#accept(looked);
          yield { texts, eventTimeMs: first ? Date.now() : eventTime(looked, sinceMs) };
        }
        first = false;
        sinceMs = startMs;
      }
      await this.#settled(waitMs, stop);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#watches[Symbol.dispose]();
  }

  /** Files whose stamp differs from the accepted one; undefined while `root` cannot be read. */
  async #look(): Promise<ReadonlyMap<string, FileStamp | undefined> | undefined> {
    const changed = new Map<string, FileStamp | undefined>();
    const everything = this.#everything;
    const paths = [...this.#paths];
    this.#everything = false;
    this.#paths.clear();
    if (!everything) {
      for (const path of paths) {
        const stamp = await stampFile(path);
        if (!sameStamp(stamp, this.#known.get(path))) changed.set(path, stamp);
      }
      return changed;
    }
    try {
      const { files, directories } = await scanFiles(this.#options.root);
      this.#watches.set(directories);
      for (const [path, stamp] of files) if (!sameStamp(stamp, this.#known.get(path))) changed.set(path, stamp);
      for (const path of this.#known.keys()) if (!files.has(path)) changed.set(path, undefined);
    } catch (cause) {
      // A mount that went away must not look like a directory that was emptied.
      this.#everything = true;
      this.#options.onTrouble(`cannot read ${this.#options.root}: ${(cause as Error).message}`);
      return undefined;
    }
    if (!this.#unwatched) this.#options.onTrouble(undefined);
    return changed;
  }

  #accept(changed: ReadonlyMap<string, FileStamp | undefined>): void {
    for (const [path, stamp] of changed) {
      this.#sightings.delete(path);
      if (stamp === undefined) this.#known.delete(path);
      else this.#known.set(path, stamp);
    }
  }

  /** One incomplete file holds everything back: files that were written together shall arrive together. */
  #isUnsettled(changed: ReadonlyMap<string, FileStamp | undefined>, texts: ReadonlyMap<string, FileText>): boolean {
    const now = Date.now();
    let unsettled = false;
    for (const [path, stamp] of changed) {
      const before = this.#sightings.get(path);
      const sighting = before !== undefined && sameStamp(before.stamp, stamp) ? before : { stamp, at: now };
      this.#sightings.set(path, sighting);
      const young = now - sighting.at < this.#options.stableMs;
      unsettled ||= young && this.#options.doubtful(path, texts.get(path));
    }
    return unsettled;
  }

  #onEvent(directory: string, name: string | null): void {
    // A known file by its direct path needs one look; links, directories and mounts need a look at everything.
    const path = name === null ? "" : join(directory, name);
    if (isConfigFile(path) && this.#known.has(path)) this.#paths.add(path);
    else if (name === null || !name.startsWith(".") || name.startsWith("..")) this.#everything = true;
    else return;
    this.#wakeup.wake();
  }

  /** Waits for an event and then for a pause between events; a steady stream of them is cut at 50 ms. */
  async #settled(withinMs: number, stop: AbortSignal): Promise<void> {
    if (!(await this.#wakeup.wait(stop, withinMs))) {
      this.#everything = true;
      return;
    }
    const until = Date.now() + 50;
    while (Date.now() < until && (await this.#wakeup.wait(stop, this.#options.settleMs)));
  }

  async #pause(ms: number, stop: AbortSignal): Promise<void> {
    await this.#wakeup.wait(stop, ms);
  }
}

/**
 * The time at which the newest of them was written; a deletion is only known to be now. Files that are moved or copied keep older times, but
 * they were not there when the look before began.
 */
function eventTime(changed: ReadonlyMap<string, FileStamp | undefined>, sinceMs: number): number {
  const now = Date.now();
  const times = [...changed.values()].map((stamp) => stamp?.mtimeMs ?? now);
  return Math.min(now, Math.max(Math.round(Math.max(...times, 0)) || now, sinceMs));
}

/** Callbacks for events, and for directories that cannot be watched. */
export interface DirectoryWatchesOptions {
  /** `name` within `directory`; null when the kernel does not report it. */
  readonly onEvent: (directory: string, name: string | null) => void;
  /** Events were lost: everything is to be scanned. */
  readonly onDoubt: () => void;
  /** A directory cannot be watched. */
  readonly onFailure: (directory: string, cause: Error) => void;
}

/** Watches directories; disposing of it ends all watches. */
export class DirectoryWatches implements Disposable {
  readonly #options: DirectoryWatchesOptions;
  readonly #watchers = new Map<string, FSWatcher>();

  constructor(options: DirectoryWatchesOptions) {
    this.#options = options;
  }

  /** Watches these and no others. */
  set(directories: ReadonlySet<string>): void {
    for (const [directory, watcher] of this.#watchers) {
      if (directories.has(directory)) continue;
      watcher.close();
      this.#watchers.delete(directory);
    }
    const unseen = [...directories].filter((directory) => !this.#watchers.has(directory));
    for (const directory of unseen) this.#watch(directory);
    // Between the look and the watch a change may have happened that no event reports.
    if (unseen.length > 0) this.#options.onDoubt();
  }

  [Symbol.dispose](): void {
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }

  #watch(directory: string): void {
    const { onEvent, onDoubt, onFailure } = this.#options;
    try {
      const watcher = watch(directory, { persistent: true }, (_, name) => onEvent(directory, name));
      watcher.on("error", () => {
        // The directory itself went; the next look reports what that means.
        watcher.close();
        this.#watchers.delete(directory);
        onDoubt();
      });
      this.#watchers.set(directory, watcher);
    } catch (cause) {
      if (!isGone(cause)) onFailure(directory, cause as Error);
    }
  }
}
