/** Tests of the page in a browser, for those with a control plane. */
export {
  accessibilityProblems,
  type ChromiumBrowser,
  launchChromium,
  openPage,
  signIn,
  skipWithoutChromium,
} from "./browser.ts";
