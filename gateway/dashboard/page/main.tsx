/** Entry of the page. The demo extends it (scripts/demo/page/main.tsx). */

import { render } from "preact";
import { App } from "./app/app.js";
import { AppContext } from "./app/hooks.js";
import "./styles/index.css";
import { Shell } from "./views/shell.js";

export const app = new App();
const root = document.querySelector("#app");
if (root)
	render(
		<AppContext.Provider value={app}>
			<Shell />
		</AppContext.Provider>,
		root,
	);
app.connect();
app.startClock();
