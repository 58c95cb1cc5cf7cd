/** Entry of the demo page: the dashboard with a section for the boards of the demo's devices. */

import { app } from "../../../gateway/dashboard/page/main.js";
import { demo } from "./requests.js";
import "./board.css";

// Rejected before the login, which reloads the page.
const { devices = [] } = (await demo.request("GET /api/demo").catch(() => undefined)) ?? {};
const [{ Board }, { Listening }] = await Promise.all([import("./board.js"), import("./listening.js")]);
app.deviceSection = ({ entry }) => (devices.includes(entry.key) ? <Board entry={entry} /> : null);
app.announcementSection = () => (devices.length > 0 ? <Listening devices={devices} /> : null);
// Device and announce views listen to this topic.
app.painter.mark("link");
