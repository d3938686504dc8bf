/** The lines in which two texts differ, with some lines around them. Pure. */

/** A line of a difference; numbers are those in the text before and after, from 1. */
export interface DiffLine {
  readonly op: "same" | "added" | "removed" | "gap";
  readonly text: string;
  readonly before?: number;
  readonly after?: number;
}

/** Above this many lines in the middle that differs, all of them are shown as removed and added: the table of the search would grow too large. */
const mostLines = 1500;

/** Lines of both texts in order; runs of equal lines longer than twice `context` become one gap. */
export function diffLines(before: string, after: string, context = 3): readonly DiffLine[] {
  const [a, b] = [linesOf(before), linesOf(after)];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const [middleA, middleB] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  const lines: DiffLine[] = [];
  const put = (op: "same" | "added" | "removed", text: string, at: readonly [number, number]): void => {
    const [before, after] = at;
    lines.push(
      op === "same" ? { op, text, before, after } : op === "removed" ? { op, text, before } : { op, text, after },
    );
  };
  for (const [at, text] of a.slice(0, start).entries()) put("same", text, [at + 1, at + 1]);
  let [i, j] = [0, 0];
  for (const op of script(middleA, middleB)) {
    if (op === "added") put(op, middleB[j] ?? "", [0, start + j + 1]);
    else put(op, middleA[i] ?? "", [start + i + 1, start + j + 1]);
    if (op !== "added") i++;
    if (op !== "removed") j++;
  }
  for (const [at, text] of a.slice(a.length - end).entries())
    put("same", text, [a.length - end + at + 1, b.length - end + at + 1]);
  return withGaps(lines, context);
}

function linesOf(text: string): readonly string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

/** The shortest edit of one list into the other, by the longest common subsequence. */
function script(a: readonly string[], b: readonly string[]): readonly ("same" | "added" | "removed")[] {
  if (a.length > mostLines || b.length > mostLines)
    return [...a.map(() => "removed" as const), ...b.map(() => "added" as const)];
  const width = b.length + 1;
  // common[i * width + j]: length of the longest common subsequence of a from i and b from j.
  const common = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      common[i * width + j] =
        a[i] === b[j]
          ? (common[(i + 1) * width + j + 1] ?? 0) + 1
          : Math.max(common[(i + 1) * width + j] ?? 0, common[i * width + j + 1] ?? 0);
  const ops: ("same" | "added" | "removed")[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      ops.push("same");
      i++;
      j++;
    } else if (
      j === b.length ||
      (i < a.length && (common[(i + 1) * width + j] ?? 0) >= (common[i * width + j + 1] ?? 0))
    ) {
      ops.push("removed");
      i++;
    } else {
      ops.push("added");
      j++;
    }
  }
  return ops;
}

function withGaps(lines: readonly DiffLine[], context: number): readonly DiffLine[] {
  const near = new Set<number>();
  for (const [at, { op }] of lines.entries())
    if (op !== "same") for (let i = at - context; i <= at + context; i++) near.add(i);
  const shown: DiffLine[] = [];
  let hidden = 0;
  const closeGap = (): void => {
    if (hidden > 0) shown.push({ op: "gap", text: hidden === 1 ? "1 equal line" : `${hidden} equal lines` });
    hidden = 0;
  };
  for (const [at, line] of lines.entries()) {
    if (near.has(at)) {
      closeGap();
      shown.push(line);
    } else hidden++;
  }
  if (shown.length > 0) closeGap();
  return shown;
}
