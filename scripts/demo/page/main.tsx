/** Starts the demo's page: the gateway's, with a section for the boards of the demo's devices, loaded once it is known that there are any. */

import { app } from "../../../gateway/dashboard/page/main.js";
import { demo } from "./requests.js";
import "./board.css";

// Rejected before the login, which loads the page again.
const { devices = [] } = (await demo.request("GET /api/demo").catch(() => undefined)) ?? {};
const [{ Board }, { Listening }] = await Promise.all([import("./board.js"), import("./listening.js")]);
app.deviceSection = ({ entry }) => (devices.includes(entry.key) ? <Board entry={entry} /> : null);
app.announcementSection = () => (devices.length > 0 ? <Listening devices={devices} /> : null);
// Every view of a device, and the one that announces, listens to this one.
app.painter.mark("link");
