/** The DEV-1 as mcsim shows it. */

import { createPanel } from "./parts/panel.js";

export default createPanel({ model: "DEV-1", pixels: 12, hasSensors: false, isDefault: true });
