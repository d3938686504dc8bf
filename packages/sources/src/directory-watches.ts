/** The kernel's word of changes in directories, for as many as there are. */
import { type FSWatcher, watch } from "node:fs";
import { isGone } from "./file-scan.ts";

/** Callbacks for events, and for directories that cannot be watched. */
export interface DirectoryWatchesOptions {
  /** `name` within `directory`; null when the kernel does not say it. */
  readonly onEvent: (directory: string, name: string | null) => void;
  /** What happened meanwhile is not known: everything is to be looked at. */
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
    // Between the look and the watch something may have happened that nobody would report.
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
