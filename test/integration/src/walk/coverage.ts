/** Which files of the project ran, by V8's precise coverage of this process. */
import { Session } from "node:inspector";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../../../", import.meta.url));

/** Files, relative to the project, of which a function was called since the coverage was read before. */
export class Coverage implements Disposable {
  readonly #session = new Session();

  constructor() {
    this.#session.connect();
    this.#session.post("Profiler.enable");
    this.#session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  }

  /** In this very turn of the event loop. */
  take(): ReadonlySet<string> {
    const files = new Set<string>();
    this.#session.post("Profiler.takePreciseCoverage", (error, taken) => {
      if (error !== null) throw new Error(`coverage: ${JSON.stringify(error)}`);
      for (const { url, functions } of taken.result) {
        if (!url.startsWith("file://")) continue;
        // The first one is the module itself.
        const isCalled = functions.some(
          ({ ranges: [range] }) => range !== undefined && range.startOffset > 0 && range.count > 0,
        );
        if (isCalled) files.add(fileURLToPath(url).replace(root, ""));
      }
    });
    return files;
  }

  [Symbol.dispose](): void {
    this.#session.post("Profiler.stopPreciseCoverage");
    this.#session.disconnect();
  }
}
