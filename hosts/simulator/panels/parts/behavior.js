/**
 * The panel's end of the wire (../../modules/panel.ts is the app's): what a person does goes to the app, what the app shows is
 * handed to the parts of the mockup. It also plays the power supply: an app that asks for a restart, or that ends with an
 * exception, is started again, as a board would be.
 */

import { DeviceBehavior } from "DevicePane";
import { Kept } from "./kept.js";

/** After an exception a board takes about this long to be back; one that fails at once must not spin. */
const restartDelayMs = 1000;

export class PanelBehavior extends DeviceBehavior {
	onCreate(container, device) {
		super.onCreate(container, device);
		this.kept = new Kept(device.model.toLowerCase());
		this.resetReason = "POWERON_RESET";
		this.isWiFiOn = true;
		this.light = 1500;
		this.isTouched = false;
	}

	onJSON(container, output) {
		if (output.ready) this.onReady(container, output.ready);
		if (output.setting) this.kept.keep(output.setting.name, output.setting.value);
		if (output.restart) this.restart(container, "SW_RESET", 0);
		container.distribute("onOutput", output);
	}

	onReady(container, { model }) {
		container.distribute("onStarted", model);
		const { isWiFiOn, isTouched, light, resetReason } = this;
		const { macAddress, settings } = new Kept(this.device.model.toLowerCase());
		this.postJSON(container, { boot: { macAddress, settings, resetReason, isWiFiOn, isTouched, light } });
	}

	onAbort(container, _status, reason) {
		container.distribute("onOutput", { aborted: reason });
		this.restart(container, "SW_RESET", restartDelayMs);
		return true;
	}

	restart(container, resetReason, delayMs) {
		this.resetReason = resetReason;
		container.stop();
		container.duration = delayMs;
		container.time = 0;
		container.start();
	}

	onFinished() {
		application.defer("doReloadFile");
	}

	onButton(container, { name, isPressed }) {
		this.postJSON(container, { button: { name, isPressed } });
	}

	onButtonDown(container, { button }) {
		this.onButton(container, { name: button, isPressed: true });
	}

	onButtonUp(container, { button }) {
		this.onButton(container, { name: button, isPressed: false });
	}

	onWiFiSwitched(container, { value }) {
		this.isWiFiOn = value;
		this.postJSON(container, { isWiFiOn: value });
	}

	onLightChanged(container, { value }) {
		this.light = value;
		this.postJSON(container, { light: value });
		container.distribute("onLight", value);
	}

	onTouchSwitched(container, { value }) {
		this.isTouched = value;
		this.postJSON(container, { isTouched: value });
		container.distribute("onTouch", value);
	}
}
