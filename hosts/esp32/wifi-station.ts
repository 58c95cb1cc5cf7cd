/**
 * Wi-Fi station of the SDK with two additions: the reason of a failed attempt, and no power saving, which would delay commands by up to
 * 300 ms. The boards are powered from USB.
 */

import SDKWiFi from "embedded:network/interface/wifi";
import { nativeFunctions } from "board/native";
import type { WiFi, WiFiReason } from "../../device/host.js";

/** wifi_ps_type_t (components/esp_wifi/include/esp_wifi_types_generic.h, v6.0). */
const powerSaveNone = 0;

/** wifi_err_reason_t in the same file. */
const reasons: Readonly<Record<number, WiFiReason>> = Object.freeze({
	/** AUTH_LEAVE, DISASSOC_DUE_TO_INACTIVITY, ASSOC_TOOMANY */
	3: "ended_by_access_point",
	4: "ended_by_access_point",
	5: "ended_by_access_point",
	/** CLASS2_FRAME_FROM_NONAUTH_STA, CLASS3_FRAME_FROM_NONASSOC_STA, ASSOC_LEAVE: the access point has restarted. */
	6: "ended_by_access_point",
	7: "ended_by_access_point",
	8: "ended_by_access_point",
	/** BEACON_TIMEOUT */
	200: "signal_lost",
	/** 4WAY_HANDSHAKE_TIMEOUT: some access points do not answer a wrong key. */
	15: "wrong_password",
	/** AUTH_FAIL */
	202: "wrong_password",
	/** HANDSHAKE_TIMEOUT */
	204: "wrong_password",
	/** NO_AP_FOUND, including its variants for insufficient security or signal. */
	201: "no_access_point",
	210: "no_access_point",
	211: "no_access_point",
	212: "no_access_point",
});

/**
 * AUTH_EXPIRE and CONNECTION_FAIL. Before the access point has accepted the device, they mean a rejected password: many access points
 * answer a wrong key with reason 2 (IEEE 802.11: previous authentication not valid).
 */
const unaccepted: readonly number[] = Object.freeze([2, 205]);

export class WiFiStation extends SDKWiFi implements WiFi {
	readonly #ffi = nativeFunctions();

	constructor(options: { onChanged: (property: string) => void }) {
		nativeFunctions().board_wifi_watch();
		super(options);
		const error = this.#ffi.esp_wifi_set_ps(powerSaveNone);
		if (error !== 0) trace(`disabling Wi-Fi power saving failed: ESP-IDF error 0x${error.toString(16)}\n`);
	}

	get reason(): WiFiReason | undefined {
		const reason = this.#ffi.board_wifi_reason();
		if (!unaccepted.includes(reason)) return reasons[reason];
		return this.#ffi.board_wifi_has_joined() ? "ended_by_access_point" : "wrong_password";
	}

	override connect(options: { SSID: string; password?: string }): void {
		this.#ffi.board_wifi_forget_reason();
		super.connect(options);
	}
}
