/** The search of a screen: `q` in its address. */
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { router } from "../state/browser.ts";

/** Debounce of typing. Together with the answer it should stay below 200 ms, which users perceive as immediate. */
const typingMs = 100;

/** The words that are searched, put into the address when the typing pauses. */
export function SearchField({ label }: { readonly label: string }): VNode {
  const present = router.place.value.query.get("q") ?? "";
  const [typed, setTyped] = useState(present);
  useEffect(() => setTyped(present), [present]);
  useEffect(() => {
    if (typed === present) return;
    const timer = setTimeout(() => router.change({ q: typed, page: undefined }, true), typingMs);
    return () => clearTimeout(timer);
  }, [typed, present]);
  return (
    <input
      type="search"
      data-search
      aria-label={label}
      placeholder={`${label} ( / )`}
      value={typed}
      autocomplete="off"
      spellcheck={false}
      onInput={({ currentTarget }) => setTyped(currentTarget.value)}
    />
  );
}
