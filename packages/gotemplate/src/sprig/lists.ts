/** Lists; none is changed in place. */
import { fail, type TemplateFunctions } from "../builtins.ts";
import { isTrue } from "../values.ts";
import { integer, list, same } from "./arguments.ts";

const uniq = (values: unknown): readonly unknown[] =>
  list(values).filter((value, index, all) => all.findIndex((other) => same(value, other)) === index);
const append = (values: unknown, value: unknown): readonly unknown[] => [...list(values), value];
const range = (start: number, end: number, step: number): readonly number[] => {
  const count = step === 0 ? 0 : Math.max(0, Math.ceil((end - start) / step));
  return Array.from({ length: count }, (_, index) => start + index * step);
};

export const listFunctions: TemplateFunctions = {
  list: (...values) => values,
  tuple: (...values) => values,
  first: (values) => list(values)[0],
  last: (values) => list(values).at(-1),
  rest: (values) => list(values).slice(1),
  initial: (values) => list(values).slice(0, -1),
  append,
  push: append,
  prepend: (values, value) => [value, ...list(values)],
  concat: (...lists) => lists.flatMap((values) => list(values)),
  reverse: (values) => list(values).toReversed(),
  uniq,
  without: (values, ...unwanted) => list(values).filter((value) => !unwanted.some((other) => same(value, other))),
  has: (wanted, values) => list(values).some((value) => same(value, wanted)),
  compact: (values) => list(values).filter(isTrue),
  until: (end) => range(0, integer(end), integer(end) < 0 ? -1 : 1),
  untilStep: (start, end, step) => range(integer(start), integer(end), integer(step)),
  chunk: (size, values) => {
    const all = list(values);
    if (integer(size) < 1) return fail("chunk needs a size of at least 1");
    return range(0, all.length, integer(size)).map((start) => all.slice(start, start + integer(size)));
  },
};
