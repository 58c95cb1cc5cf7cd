/** The PROTO-1 as mcsim shows it. */

import { createPanel } from "./parts/panel.js";

export default createPanel({ model: "PROTO-1", pixels: 12, hasSensors: true });
