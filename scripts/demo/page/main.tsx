/** Entry of the demo page: the dashboard with a section for the boards of the demo's devices. */

import { app } from "../../../gateway/dashboard/page/main.js";
import { demo } from "./requests.js";
import "./board.css";

// Rejected before the login, which reloads the page.
const { devices = [] } = (await demo.request("GET /api/demo").catch(() => undefined)) ?? {};
const { Board } = await import("./board.js");
app.deviceSection = ({ entry }) => (devices.includes(entry.key) ? <Board entry={entry} /> : null);
// Device views listen to this topic.
app.painter.mark("link");
