/** The system's Chromium for tests, driven by playwright-core. It is never downloaded: tests without one are skipped, with how to have them run. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { AxeResults, RunOptions } from "axe-core";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";

/** The first draws no windows of its own, so that it starts and opens pages with less to compute. */
const places = [
  "/usr/bin/chromium-headless-shell",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];

/** The program; undefined where the system has none. */
function findChromium(env: NodeJS.ProcessEnv = process.env): string | undefined {
  const given = env["CHROMIUM_BIN"];
  if (given !== undefined && given !== "") return given;
  return places.find((path) => existsSync(path));
}

/** Why tests with a browser are skipped, for node:test; false where there is one. */
export const skipWithoutChromium: string | false =
  findChromium() === undefined && "no Chromium: apt-get install chromium, or CHROMIUM_BIN=PROGRAM";

const flags = [
  ...["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"],
  ...["--disable-component-update", "--disable-sync", "--enable-unsafe-swiftshader"],
];

/** Disposing of it ends the program. */
export type ChromiumBrowser = Browser & AsyncDisposable;

/** Starts it without a window. @throws Error when there is none */
export async function launchChromium(): Promise<ChromiumBrowser> {
  const executablePath = findChromium();
  if (executablePath === undefined) throw new Error("no Chromium: apt-get install chromium, or CHROMIUM_BIN=PROGRAM");
  const browser = await chromium.launch({ executablePath, args: flags });
  return Object.assign(browser, { [Symbol.asyncDispose]: () => browser.close() });
}

/** A window with what went wrong in it: errors of scripts, refusals of the content security policy. */
export interface WatchedPage extends AsyncDisposable {
  readonly page: Page;
  readonly context: BrowserContext;
  readonly faults: readonly string[];
}

type Scheme = "light" | "dark";

export interface PageOptions {
  readonly scheme?: Scheme;
  readonly width?: number;
  readonly height?: number;
}

/** Timeout for content of a page; long enough for a machine that runs many tests. */
const withinMs = 60_000;

/** Opens a window of a person of its own: no cookies, nothing kept. */
export async function openPage(
  browser: Browser,
  { scheme = "light", width = 1280, height = 800 }: PageOptions = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({
    colorScheme: scheme,
    viewport: { width, height },
    reducedMotion: "reduce",
  });
  context.setDefaultTimeout(withinMs);
  const page = await context.newPage();
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(error.stack ?? error.message));
  page.on("console", (message) => {
    // Answers of 401, 422 and 503 are part of what is tested; the browser logs each.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
      faults.push(message.text());
  });
  return { page, context, faults, [Symbol.asyncDispose]: () => context.close() };
}

/** Signs in with a token, on the screen that any address shows before. */
export async function signIn(page: Page, url: string, token: string): Promise<void> {
  await page.goto(url);
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation", { name: "Screens" }).waitFor();
}

/**
 * Accessibility problems of the page, by axe-core in the page itself: `rule: what to do: elements`, one for each violation of the page as
 * it is shown now.
 * @param rules all of axe-core's without
 */
export async function accessibilityProblems(page: Page, rules?: readonly string[]): Promise<readonly string[]> {
  const isThere = await page.evaluate<boolean>("'axe' in window");
  // Not as a script of the page: its policy allows none but its own.
  if (!isThere) await page.evaluate(await axeSource());
  // Describing each element that keeps a rule, and sending that here, takes longer than the rules do.
  const options: RunOptions = { resultTypes: ["violations"], ...(rules !== undefined && { runOnly: [...rules] }) };
  const violations = await page.evaluate<AxeResults["violations"]>(
    `axe.run(document, ${JSON.stringify(options)}).then(({ violations }) => violations)`,
  );
  return violations.map(
    ({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`,
  );
}

function axeSource(): Promise<string> {
  return readFile(new URL(import.meta.resolve("axe-core/axe.min.js")), "utf8");
}

/** Rules whose outcome depends on colours. */
const rulesOfColours = ["color-contrast", "link-in-text-block"];

/**
 * The same of a page in light colours and, without loading it again, in dark ones: the scheme changes style sheets and drawings, so that only rules of
 * colours are checked again. Leaves it light.
 * @param shown called in each scheme, such as for a picture
 */
export async function problemsInBothSchemes(
  page: Page,
  shown: (scheme: Scheme) => Promise<unknown> = async () => undefined,
): Promise<readonly string[]> {
  await showIn(page, "light");
  const problems = [...(await accessibilityProblems(page))];
  await shown("light");
  await showIn(page, "dark");
  problems.push(...(await accessibilityProblems(page, rulesOfColours)).map((problem) => `dark: ${problem}`));
  await shown("dark");
  await showIn(page, "light");
  return problems;
}

/** Resolves when the page has followed. */
async function showIn(page: Page, scheme: Scheme): Promise<void> {
  await page.emulateMedia({ colorScheme: scheme });
  await page.locator(`html[data-theme="${scheme}"]`).waitFor({ state: "attached" });
}
