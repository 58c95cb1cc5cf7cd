/** Globals of XS and of the SDK's C bindings, for type checks without the SDK. Builds use the SDK's own typings. */

type ByteBuffer = ArrayBuffer | Uint8Array;

interface Uint8Array {
	toHex(): string;
}

/** Returns a native method, called as `native("xs_name").call(instance, …)`. */
declare function native(name: string): {
	call<Result>(instance: object, ...values: unknown[]): Result;
};

/** Returns a base class for objects with native data. @param destructor name of a C function */
declare function Native(destructor: string): new () => object;

/** Foreign functions declared in the "ffi" sections of the manifests under hosts/esp32. */
declare module "mc/ffi" {
	export default class FFI {
		board_crash_clear(): void;
		board_crash_expect_restart(): void;
		board_crash_note(kind: string, message: string, stack: string): void;
		board_crash_start(): void;
		/** @param field 0 id, 1 kind, 2 message, 3 stack, 4 version, 5 trace */
		board_crash_text(field: number): string;
		board_crash_uptime(): number;
		board_drain_console(): void;
		board_firmware_built_at(): string;
		board_firmware_model(): string;
		board_firmware_security_version(): number;
		board_firmware_version(): string;
		board_flash_bytes(): number;
		board_is_pending_verify(): number;
		board_print(text: string): void;
		board_psram_bytes(): number;
		/** @param id receives eight bytes */
		board_read_image_id(id: ArrayBuffer): void;
		/** @param mac receives six bytes */
		board_read_mac(mac: ArrayBuffer): void;
		board_ring_close(): void;
		/** @returns an esp_err_t */
		board_ring_open(pin: number, length: number): number;
		/** @param color three bytes, the first one sent in bits 16 to 23 */
		board_ring_set(index: number, color: number): void;
		board_ring_show(): void;
		/** Reads into the buffer. @returns the number of bytes */
		board_serial_read(buffer: ArrayBuffer, offset: number, size: number): number;
		board_serial_write(bytes: ArrayBuffer, length: number): void;
		board_touch_close(): void;
		board_touch_open(pin: number): number;
		board_touch_read(): number;
		board_trace(text: string): void;
		board_trace_line_count(): number;
		board_trace_read(count: number): string;
		/** @returns 1 or 0 */
		board_update_is_selecting(): number;
		/** @returns an esp_err_t */
		board_update_open(): number;
		board_update_result(): number;
		board_update_select(): void;
		board_update_write(buffer: ArrayBuffer, offset: number, length: number): number;
		board_uptime_ms(): number;
		board_wifi_forget_reason(): void;
		board_wifi_has_joined(): number;
		board_wifi_reason(): number;
		board_wifi_watch(): void;
		bring_up_count(pin: number, ms: number): number;
		bring_up_i2c_probe(data: number, clock: number, address: number): number;
		bring_up_i2c_read(data: number, clock: number, address: number, register: number): number;
		bring_up_level(pin: number): number;
		bring_up_line(): string;
		bring_up_partition(index: number): string;
		bring_up_revision(): number;
		esp_clk_cpu_freq(): number;
		esp_err_to_name(error: number): string;
		esp_get_free_heap_size(): number;
		esp_get_idf_version(): string;
		esp_get_minimum_free_heap_size(): number;
		esp_ota_mark_app_invalid_rollback_and_reboot(): number;
		esp_ota_mark_app_valid_cancel_rollback(): number;
		esp_reset_reason(): number;
		esp_restart(): void;
		esp_wifi_set_ps(mode: number): number;
	}
}
