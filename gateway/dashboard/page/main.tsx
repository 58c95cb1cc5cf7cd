/** Starts the page. */

import { render } from "preact";
import { App } from "./app/app.js";
import { AppContext } from "./app/hooks.js";
import "./styles/index.css";
import { Shell } from "./views/shell.js";

const app = new App();
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
