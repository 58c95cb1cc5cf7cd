/** The views that a first look does not need, in one script: many small ones would each cost a request. */

export { AnnounceView } from "../announce/announce-view.js";
export { DeviceView } from "./device.js";
export { FirmwareView } from "./firmware.js";
export { GettingStarted } from "./getting-started.js";
export { IssuesView } from "./issues.js";
export { SchedulesView } from "./schedules.js";
export { SelectionBar } from "./selection-bar.js";
export { SettingsView } from "./settings.js";
