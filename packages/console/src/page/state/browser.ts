/**
 * Browser APIs that the page's state needs: history, timers, events, the cookie's session, the colour scheme. The only module that is not
 * tested without a browser.
 */
import { computed, signal } from "@preact/signals";
import type { SessionInfo } from "../../contract/index.ts";
import { createAnswers } from "./answers.ts";
import { createFetchJson, type Problem } from "./fetch-json.ts";
import { followUpdates, type LiveUpdates } from "./live-updates.ts";
import { createRouter } from "./router.ts";

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

/** The stream of events; undefined while no user is signed in. */
export const updates = signal<LiveUpdates | undefined>(undefined);

/** The signed-in account: undefined until the server has answered. */
export const session = signal<SessionInfo | "signed-out" | undefined>(undefined);

/** True where screens offer to change something; the server checks each request again. */
export const mayWrite = computed(() => {
  const known = session.value;
  return known !== undefined && known !== "signed-out" && known.mayWrite;
});

/** Why the sign-in screen is shown to somebody who was signed in. */
export const signedOutBecause = signal("");

/** Asks the server who is signed in. */
export async function readSession(): Promise<Problem | undefined> {
  const answer = await fetchJson<SessionInfo>("/api/v1/session");
  if (answer.ok) enter(answer.value);
  else if (answer.problem.kind === "signed-out") signOut("");
  return answer.ok || answer.problem.kind === "signed-out" ? undefined : answer.problem;
}

/** Trades a token for a session, which a cookie holds that scripts cannot read. The token is kept nowhere in the page. */
export async function signIn(token: string): Promise<Problem | undefined> {
  const answer = await fetchJson<SessionInfo>("/api/v1/session", { method: "POST", body: { token } });
  if (answer.ok) enter(answer.value);
  return answer.ok ? undefined : answer.problem;
}

/** Shows the sign-in screen, and forgets what was shown. */
export function signOut(reason: string): void {
  signedOutBecause.value = reason;
  session.value = "signed-out";
  setFollowing(false);
  answers.clear();
}

function enter(info: SessionInfo): void {
  signedOutBecause.value = "";
  session.value = info;
  setFollowing(true);
}

/** Opens the stream of events, or closes it. */
function setFollowing(isFollowing: boolean): void {
  if (isFollowing === (updates.value !== undefined)) return;
  updates.value?.[Symbol.dispose]();
  updates.value = isFollowing
    ? followUpdates({
        open: () => new EventSource("/api/v1/events"),
        onChange: (topic) => answers.invalidate(topic),
        onEnd: () => signOut("The session has ended. Sign in again."),
        later,
        random: Math.random,
      })
    : undefined;
}

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
