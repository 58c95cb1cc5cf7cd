/** Panel of a device for mcsim: its body, and controls for its environment (network, light, touch). */

import { ButtonsRow, ControlsColumn, InfoRow, SliderRow, SwitchRow } from "ControlsPane";
import { DeviceContainer, DeviceScreen } from "DevicePane";
import { PanelBehavior } from "./behavior.js";
import { Keys, keyWidth } from "./keys.js";
import { LinkPill } from "./links.js";
import { LogPane } from "./log.js";
import { Ring } from "./ring.js";
import { Sensors } from "./sensors.js";
import { colors, label, plate, styles } from "./theme.js";

const bodyWidth = 400;
const margin = 24;
const left = margin + 4;

class NameBehavior extends Behavior {
	onStarted(label, { deviceId }) {
		label.string = deviceId;
	}
}

/**
 * Forces a layout at each frame. On Linux, Piu only does layout on an event (PiuViewReflow in lin/piuView.c is empty), so that a change
 * by a message would show once the mouse moves.
 */
class LayoutBehavior extends Behavior {
	onDisplaying(content) {
		if (system.platform === "lin") content.start();
	}
}

const switchRow = (event, title, [off, on], value) => SwitchRow({ event, label: title, on, off, value });

/**
 * Creates a panel. A test compares each panel with device/protocol/models.ts, which mcsim cannot load.
 *
 * @param isDefault whether the panel is also used for builds without a subplatform
 */
export function createPanel({ model, pixels, hasSensors, isDefault = false }) {
	const name = model.toLowerCase();
	const platform = `(lin|mac|win)/${isDefault ? `(${name}|mc)` : name}`;
	const bodyHeight = hasSensors ? 660 : 548;
	return {
		title: model,
		model,
		pixels,
		applicationName: `${platform}/(debug|release|instrument)/device`,
		Workers: {},
		ControlsTemplate: ControlsColumn.template(() => ({
			contents: [
				switchRow("onWiFiSwitched", "Wi-Fi", ["Off", "On"], true),
				switchRow("onGatewaySwitched", "Gateway path", ["Blocked", "Open"], true),
				...(hasSensors
					? [
							SliderRow({
								track: "onLightChanged",
								label: "Light",
								min: 0,
								max: 4095,
								step: 1,
								unit: "",
								value: 1500,
							}),
							switchRow("onTouchSwitched", "Finger on pad", ["No", "Yes"], false),
						]
					: []),
				ButtonsRow({ label: "Power", buttons: [{ event: "onReset", label: "Reset" }] }),
				switchRow("onLatchSwitched", "Keys", ["Momentary", "Latch"], false),
				InfoRow({ label: "Gateway", name: "gatewayLabel", value: "" }),
				InfoRow({ label: "Last reset", name: "resetLabel", value: "" }),
				InfoRow({ label: "Log", name: "logLabel", value: "newest first" }),
				LogPane(),
			],
		})),
		DeviceTemplates: {
			0: DeviceContainer.template(($) => ({
				Behavior: PanelBehavior,
				width: bodyWidth + 2 * margin,
				height: bodyHeight + 2 * margin,
				contents: [
					plate($, {
						left: margin,
						top: margin,
						width: bodyWidth,
						height: bodyHeight,
						radius: 40,
						fill: colors.body,
						stroke: colors.edge,
						border: 2,
					}),
					label($, { left: left + 24, top: margin + 18, width: 120, height: 24 }, styles.model, model),
					Label($, {
						right: left + 24,
						top: margin + 18,
						width: 200,
						height: 24,
						style: styles.device,
						Behavior: NameBehavior,
					}),
					Ring($, { left: margin + (bodyWidth - 344) / 2, top: margin + 44 }),
					new LinkPill({ kind: "wifi", title: "Wi-Fi", left: left + 24, top: margin + 396 }),
					new LinkPill({ kind: "gateway", title: "Gateway", left: left + 200, top: margin + 396 }),
					Keys($, { left: margin + (bodyWidth - 4 * keyWidth) / 2, top: margin + 444 }),
					...(hasSensors ? [Sensors($, { left: left + 24, top: margin + 548 })] : []),
					Content($, { left: 0, top: 0, width: 0, height: 0, Behavior: LayoutBehavior }),
					DeviceScreen($, { left: 0, top: 0, width: 0, height: 0 }),
				],
			})),
		},
	};
}
