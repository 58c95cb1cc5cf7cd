/** Starts the demo's page: the gateway's, with a section for the boards of the demo's devices, loaded once it is known that there are any. */

import { ask } from "../../../gateway/api/client/request.js";
import { topics } from "../../../gateway/dashboard/page/app/app.js";
import { app } from "../../../gateway/dashboard/page/main.js";
import type { DemoDevices } from "../messages.js";
import "./board.css";

// Refused before the login, which loads the page again.
const { devices } = await ask<DemoDevices>("api/demo").catch((): DemoDevices => ({ devices: [] }));
const { Board } = await import("./board.js");
app.deviceSection = ({ entry }) => (devices.includes(entry.key) ? <Board entry={entry} /> : null);
// Every view of a device listens to this one.
app.painter.mark(topics.link);
