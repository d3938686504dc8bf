/**
 * Where the reader is: a path and a query, both in the address, so that a screen can be shared, reloaded and left with the back button.
 * Only this file writes the history.
 */
import { computed, type ReadonlySignal, signal } from "@preact/signals";

/** Content of the address, decoded. */
export interface Place {
  readonly path: string;
  readonly query: ReadonlyMap<string, string>;
}

/** Where addresses are read and written: the window's history, or a list in tests. */
export interface AddressBar {
  /** Path and query, such as `/proxies?q=web`. */
  read(): string;
  write(address: string, isReplacing: boolean): void;
  /** Calls when the reader goes back or forward. */
  onMove(moved: () => void): void;
}

/** Values to put into the query; an empty or undefined one is removed. */
export type QueryChanges = Readonly<Record<string, string | number | undefined>>;

/** The one router of a page. */
export interface Router {
  readonly place: ReadonlySignal<Place>;
  /** Goes to an address of this page and adds an entry to the history. */
  go(address: string): void;
  /** Changes the query of the present screen; `isReplacing` keeps the entry of the history, as for each key that is typed. */
  change(changes: QueryChanges, isReplacing?: boolean): void;
  /** The present address with changes, for links. */
  withQuery(changes: QueryChanges): string;
}

/** Reads the present address, and follows it from now on. */
export function createRouter(bar: AddressBar): Router {
  const address = signal(bar.read());
  bar.onMove(() => {
    address.value = bar.read();
  });
  const place = computed(() => parseAddress(address.value));
  const goTo = (next: string, isReplacing: boolean): void => {
    if (next === address.value) return;
    bar.write(next, isReplacing);
    address.value = next;
  };
  const withQuery = (changes: QueryChanges): string => {
    const { path, query } = place.value;
    return formatAddress(path, changed(query, changes));
  };
  return {
    place,
    go: (next) => goTo(next, false),
    change: (changes, isReplacing = false) => goTo(withQuery(changes), isReplacing),
    withQuery,
  };
}

/** Splits an address; a path without a slash at its end, the first value of each name of the query. */
export function parseAddress(address: string): Place {
  const { pathname, searchParams } = new URL(address, "http://page");
  const query = new Map<string, string>();
  for (const [name, value] of searchParams) if (!query.has(name)) query.set(name, value);
  return { path: pathname === "/" ? pathname : pathname.replace(/\/$/, ""), query };
}

/** The address of a place; names of the query in order, so that equal states have equal addresses. */
export function formatAddress(path: string, query: ReadonlyMap<string, string>): string {
  const search = new URLSearchParams([...query].toSorted(([a], [b]) => (a < b ? -1 : 1))).toString();
  return search === "" ? path : `${path}?${search}`;
}

/** A path of parts, each encoded: `pathOf("objects", "a/b")` is `/objects/a%2Fb`. */
export function pathOf(...parts: readonly string[]): string {
  return `/${parts.map(encodeURIComponent).join("/")}`;
}

/** The parts of a path that fits a pattern of fixed words and `:names`; undefined when it does not. */
export function matchPath(pattern: string, path: string): ReadonlyMap<string, string> | undefined {
  const [wanted, given] = [pattern.split("/"), path.split("/")];
  if (wanted.length !== given.length) return undefined;
  const found = new Map<string, string>();
  for (const [at, word] of wanted.entries()) {
    const part = given[at] ?? "";
    if (word.startsWith(":")) {
      const value = decoded(part);
      if (value === undefined || value === "") return undefined;
      found.set(word.slice(1), value);
    } else if (word !== part) return undefined;
  }
  return found;
}

function changed(query: ReadonlyMap<string, string>, changes: QueryChanges): ReadonlyMap<string, string> {
  const next = new Map(query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === "") next.delete(name);
    else next.set(name, String(value));
  }
  return next;
}

/** Undefined for a broken escape, which a reader can type. */
function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}
