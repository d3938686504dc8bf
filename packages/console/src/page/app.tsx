/** The frame of all screens: who is signed in, ways to the screens, the state of the connection, and the screen that the address names. */
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Keys } from "./parts/keys.tsx";
import { Failure } from "./parts/reading.tsx";
import { ScreenAt, sections } from "./screens/index.tsx";
import { SignIn } from "./screens/sign-in.tsx";
import {
  answers,
  chooseTheme,
  fetchJson,
  readSession,
  router,
  session,
  signOut,
  theme,
  updates,
} from "./state/browser.ts";
import type { Problem } from "./state/fetch-json.ts";
import { callEndpoint } from "./state/requests.ts";

const retryMs = 3000;

/** The whole page. */
export function App(): VNode {
  const [problem, setProblem] = useState<Problem | undefined>();
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = async (): Promise<void> => {
      const failed = await readSession();
      setProblem(failed);
      if (failed !== undefined) timer = setTimeout(() => void ask(), retryMs);
    };
    void ask();
    return () => clearTimeout(timer);
  }, []);
  const known = session.value;
  if (known === "signed-out") return <SignIn />;
  if (known === undefined)
    return (
      <main class="sign-in">
        <h1>Flotilla</h1>
        {problem === undefined ? <p role="status">Connecting</p> : <Failure problem={problem} what="the session" />}
      </main>
    );
  return <Frame />;
}

function Frame(): VNode {
  const { path } = router.place.value;
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="top">
        <a class="brand" href="/">
          Flotilla
        </a>
        <Connection />
        <span class="spacer" />
        <ThemeSwitch />
        <Account />
      </header>
      <nav class="rail" aria-label="Screens">
        <ul>
          {sections.map(({ path: to, title }) => (
            <li key={to}>
              <a href={to} aria-current={isBelow(path, to) ? "page" : undefined}>
                {title}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <main id="main" tabIndex={-1}>
        <ScreenAt path={path} />
      </main>
      <Keys />
    </>
  );
}

function isBelow(path: string, top: string): boolean {
  return path === top || (top !== "/" && path.startsWith(`${top}/`));
}

const connectionTexts = { connecting: "Connecting", live: "Live", lost: "Reconnecting" } as const;

function Connection(): VNode {
  const state = updates.value?.state.value ?? "connecting";
  // The answers shown may be stale while no events come.
  useEffect(() => {
    if (state !== "lost") return undefined;
    const timer = setInterval(() => answers.invalidate(undefined), retryMs);
    return () => clearInterval(timer);
  }, [state]);
  return (
    <span class={`connection ${state}`} role="status">
      {connectionTexts[state]}
    </span>
  );
}

function ThemeSwitch(): VNode {
  const other = theme.value === "dark" ? "light" : "dark";
  return (
    <button type="button" class="quiet" onClick={() => chooseTheme(other)}>
      {other === "dark" ? "Dark" : "Light"}
    </button>
  );
}

function Account(): VNode | null {
  const info = session.value;
  if (info === undefined || info === "signed-out") return null;
  const leave = async (): Promise<void> => {
    await callEndpoint(fetchJson, "DELETE /api/v1/session", {});
    signOut("");
  };
  return (
    <span class="account">
      <span title={info.mayWrite ? "may write" : "reads only"}>
        {info.account}
        {!info.mayWrite && <small> reads only</small>}
      </span>
      <button type="button" class="quiet" onClick={() => void leave()}>
        Sign out
      </button>
    </span>
  );
}
