/** Puts the page into the document, and has links of this page change the address without loading it again. */
import { render } from "preact";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/frame.css";
import "./styles/tables.css";
import "./styles/screens.css";
import "./styles/request-way.css";
import { App } from "./app.tsx";
import { router } from "./state/browser.ts";

document.addEventListener("click", (event) => {
  const { target, button, defaultPrevented } = event;
  if (defaultPrevented || button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const link = target instanceof Element ? target.closest("a[href]") : null;
  if (!(link instanceof HTMLAnchorElement) || link.origin !== location.origin) return;
  if (link.hasAttribute("download") || link.target !== "") return;
  // Inside of the screen, such as the link to the content.
  if (link.hash !== "" && link.pathname === location.pathname) return;
  event.preventDefault();
  const isOtherScreen = link.pathname !== location.pathname;
  router.go(`${link.pathname}${link.search}`);
  if (isOtherScreen) scrollTo(0, 0);
});

const place = document.getElementById("page");
if (place === null) throw new Error("index.html has no element for the page");
render(<App />, place);
