/** Tests of the page in a browser, for those with a control plane. */
export {
  type ChromiumBrowser,
  launchChromium,
  openPage,
  problemsInBothSchemes,
  signIn,
  skipWithoutChromium,
} from "./browser.ts";
