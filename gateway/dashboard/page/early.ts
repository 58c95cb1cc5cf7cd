/** Part of the page itself: opens its WebSocket before its script has come. */

import { openSocket } from "./app/socket.js";

window.earlySocket = openSocket();
