/** Patches of JSON documents: merge patches (RFC 7386) and JSON patches (RFC 6902). Nothing given is changed. */
import { equalJson, isObject, ownValue } from "@flotilla/model";
import { ApiError } from "./api-error.ts";

/** Null removes; lists are replaced as a whole. */
export function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const merged: Record<string, unknown> = isObject(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete merged[name];
    else setOwn(merged, name, applyMergePatch(ownValue(merged, name), value));
  }
  return merged;
}

/** @throws ApiError 400 when it is no patch, 422 when it does not fit the document */
export function applyJsonPatch(document: unknown, patch: unknown): unknown {
  if (!Array.isArray(patch)) throw new ApiError(400, "BadRequest", "a JSON patch is a list of operations");
  if (patch.length > maxOperations)
    throw new ApiError(400, "BadRequest", `a JSON patch has ${maxOperations} operations at most`);
  const budget = { bytes: maxCopiedBytes };
  const next = (current: unknown, operation: unknown, index: number) =>
    applyOperation(current, operation, index, budget);
  return patch.reduce(next, document);
}

/** As of Kubernetes' API server. */
const maxOperations = 10_000;
/** Of all values that one patch copies: each copy may double the document. */
const maxCopiedBytes = 4 * 1024 * 1024;

interface Budget {
  bytes: number;
}

function applyOperation(document: unknown, operation: unknown, index: number, budget: Budget): unknown {
  const { op, path, from, value } = isObject(operation) ? operation : {};
  const fail = (reason: string): never => {
    const [what, where] = [op, path].map((one) => (typeof one === "string" ? one : "?"));
    throw new ApiError(422, "Invalid", `operation ${index} of the patch, ${what} ${where}: ${reason}`);
  };
  if (typeof path !== "string") return fail("has no path");
  const needed = (): string => (typeof from === "string" ? from : fail("has no from"));
  switch (op) {
    case "add":
      return edit(document, parsePointer(path, fail), { op: "add", value }, fail);
    case "replace":
      find(document, parsePointer(path, fail), fail);
      return edit(document, parsePointer(path, fail), { op: "replace", value }, fail);
    case "remove":
      return edit(document, parsePointer(path, fail), { op: "remove" }, fail);
    case "test":
      return equalJson(find(document, parsePointer(path, fail), fail), value) ? document : fail("the value is another");
    case "copy":
      return edit(
        document,
        parsePointer(path, fail),
        { op: "add", value: copied(find(document, parsePointer(needed(), fail), fail), budget, fail) },
        fail,
      );
    case "move": {
      const source = parsePointer(needed(), fail);
      const moved = find(document, source, fail);
      return edit(
        edit(document, source, { op: "remove" }, fail),
        parsePointer(path, fail),
        { op: "add", value: moved },
        fail,
      );
    }
    default:
      return fail("is no operation");
  }
}

type Fail = (reason: string) => never;

/** The same value: its size counts, as it will be written out. */
function copied(value: unknown, budget: Budget, fail: Fail): unknown {
  const count = (one: unknown): void => {
    budget.bytes -= typeof one === "string" ? one.length + 2 : 8;
    if (budget.bytes < 0) fail(`the patch copies more than ${maxCopiedBytes} bytes`);
    if (Array.isArray(one)) one.forEach(count);
    else if (isObject(one))
      for (const [name, inner] of Object.entries(one)) {
        budget.bytes -= name.length + 3;
        count(inner);
      }
  };
  count(value);
  return value;
}

function parsePointer(pointer: string, fail: Fail): readonly string[] {
  if (pointer === "") return [];
  if (!pointer.startsWith("/")) return fail("the path does not begin with a slash");
  return pointer
    .slice(1)
    .split("/")
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function find(document: unknown, [name, ...rest]: readonly string[], fail: Fail): unknown {
  if (name === undefined) return document;
  if (Array.isArray(document)) return find(document[place(name, document.length - 1, fail)], rest, fail);
  if (isObject(document) && Object.hasOwn(document, name)) return find(document[name], rest, fail);
  return fail(`there is no ${JSON.stringify(name)}`);
}

type Change = { readonly op: "add" | "replace"; readonly value: unknown } | { readonly op: "remove" };

function edit(document: unknown, [name, ...rest]: readonly string[], change: Change, fail: Fail): unknown {
  if (name === undefined) return change.op === "remove" ? fail("the whole document cannot be removed") : change.value;
  if (Array.isArray(document)) {
    const copy = [...(document as unknown[])];
    const isEnd = rest.length === 0 && change.op === "add";
    const at = isEnd && name === "-" ? copy.length : place(name, copy.length - (isEnd ? 0 : 1), fail);
    if (rest.length > 0) copy[at] = edit(copy[at], rest, change, fail);
    else if (change.op === "remove") copy.splice(at, 1);
    else copy.splice(at, change.op === "add" ? 0 : 1, change.value);
    return copy;
  }
  if (!isObject(document)) return fail(`there is no place for ${JSON.stringify(name)}`);
  const isThere = Object.hasOwn(document, name);
  if (!isThere && (rest.length > 0 || change.op === "remove")) return fail(`there is no ${JSON.stringify(name)}`);
  const copy = { ...document };
  if (rest.length > 0) setOwn(copy, name, edit(ownValue(document, name), rest, change, fail));
  else if (change.op === "remove") delete copy[name];
  else setOwn(copy, name, change.value);
  return copy;
}

function place(name: string, last: number, fail: Fail): number {
  const index = /^(0|[1-9]\d*)$/.test(name) ? Number(name) : Number.NaN;
  return index <= last ? index : fail(`there is no place ${name}`);
}

/** An assignment to `__proto__` would do something else. */
function setOwn(target: Record<string, unknown>, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
}
