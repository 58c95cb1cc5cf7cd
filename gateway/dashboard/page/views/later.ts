/** Views outside the first bundle, in one script to save requests. */

import "./later-styles.js";

export { AnnounceView } from "../announce/announce-view.js";
export { Ring } from "../parts/ring.js";
export { DeviceView } from "./device.js";
export { FirmwareView } from "./firmware.js";
export { Filters } from "./fleet-filters.js";
export { GettingStarted } from "./getting-started.js";
export { IssueCount, IssuesView } from "./issues.js";
export { JobBars } from "./jobs.js";
export { Keys } from "./keys.js";
export { Palette } from "./palette.js";
export { SchedulesView } from "./schedules.js";
export { SelectionBar } from "./selection-bar.js";
export { SettingsView } from "./settings.js";
