/** Maps. `set` and `unset` change their map, as templates expect; the others give new ones. */
import { fail, type TemplateFunctions } from "../builtins.ts";
import { isMap, isTrue, type MapLike, sortedKeys } from "../values.ts";
import { anyText, map, text } from "./arguments.ts";

export const dictFunctions: TemplateFunctions = {
  dict: (...parts) => {
    const entries: [string, unknown][] = [];
    for (let index = 0; index < parts.length; index += 2) entries.push([anyText(parts[index]), parts[index + 1] ?? ""]);
    return Object.fromEntries(entries);
  },
  get: (dict, key) => {
    const own = map(dict);
    return Object.hasOwn(own, text(key)) ? own[text(key)] : "";
  },
  set: (dict, key, value) => Object.assign(writable(dict), { [text(key)]: value }),
  unset: (dict, key) => {
    delete writable(dict)[text(key)];
    return dict;
  },
  hasKey: (dict, key) => Object.hasOwn(map(dict), text(key)),
  pluck: (key, ...dicts) =>
    dicts
      .map(map)
      .filter((dict) => Object.hasOwn(dict, text(key)))
      // own key: filtered above
      .map((dict) => dict[text(key)]),
  keys: (...dicts) => dicts.flatMap((dict) => sortedKeys(map(dict))),
  // own key: of the map
  values: (dict) => sortedKeys(map(dict)).map((key) => map(dict)[key]),
  pick: (dict, ...keys) => select(map(dict), (key) => keys.includes(key)),
  omit: (dict, ...keys) => select(map(dict), (key) => !keys.includes(key)),
  /** The first map wins. */
  merge: (...dicts) =>
    Object.assign(
      writable(dicts[0]),
      dicts.map(map).reduce((whole, dict) => mergeMaps(dict, whole)),
    ),
  mergeOverwrite: (...dicts) =>
    Object.assign(
      writable(dicts[0]),
      dicts.map(map).reduce((whole, dict) => mergeMaps(whole, dict)),
    ),
  deepCopy: (value) => structuredClone(value),
  dig: (...parts) => {
    const [otherwise, dict] = parts.slice(-2);
    let value: unknown = dict;
    for (const key of parts.slice(0, -2)) {
      if (!isMap(value) || !Object.hasOwn(value, text(key))) return otherwise;
      // own key: checked above
      value = value[text(key)];
    }
    return value;
  },
};

function select(dict: MapLike, wanted: (key: string) => boolean): MapLike {
  return Object.fromEntries(Object.entries(dict).filter(([key]) => wanted(key)));
}

/** `over` wins, save where it is empty. */
function mergeMaps(under: MapLike, over: MapLike): MapLike {
  const merged = new Map(Object.entries(under));
  for (const [key, value] of Object.entries(over)) {
    const below = merged.get(key);
    if (isMap(value) && isMap(below)) merged.set(key, mergeMaps(below, value));
    else if (isTrue(value) || !merged.has(key)) merged.set(key, value);
  }
  return Object.fromEntries(merged);
}

function writable(dict: unknown): Record<string, unknown> {
  return isMap(dict) ? (dict as Record<string, unknown>) : fail("wrong type for value; expected map");
}
