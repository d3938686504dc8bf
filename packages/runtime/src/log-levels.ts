/** The least severe level that is logged, by scope: changeable while the service runs. */

/** The least severe lines that are logged; `silent` logs none. */
export type LogLevel = "debug" | "info" | "warn" | "error" | "silent";

/** From the least severe on. */
export const logLevels: readonly LogLevel[] = ["debug", "info", "warn", "error", "silent"];

/** A part of a service, as its log lines name it; its level is that of the service unless it has one of its own. */
export interface LogScope {
  readonly name: string;
  readonly level: LogLevel;
  /** True where lines of this level are logged. */
  allows(level: LogLevel): boolean;
}

/** The name of what has no part, in the list of scopes. */
export const defaultScope = "default";

/** Levels of one service. Scopes come up when a part of that name gets its logger: their number is that of the parts in the code. */
export class LogLevels {
  #level: LogLevel;
  readonly #own = new Map<string, LogLevel>();
  readonly #scopes = new Map<string, LogScope>();

  constructor(level: LogLevel, own: Readonly<Record<string, LogLevel>> = {}) {
    this.#level = level;
    for (const [name, one] of Object.entries(own)) this.#own.set(name, one);
    this.scope(defaultScope);
  }

  scope(name: string): LogScope {
    const known = this.#scopes.get(name);
    if (known !== undefined) return known;
    const levelNow = () => this.#own.get(name) ?? this.#level;
    const scope: LogScope = {
      name,
      get level() {
        return levelNow();
      },
      allows: (level) => logLevels.indexOf(level) >= logLevels.indexOf(levelNow()),
    };
    this.#scopes.set(name, scope);
    return scope;
  }

  /** Of one scope, or with `default` of all that have none of their own. */
  set(name: string, level: LogLevel): void {
    if (name === defaultScope) this.#level = level;
    else this.#own.set(name, level);
  }

  /** Every scope that has logged, and those that were given a level, by name. */
  list(): Readonly<Record<string, LogLevel>> {
    const names = new Set([...this.#scopes.keys(), ...this.#own.keys()]);
    return Object.fromEntries([...names].sort().map((name) => [name, this.#own.get(name) ?? this.#level]));
  }
}

/** @throws Error with the reason */
export function parseScopeLevels(texts: readonly string[]): Readonly<Record<string, LogLevel>> {
  return Object.fromEntries(
    texts.map((text) => {
      const [, scope = "", word = ""] = /^([^:]+):([a-z]+)$/.exec(text) ?? [];
      const level = logLevels.find((one) => one === word);
      if (level === undefined) throw new Error(`is not SCOPE:LEVEL with a level of ${logLevels.join(", ")}: ${text}`);
      return [scope, level] as const;
    }),
  );
}
