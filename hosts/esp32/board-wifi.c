/* Reason of the last Wi-Fi disconnection, which the SDK's driver does not report. Called from wifi-station.ts. */

#include <stdatomic.h>
#include <stdint.h>

#include "esp_event.h"
#include "esp_wifi.h"

/** wifi_err_reason_t, or 0. Written by the event task, read by the XS task. */
static atomic_int last_reason;
/** Whether an access point has accepted the device since the last attempt started. */
static atomic_int has_joined;

static void on_wifi_event(void *context, esp_event_base_t base, int32_t id, void *data)
{
	(void)context;
	(void)base;
	if (WIFI_EVENT_STA_CONNECTED == id)
		atomic_store(&has_joined, 1);
	if ((WIFI_EVENT_STA_DISCONNECTED == id) && data)
		atomic_store(&last_reason, ((const wifi_event_sta_disconnected_t *)data)->reason);
}

/**
 * Must be called before the SDK's driver is constructed: ESP-IDF calls event handlers in the order of their registration, and the
 * reason must be known before XS handles the event.
 */
void board_wifi_watch(void)
{
	static int is_watching;
	if (is_watching)
		return;
	esp_err_t made = esp_event_loop_create_default();
	if ((ESP_OK != made) && (ESP_ERR_INVALID_STATE != made))
		return;
	is_watching = ESP_OK == esp_event_handler_register(WIFI_EVENT, ESP_EVENT_ANY_ID, on_wifi_event, NULL);
}

/** wifi_err_reason_t (esp_wifi_types_generic.h); 0 if there was no disconnection since the last attempt started. */
int32_t board_wifi_reason(void)
{
	return atomic_load(&last_reason);
}

/** 1 after the key handshake: ESP-IDF does not post the event for a rejected password. */
int32_t board_wifi_has_joined(void)
{
	return atomic_load(&has_joined);
}

/** Must be called before each attempt. */
void board_wifi_forget_reason(void)
{
	atomic_store(&has_joined, 0);
	atomic_store(&last_reason, 0);
}
