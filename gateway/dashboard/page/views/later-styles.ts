/** Adds the styles of the views that are loaded later, without a request. */

import text from "../styles/later.css?text";

const sheet = new CSSStyleSheet();
sheet.replaceSync(text);
document.adoptedStyleSheets.push(sheet);
