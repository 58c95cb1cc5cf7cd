/** The views that a first look does not need, in one script: many small ones would each cost a request. */

export { AnnouncingView } from "../announce/announcing.js";
export { AttentionView } from "./attention.js";
export { DeviceView } from "./device.js";
export { FirmwareView } from "./firmware.js";
export { GettingStarted } from "./getting-started.js";
export { SelectionBar } from "./selection-bar.js";
export { SettingsView } from "./settings.js";
export { TimesView } from "./times.js";
