/*
 * Configuration of the SDK's Ethernet module (modules/io/ethernet/esp32) for QEMU's OpenCores controller. The SPI pins that the SDK
 * requires (manifest.json) are unused.
 */

#pragma once

/* Required, but not included, by ESP-IDF's esp_eth_mac.h. */
#include <stdarg.h>

#include "driver/spi_master.h"
#include "esp_eth.h"

#define QEMU_PHY_ADDRESS 1
/* QEMU does not negotiate. ESP-IDF's default is 4 s. */
#define QEMU_NEGOTIATION_MS 100

static inline esp_eth_mac_t *mod_ethernet_get_mac(spi_device_interface_config_t bus, int interrupt_pin)
{
	eth_mac_config_t config = ETH_MAC_DEFAULT_CONFIG();
	(void)bus;
	(void)interrupt_pin;
	return esp_eth_mac_new_openeth(&config);
}

static inline esp_eth_phy_t *mod_ethernet_get_phy(void)
{
	eth_phy_config_t config = ETH_PHY_DEFAULT_CONFIG();
	config.phy_addr = QEMU_PHY_ADDRESS;
	config.reset_gpio_num = -1;
	config.autonego_timeout_ms = QEMU_NEGOTIATION_MS;
	return esp_eth_phy_new_generic(&config);
}
