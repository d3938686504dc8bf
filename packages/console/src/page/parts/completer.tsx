/**
 * Suggestions at the caret of a text field: fields, values and what is required, from the schema of the kind that is written. Loaded when the first
 * field of YAML has the focus. The field keeps the focus; arrows choose, Enter and Tab accept, Escape closes, Control and space open.
 */
import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { fetchJson } from "../state/browser.ts";
import { type Completion, type Completions, completionsAt } from "../state/completion.ts";
import { createKindSource } from "../state/kind-source.ts";
import "../styles/completions.css";

interface CompleterProps {
  readonly area: HTMLTextAreaElement;
  /** Text was typed while this was being loaded: suggestions for it are due. */
  readonly isEdited: boolean;
  readonly onEdit: (text: string) => void;
}

interface Open extends Completions {
  readonly caret: number;
  readonly active: number;
}

const listId = "completions";
const optionId = (at: number): string => `completion-${at}`;

/** Listens to a field, and shows the list below its caret. */
export function Completer({ area, isEdited, onEdit }: CompleterProps): VNode | null {
  const [open, setOpen] = useState<Open | undefined>();
  const kinds = useMemo(() => createKindSource(fetchJson), []);
  const shown = useRef<Open | undefined>(undefined);
  const show = (next: Open | undefined): void => {
    shown.current = next;
    setOpen(next);
  };
  const suggest = async (): Promise<void> => {
    const [text, caret] = [area.value, area.selectionEnd];
    const known = await kinds.knownFor(text, caret);
    // Somebody typed on meanwhile.
    if (area.value !== text || area.selectionEnd !== caret || document.activeElement !== area) return;
    const found = completionsAt(text, caret, known);
    const isWritten = found?.items.length === 1 && found.items[0]?.insert === found.word;
    show(found === undefined || isWritten ? undefined : { ...found, caret, active: 0 });
  };
  const accept = ({ from, caret }: Open, { insert }: Completion): void => {
    area.setRangeText(insert, from, caret, "end");
    show(undefined);
    onEdit(area.value);
    // Of a field with few values these come next.
    if (insert.endsWith(": ")) void suggest();
  };
  useEffect(() => listen(area, { shown: () => shown.current, show, suggest, accept }), [area, onEdit]);
  useLayoutEffect(() => describe(area, open), [area, open]);
  useEffect(() => {
    if (isEdited) void suggest();
  }, []);
  if (open === undefined) return null;
  return <List area={area} open={open} onAccept={(item) => accept(open, item)} />;
}

interface Actions {
  readonly shown: () => Open | undefined;
  readonly show: (next: Open | undefined) => void;
  readonly suggest: () => Promise<void>;
  readonly accept: (open: Open, item: Completion) => void;
}

/** Keys come here before the field's own listeners. */
function listen(area: HTMLTextAreaElement, { shown, show, suggest, accept }: Actions): () => void {
  const onKey = (event: KeyboardEvent): void => {
    const open = shown();
    const isAsked = event.key === " " && event.ctrlKey;
    if (!isAsked && (open === undefined || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey)) return;
    const move = (by: number, { items, active }: Open): number => (active + by + items.length) % items.length;
    if (isAsked) void suggest();
    else if (open === undefined) return;
    else if (event.key === "ArrowDown") show({ ...open, active: move(1, open) });
    else if (event.key === "ArrowUp") show({ ...open, active: move(-1, open) });
    else if (event.key === "Escape") show(undefined);
    else if (event.key === "Enter" || event.key === "Tab") {
      const item = open.items[open.active];
      if (item !== undefined) accept(open, item);
    } else return;
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  const onInput = ({ data }: InputEvent): void => {
    const isWord = data !== null && /^[\w -]$/.test(data);
    if (isWord || shown() !== undefined) void suggest();
  };
  const close = (): void => show(undefined);
  const listeners = { capture: true } as const;
  area.addEventListener("keydown", onKey, listeners);
  area.addEventListener("input", onInput as EventListener);
  for (const type of ["blur", "mousedown", "scroll"]) area.addEventListener(type, close);
  return () => {
    area.removeEventListener("keydown", onKey, listeners);
    area.removeEventListener("input", onInput as EventListener);
    for (const type of ["blur", "mousedown", "scroll"]) area.removeEventListener(type, close);
  };
}

/** For screen readers, whose focus stays in the field. */
function describe(area: HTMLTextAreaElement, open: Open | undefined): void {
  area.setAttribute("aria-autocomplete", "list");
  area.setAttribute("aria-haspopup", "listbox");
  for (const [name, value] of [
    ["aria-controls", listId],
    ["aria-activedescendant", optionId(open?.active ?? 0)],
  ] as const)
    if (open === undefined) area.removeAttribute(name);
    else area.setAttribute(name, value);
}

interface ListProps {
  readonly area: HTMLTextAreaElement;
  readonly open: Open;
  readonly onAccept: (item: Completion) => void;
}

function List({ area, open: { items, active, from }, onAccept }: ListProps): VNode {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [active]);
  const above = area.value.slice(0, from);
  const [line, column] = [above.split("\n").length, from - above.lastIndexOf("\n") - 1];
  const { description = "" } = items[active] ?? {};
  return (
    <div
      class="completions"
      style={{
        top: `calc(${line} * var(--line-height) + 6px)`,
        "--column": `calc(${column}ch - ${area.scrollLeft}px)`,
      }}
    >
      <div class="options" ref={list} id={listId} role="listbox" aria-label="Suggestions">
        {items.map((item, at) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the focus, and its keys choose
          // biome-ignore lint/a11y/useFocusableInteractive: as above
          <div
            key={item.label}
            id={optionId(at)}
            role="option"
            aria-selected={at === active}
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => onAccept(item)}
          >
            <b>{item.label}</b>
            {item.isRequired && <i>required</i>}
            <small>{item.detail}</small>
          </div>
        ))}
      </div>
      {description !== "" && <p>{description}</p>}
      <span class="unseen" role="status">
        {items.length} suggestions
      </span>
    </div>
  );
}
