/** Inline script that opens the WebSocket before the main script is loaded. */

import { openSocket } from "./app/socket.js";

window.earlySocket = openSocket();
