/** Listens to the keys of every screen, and shows which there are. */
import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { router } from "../state/browser.ts";
import { type KeyAction, keyAction, keyHelp, movedRow } from "../state/keyboard.ts";
import { pathAbove } from "../state/places.ts";

/** The dialog that `?` opens; it also listens to all other keys. */
export function Keys(): VNode {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const action = keyAction({
        key: event.key,
        isModified: event.ctrlKey || event.altKey || event.metaKey,
        isTyping: isField(document.activeElement),
        isDialogOpen: document.querySelector("dialog[open]") !== null,
      });
      if (action === undefined || event.defaultPrevented) return;
      if (action === "help") dialog.current?.showModal();
      else if (!run(action)) return;
      event.preventDefault();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
  return (
    <dialog ref={dialog} class="help" aria-label="Keys">
      <h2>Keys</h2>
      <dl>
        {keyHelp.map(([keys, meaning]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </dialog>
  );
}

/** False: there is nothing to do, and the key is left to the browser. */
function run(action: Exclude<KeyAction, "help">): boolean {
  switch (action) {
    case "search":
      return focus(document.querySelector("[data-search]"));
    case "leave-field":
      (document.activeElement as HTMLElement | null)?.blur();
      return true;
    case "back": {
      const { path, query } = router.place.value;
      if (query.has("show")) router.change({ show: undefined });
      else if (path !== "/") router.go(pathAbove(path));
      return true;
    }
    default: {
      const links = [...document.querySelectorAll<HTMLElement>("main tbody th :is(a, button)")];
      const at = links.indexOf(document.activeElement as HTMLElement);
      const next = movedRow(action, at, links.length);
      return next !== undefined && focus(links[next] ?? null);
    }
  }
}

function focus(element: Element | null): boolean {
  if (!(element instanceof HTMLElement)) return false;
  element.focus();
  element.scrollIntoView({ block: "nearest" });
  if (element instanceof HTMLInputElement) element.select();
  return true;
}

function isField(element: Element | null): boolean {
  return element?.matches("input:not([type=checkbox]):not([type=radio]), textarea, select") === true;
}
