/**
 * Panel side of the messages; ../../modules/panel.ts is the app side. Forwards user input to the app and outputs of the app to the parts of
 * the panel. Restarts the app on request and after a crash, as a board would.
 */

import { DeviceBehavior } from "DevicePane";
import { DeviceStore } from "./device-store.js";
import { Log } from "./log.js";

/** Approximate restart time of a board. Without a delay an app that fails at startup would spin. */
const restartDelayMs = 1000;
/** Folder with a trailing separator, removed from the full paths in XS's stacks. */
const projectFolder = import.meta.uri.slice(0, -"hosts/simulator/panels/parts/behavior.js".length);
/** XS abort reason of ../../modules/watchdog.ts. */
const watchdogReason = "too much computation";
/** More than the 2,000 bytes of complete lines that a board keeps. */
const traceBytes = 4000;

export class PanelBehavior extends DeviceBehavior {
	onCreate(container, device) {
		super.onCreate(container, device);
		this.model = device.model;
		this.store = new DeviceStore(device.model.toLowerCase());
		this.log = new Log();
		this.resetReason = "POWERON_RESET";
		this.startedAtMs = 0;
		this.trace = "";
		this.abortNote = undefined;
		this.ended = undefined;
		this.isWiFiOn = true;
		this.isGatewayCut = false;
		this.light = 1500;
		this.isTouched = false;
		this.pressed = new Set();
	}

	onJSON(container, output) {
		if (output.ready) this.onReady(container);
		if (output.trace) {
			this.trace = (this.trace + output.trace).slice(-traceBytes);
			this.log.write(output.trace, this.logPane);
		}
		if (output.abort)
			this.abortNote = { ...output.abort, stack: output.abort.stack.replaceAll(projectFolder, "") };
		if (output.isCrashCleared) this.ended = undefined;
		if (output.setting) this.store.write(output.setting.name, output.setting.value);
		if (output.restart) this.restart(container, "SW_RESET", 0);
		container.distribute("onOutput", output);
	}

	/** Sends the stored settings to the app, which then starts the firmware. */
	onReady(container) {
		this.startedAtMs = Date.now();
		this.trace = "";
		this.abortNote = undefined;
		const { isWiFiOn, isGatewayCut, isTouched, light, resetReason, ended } = this;
		const pressed = [...this.pressed];
		const { macAddress, settings } = this.store.read();
		const controls = { isWiFiOn, isGatewayCut, isTouched, light, pressed };
		const boot = { model: this.model, macAddress, settings, resetReason, ended, ...controls };
		this.postJSON(container, { boot });
		this.show("gatewayLabel", settings.gateway || "not set");
		this.show("resetLabel", resetReason);
		const deviceId = `${this.model}-${macAddress.replaceAll(":", "")}`.toLowerCase();
		container.distribute("onStarted", { deviceId });
		container.distribute("onLight", light);
	}

	/** Updates a row of the controls, which do not exist while the pane is closed. */
	show(name, text) {
		if (this[name]) this[name].string = text;
	}

	/** Successor of the log's heading, because only rows of the controls have names; undefined while the pane is closed. */
	get logPane() {
		return this.logLabel?.container?.next;
	}

	/** Records a crash (../../modules/crash.ts) and quits the firmware, which mcsim would let continue. */
	onAbort(container, _status, reason) {
		application.delegate("quitScreen");
		const now = Date.now();
		this.ended = {
			id: now.toString(16),
			reason,
			note: this.abortNote,
			trace: this.trace,
			uptimeMs: now - this.startedAtMs,
		};
		this.log.write(`\nthe firmware crashed: ${this.abortNote?.message ?? reason}\n`, this.logPane);
		container.distribute("onOutput", { aborted: reason });
		const resetReason = reason === watchdogReason ? "TASK_WDT_RESET" : "SW_RESET";
		this.restart(container, resetReason, restartDelayMs);
		return true;
	}

	/** @param delayMs 0 for the next frame; a duration of 0 never ends in Piu */
	restart(container, resetReason, delayMs) {
		this.resetReason = resetReason;
		container.stop();
		container.duration = Math.max(1, delayMs);
		container.time = 0;
		container.start();
	}

	onFinished() {
		application.defer("doReloadFile");
	}

	onButton(container, { name, isPressed }) {
		if (isPressed) this.pressed.add(name);
		else this.pressed.delete(name);
		this.postJSON(container, { button: { name, isPressed } });
	}

	/** Latches the keys, because a mouse can hold only one at a time. */
	onLatchSwitched(container, { value }) {
		container.distribute("onLatch", value);
	}

	/** Piu delivers keyboard events on macOS only. */
	onKeyDown(container, key) {
		container.distribute("onKey", { key, isPressed: true });
	}

	onKeyUp(container, key) {
		container.distribute("onKey", { key, isPressed: false });
	}

	/** Simulates the reset pin. */
	onReset(container) {
		this.restart(container, "EXT_RESET", 0);
	}

	onWiFiSwitched(container, { value }) {
		this.isWiFiOn = value;
		this.postJSON(container, { isWiFiOn: value });
	}

	onGatewaySwitched(container, { value }) {
		this.isGatewayCut = !value;
		this.postJSON(container, { isGatewayCut: !value });
	}

	onLightChanged(container, { value }) {
		this.light = value;
		this.postJSON(container, { light: value });
		container.distribute("onLight", value);
	}

	onTouchSwitched(container, { value }) {
		this.onPad(container, value);
	}

	onPad(container, isTouched) {
		this.isTouched = isTouched;
		this.postJSON(container, { isTouched });
		container.distribute("onTouch", isTouched);
	}
}
