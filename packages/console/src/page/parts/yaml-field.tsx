/** A field for YAML: as high as its text, with line numbers, suggestions from the kind's schema, and what is wrong beside its line. */
import type { VNode } from "preact";
import { useRef, useState } from "preact/hooks";
import type { Cause } from "../../contract/index.ts";
import { causesByLine } from "../state/draft.ts";

interface YamlFieldProps {
  readonly label: string;
  readonly text: string;
  readonly causes: readonly Cause[];
  readonly onEdit: (text: string) => void;
}

const fewestLines = 14;

/** Tab indents by two spaces; Escape leaves the field, so that keys can go on. */
export function YamlField({ label, text, causes, onEdit }: YamlFieldProps): VNode {
  const field = useRef<HTMLTextAreaElement>(null);
  const [Completer, setCompleter] = useState<typeof import("./completer.tsx").Completer | undefined>();
  const isEdited = useRef(false);
  const onFocus = async (): Promise<void> => {
    const loaded = await import("./completer.tsx");
    setCompleter(() => loaded.Completer);
  };
  const lines = Math.max(fewestLines, text.split("\n").length + 1);
  const wrong = causesByLine(text, causes);
  const onKeyDown = (event: KeyboardEvent): void => {
    const area = field.current;
    if (event.key !== "Tab" || event.shiftKey || area === null) return;
    event.preventDefault();
    area.setRangeText("  ", area.selectionStart, area.selectionEnd, "end");
    onEdit(area.value);
  };
  return (
    <div class="yaml">
      <div class="gutter" aria-hidden="true">
        {Array.from({ length: lines }, (_, at) => (
          <span key={at + 1} class={wrong.has(at + 1) ? "wrong" : ""}>
            {at + 1}
          </span>
        ))}
      </div>
      <div class="text">
        <textarea
          ref={field}
          aria-label={label}
          aria-invalid={wrong.size > 0}
          rows={lines}
          value={text}
          wrap="off"
          spellcheck={false}
          autocomplete="off"
          onInput={({ currentTarget }) => {
            isEdited.current = true;
            onEdit(currentTarget.value);
          }}
          onKeyDown={onKeyDown}
          onFocus={() => void onFocus()}
        />
        {Completer !== undefined && field.current !== null && (
          <Completer area={field.current} isEdited={isEdited.current} onEdit={onEdit} />
        )}
        {[...wrong].map(([line, some]) => (
          <span key={line} class="annotation" style={{ top: `calc(${line - 1} * var(--line-height) + 6px)` }}>
            {some.map(({ message }) => message).join("; ")}
          </span>
        ))}
      </div>
    </div>
  );
}

/** Problems, as a list with fields and lines. */
export function CauseList({ causes }: { readonly causes: readonly Cause[] }): VNode | null {
  if (causes.length === 0) return null;
  return (
    <ul class="causes">
      {causes.map(({ field, message, line, item }) => (
        <li key={`${item} ${field} ${message}`}>
          {line !== undefined && <span>line {line} </span>}
          {field !== "" && <code>{field}</code>} {message}
        </li>
      ))}
    </ul>
  );
}
