/** The difference of two texts, line by line. */

/** Lines with `+`, `-` or a blank before them, those that are equal far from any change left out; "" for equal texts. */
export function diffLines(before: string, after: string, context = 3): string {
  if (before === after) return "";
  const lines = edits(split(before), split(after));
  const isNear = (index: number) =>
    lines.slice(Math.max(0, index - context), index + context + 1).some(([mark]) => mark !== " ");
  return lines
    .map(([mark, line], index) => (isNear(index) ? `${mark} ${line}` : isNear(index - 1) ? "  …" : undefined))
    .filter((line) => line !== undefined)
    .join("\n");
}

function split(text: string): readonly string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

/** By the longest common subsequence. */
function edits(before: readonly string[], after: readonly string[]): readonly (readonly [string, string])[] {
  const width = after.length + 1;
  const lengths = new Uint32Array((before.length + 1) * width);
  const at = (i: number, j: number): number => lengths[i * width + j] ?? 0;
  for (let i = before.length - 1; i >= 0; i--)
    for (let j = after.length - 1; j >= 0; j--)
      lengths[i * width + j] = before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const result: (readonly [string, string])[] = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    const [old, next] = [before[i], after[j]];
    if (old !== undefined && old === next) {
      result.push([" ", old]);
      i++;
      j++;
    } else if (old !== undefined && (next === undefined || at(i + 1, j) >= at(i, j + 1))) {
      result.push(["-", old]);
      i++;
    } else {
      result.push(["+", next ?? ""]);
      j++;
    }
  }
  return result;
}
