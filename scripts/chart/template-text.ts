/** YAML in which Helm expressions stand for values: they are put in as marks, for the YAML printer would quote them. */
import { stringify } from "yaml";

export class TemplateText {
  readonly #expressions: string[] = [];

  /** A value, or a part of one: `{{ … }}`. */
  value(expression: string): string {
    return this.#mark("VALUE", `{{ ${expression} }}`);
  }

  /** A value of several lines, such as a map, which begins on the next line. */
  block(expression: string): string {
    return this.#mark("VALUE", `{{- ${expression} | nindent INDENT }}`);
  }

  /** Lines of their own: the key of a map (`{ [text.lines("…")]: null }`) or an element of a list. */
  lines(text: string): string {
    return this.#mark("LINES", text);
  }

  /** Prints one object. */
  print(object: unknown): string {
    const yaml = stringify(object, { lineWidth: 0, aliasDuplicateObjects: false, defaultStringType: "PLAIN" });
    return yaml
      .split("\n")
      .map((line) => this.#fill(line))
      .join("\n")
      .replaceAll("istio-system", "{{ .Release.Namespace }}");
  }

  #mark(kind: "VALUE" | "LINES", text: string): string {
    this.#expressions.push(text);
    return `__${kind}_${this.#expressions.length - 1}__`;
  }

  #fill(line: string): string {
    const indent = /^ */.exec(line)?.[0] ?? "";
    const own = /^ *(?:- )?"?__LINES_(\d+)__"?(?:: null|:)?$/.exec(line)?.[1];
    if (own !== undefined) {
      const text = this.#expressions[Number(own)] ?? "";
      return text.replaceAll("INDENT", String(indent.length)).replaceAll(/^/gm, indent);
    }
    const depth = indent.length + (/^ *- /.test(line) ? 2 : 0);
    return line.replaceAll(/"?__VALUE_(\d+)__"?/g, (_, i: string) =>
      (this.#expressions[Number(i)] ?? "").replaceAll("INDENT", String(depth + 2)),
    );
  }
}
