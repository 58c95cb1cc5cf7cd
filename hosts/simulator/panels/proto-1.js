/** The PROTO-1 as mcsim shows it. */

import { createPanel } from "./parts/panel.js";

export default createPanel({ model: "PROTO-1", platform: "(lin|mac|win)/proto-1" });
