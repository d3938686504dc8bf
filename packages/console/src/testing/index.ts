/** Tests of the page in a browser, for those with a control plane. */
export {
  type ChromiumBrowser,
  launchChromium,
  openPage,
  problemsInBothSchemes,
  signIn,
  skipWithoutChromium,
} from "./browser.ts";
export { filtered, firstView, repeated, searched } from "./measure.ts";
