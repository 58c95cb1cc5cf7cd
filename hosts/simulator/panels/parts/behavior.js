/**
 * The panel's side of the messages (../../modules/panel.ts is the app's): a person's actions go to the app, its outputs to the
 * parts of the panel. It also restarts an app that asks for it, or that ended with an exception, as a board would.
 */

import { DeviceBehavior } from "DevicePane";
import { Kept } from "./kept.js";
import { Log } from "./log.js";

/** About a board's restart time; without a delay an app that fails at its start would spin. */
const restartDelayMs = 1000;
/** Project folder with a trailing separator. XS stacks contain full paths. */
const projectFolder = import.meta.uri.slice(0, -"hosts/simulator/panels/parts/behavior.js".length);
/** Abort reason that XS reports for ../../modules/watchdog.ts. */
const watchdogReason = "too much computation";
/** More than the 2,000 bytes of whole lines that a board keeps. */
const traceBytes = 4000;

export class PanelBehavior extends DeviceBehavior {
	onCreate(container, device) {
		super.onCreate(container, device);
		this.model = device.model;
		this.kept = new Kept(device.model.toLowerCase());
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
		if (output.log) this.addToLog(output.log);
		if (output.trace) this.trace = (this.trace + output.trace).slice(-traceBytes);
		if (output.abort)
			this.abortNote = { ...output.abort, stack: output.abort.stack.replaceAll(projectFolder, "") };
		if (output.isCrashCleared) this.ended = undefined;
		if (output.setting) this.kept.keep(output.setting.name, output.setting.value);
		if (output.restart) this.restart(container, "SW_RESET", 0);
		container.distribute("onOutput", output);
	}

	/** The app asks for the device's settings, and starts the firmware when it has them. */
	onReady(container) {
		this.startedAtMs = Date.now();
		this.trace = "";
		this.abortNote = undefined;
		const { isWiFiOn, isGatewayCut, isTouched, light, resetReason, ended } = this;
		const pressed = [...this.pressed];
		const { macAddress, settings } = this.kept.read();
		const { slotPath } = this.kept;
		const controls = { isWiFiOn, isGatewayCut, isTouched, light, pressed };
		const boot = { model: this.model, macAddress, settings, slotPath, resetReason, ended, ...controls };
		this.postJSON(container, { boot });
		this.show("gatewayLabel", settings.gateway || "not set");
		this.show("resetLabel", resetReason);
		const deviceId = `${this.model}-${macAddress.slice(-8).replaceAll(":", "")}`.toLowerCase();
		container.distribute("onStarted", { deviceId });
		container.distribute("onLight", light);
	}

	/** A row of the controls; there is none while they are closed. */
	show(name, text) {
		if (this[name]) this[name].string = text;
	}

	/** The pane follows its heading; a content of the controls can be found by the name of a row alone. */
	addToLog(line) {
		this.log.add(line, this.logLabel?.container?.next);
	}

	/** The firmware ended by a fault. mcsim lets it run on, so it is quit here; the record of a crash is ../../modules/crash.ts. */
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
		const text = `the firmware ended: ${this.abortNote?.message ?? reason}`;
		this.addToLog({ kind: "problem", text, isReplacing: false });
		container.distribute("onOutput", { aborted: reason });
		const resetReason = reason === watchdogReason ? "TASK_WDT_RESET" : "SW_RESET";
		this.restart(container, resetReason, restartDelayMs);
		return true;
	}

	/** @param delayMs 0 is the next frame: in Piu a duration of 0 has no end */
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

	/** A mouse holds one key at a time. */
	onLatchSwitched(container, { value }) {
		container.distribute("onLatch", value);
	}

	/** Piu delivers keys on macOS alone. */
	onKeyDown(container, key) {
		container.distribute("onKey", { key, isPressed: true });
	}

	onKeyUp(container, key) {
		container.distribute("onKey", { key, isPressed: false });
	}

	/** The reset pin. */
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
