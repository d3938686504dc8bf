/**
 * Browser APIs that the page's state needs: history, timers, events, the colour scheme. The only module that is not tested without a browser.
 */
import { signal } from "@preact/signals";
import { createAnswers } from "./answers.ts";
import { createFetchJson } from "./fetch-json.ts";
import { createRouter } from "./router.ts";
import { createSession } from "./session.ts";

/** Runs a function after a delay, in milliseconds; the result cancels it. */
export function later(run: () => void, ms: number): () => void {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
}

/** The page's router. */
export const router = createRouter({
  read: () => `${location.pathname}${location.search}`,
  write(address, isReplacing) {
    if (isReplacing) history.replaceState(null, "", address);
    else history.pushState(null, "", address);
  },
  onMove: (moved) => addEventListener("popstate", moved),
});

/** Calls the API of the server that sent the page. */
export const fetchJson = createFetchJson((input, init) => fetch(input, init));

/** The answers that screens show. */
export const answers = createAnswers({ fetchJson, later, now: () => performance.now() });

/** The signed-in account, and the stream of events that its screens follow. */
export const { session, mayWrite, signedOutBecause, updates, readSession, signIn, signOut } = createSession({
  fetchJson,
  answers,
  openEvents: () => new EventSource("/api/v1/events"),
  later,
  random: Math.random,
});

/** Milliseconds since 1970, renewed each second while the page is visible: ages count up. */
export const clock = signal(Date.now());
setInterval(() => {
  if (document.visibilityState === "visible") clock.value = Date.now();
}, 1000);

export type Theme = "light" | "dark";

const schemeQuery = matchMedia("(prefers-color-scheme: dark)");
const themeKey = "flotilla-theme";

/** The scheme that is shown. Kept in the browser only after a reader chose one. */
export const theme = signal<Theme>(chosenTheme() ?? (schemeQuery.matches ? "dark" : "light"));
schemeQuery.addEventListener("change", ({ matches }) => {
  if (chosenTheme() === undefined) theme.value = matches ? "dark" : "light";
});
theme.subscribe((name) => {
  document.documentElement.dataset["theme"] = name;
});

/** The reader's own choice, kept for the next visit. */
export function chooseTheme(name: Theme): void {
  localStorage.setItem(themeKey, name);
  theme.value = name;
}

function chosenTheme(): Theme | undefined {
  const kept = localStorage.getItem(themeKey);
  return kept === "light" || kept === "dark" ? kept : undefined;
}
