/** Panel of a PROTO-1 for mcsim. */

import { createPanel } from "./parts/panel.js";

export default createPanel({ model: "PROTO-1", pixels: 12, hasSensors: true });
