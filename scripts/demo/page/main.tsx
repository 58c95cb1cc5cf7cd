/** Starts the demo's page: the gateway's, with a section for the boards of the demo's devices, loaded once it is known that there are any. */

import { ask } from "../../../gateway/api/client/request.js";
import { app } from "../../../gateway/dashboard/page/main.js";
import type { DemoDevices } from "../messages.js";
import "./board.css";

// Refused before the login, which loads the page again.
const { devices } = await ask<DemoDevices>("api/demo").catch((): DemoDevices => ({ devices: [] }));
const [{ Board }, { Listening }] = await Promise.all([import("./board.js"), import("./listening.js")]);
app.deviceSection = ({ entry }) => (devices.includes(entry.key) ? <Board entry={entry} /> : null);
app.announcementSection = () => (devices.length > 0 ? <Listening devices={devices} /> : null);
// Every view of a device, and the one that announces, listens to this one.
app.painter.mark("link");
