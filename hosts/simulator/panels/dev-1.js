/** Panel of a DEV-1 for mcsim. */

import { createPanel } from "./parts/panel.js";

export default createPanel({ model: "DEV-1", pixels: 12, hasSensors: false, isDefault: true });
