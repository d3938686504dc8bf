/** Shows differences: lines of two texts, or places of two JSON values. */
import type { VNode } from "preact";
import type { ChangedObject, Difference } from "../../contract/index.ts";
import { diffLines } from "../format/line-diff.ts";
import { Empty } from "./reading.tsx";
import { ObjectLink, State } from "./text.tsx";

const signs = { added: "+", removed: "−", same: " ", gap: "⋯" } as const;

/** Two texts, line by line, with a sign in front of what was added or removed. */
function LineDiff({ before, after }: { readonly before: string; readonly after: string }): VNode {
  const lines = diffLines(before, after);
  if (lines.length === 0) return <Empty>No difference.</Empty>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a long line is scrolled by keys
    <pre class="diff" tabIndex={0}>
      {lines.map(({ op, text, before: from, after: to }) => (
        <span key={`${op} ${from} ${to} ${text}`} class={op}>
          <i>{signs[op]}</i>
          {text}
          {"\n"}
        </span>
      ))}
    </pre>
  );
}

/** Places where two values differ, each with both values. */
export function Differences({ differences }: { readonly differences: readonly Difference[] }): VNode {
  if (differences.length === 0) return <Empty>No difference.</Empty>;
  return (
    <ul class="differences">
      {differences.map(({ path, before, after }) => (
        <li key={path}>
          <code class="path">{path === "" ? "(whole)" : path}</code>
          {before !== undefined && <Value sign="−" op="removed" value={before} />}
          {after !== undefined && <Value sign="+" op="added" value={after} />}
        </li>
      ))}
    </ul>
  );
}

function Value({ sign, op, value }: { readonly sign: string; readonly op: string; readonly value: unknown }): VNode {
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 1);
  return (
    <pre class={`value ${op}`}>
      <i>{sign}</i>
      {text}
    </pre>
  );
}

/** An object in two generations. */
export function ObjectChange({ change }: { readonly change: ChangedObject }): VNode {
  const { object, op, withheld, before, after, differences } = change;
  return (
    <article class="change" aria-label={`${object} ${op}`}>
      <h2>
        <State state={op} /> <ObjectLink object={object} />
      </h2>
      {withheld !== undefined ? (
        <p class="muted">{withheld}</p>
      ) : before === undefined && after === undefined ? (
        <Differences differences={differences} />
      ) : (
        <LineDiff before={before ?? ""} after={after ?? ""} />
      )}
    </article>
  );
}
