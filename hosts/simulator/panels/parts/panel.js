import { ControlsColumn, SwitchRow } from "ControlsPane";
import { DeviceContainer, DeviceScreen } from "DevicePane";
import { PanelBehavior } from "./behavior.js";

export function createPanel({ model, path }) {
	return {
		title: model,
		model,
		applicationName: `${path}/(debug|release|instrument)/device`,
		Workers: {},
		ControlsTemplate: ControlsColumn.template(() => ({
			contents: [SwitchRow({ event: "onWiFiSwitched", label: "Wi-Fi", on: "On", off: "Off", value: true })],
		})),
		DeviceTemplates: {
			0: DeviceContainer.template(($) => ({
				Behavior: PanelBehavior,
				width: 400,
				height: 500,
				contents: [DeviceScreen($, { left: 0, top: 0, width: 0, height: 0 })],
			})),
		},
	};
}
