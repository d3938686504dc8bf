/** Regular expressions as Go has them: RE2, in time linear in the text, whatever expression the template's author wrote. */
import { type Matcher, RE2JS } from "re2js";
import type { TemplateFunctions } from "../builtins.ts";
import { integer, text } from "./arguments.ts";

function* matchesOf(expression: unknown, value: unknown): Generator<Matcher, void> {
  const matcher = RE2JS.compile(text(expression)).matcher(text(value));
  while (matcher.find()) yield matcher;
}

const isMatch = (expression: unknown, value: unknown): boolean =>
  RE2JS.compile(text(expression)).matcher(text(value)).find();

function replaceAll(expression: unknown, value: unknown, replacementOf: (match: Matcher) => string): string {
  const whole = text(value);
  let [result, end] = ["", 0];
  for (const match of matchesOf(expression, whole)) {
    result += whole.slice(end, match.start()) + replacementOf(match);
    end = match.end();
  }
  return result + whole.slice(end);
}

/** `$1`, `${1}` and `${name}` are groups, those that are none are empty; `$$` is a dollar. */
function expand(to: unknown, expression: unknown): (match: Matcher) => string {
  const names = RE2JS.compile(text(expression)).namedGroups();
  return (match) =>
    text(to).replaceAll(/\$(?:\$|(\w+)|\{(\w+)\})/g, (found, plain?: string, braced?: string) => {
      const name = plain ?? braced;
      if (name === undefined) return found === "$$" ? "$" : found;
      const index = /^\d+$/.test(name) ? Number(name) : Object.hasOwn(names, name) ? names[name] : undefined;
      return index === undefined || index > match.groupCount() ? "" : (match.group(index) ?? "");
    });
}

/** At most `count` parts; the last one is what is left. */
function split(expression: unknown, value: unknown, count: number): readonly string[] {
  const whole = text(value);
  const parts: string[] = [];
  let begin = 0;
  if (count === 0) return parts;
  for (const match of matchesOf(expression, whole)) {
    if (count > 0 && parts.length === count - 1) break;
    // An empty match at the beginning separates nothing.
    if (match.end() > 0) parts.push(whole.slice(begin, match.start()));
    begin = match.end();
  }
  return [...parts, whole.slice(begin)];
}

export const regexFunctions: TemplateFunctions = {
  regexMatch: isMatch,
  mustRegexMatch: isMatch,
  regexFind: (expression, value) => matchesOf(expression, value).next().value?.group() ?? "",
  regexFindAll: (expression, value, count) => {
    const found = Array.from(matchesOf(expression, value), (match) => match.group() ?? "");
    return integer(count) < 0 ? found : found.slice(0, integer(count));
  },
  regexReplaceAll: (expression, value, to) => replaceAll(expression, value, expand(to, expression)),
  regexReplaceAllLiteral: (expression, value, to) => replaceAll(expression, value, () => text(to)),
  regexSplit: (expression, value, count) => split(expression, value, integer(count)),
  regexQuoteMeta: (value) => text(value).replaceAll(/[\\.+*?()|[\]{}^$]/g, "\\$&"),
};
