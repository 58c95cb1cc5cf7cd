/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Peripherals of the ESP32-S3 and the parts of a board behind them (hw/misc/esp32s3_board.c). */
#pragma once

#include "hw/sysbus.h"
#include "chardev/char-fe.h"
#include "hw/dma/esp_gdma.h"

#define TYPE_ESP32S3_BOARD "esp32s3.board"
#define ESP32S3_BOARD(obj) OBJECT_CHECK(Esp32s3BoardState, (obj), TYPE_ESP32S3_BOARD)

typedef struct Esp32s3BoardState {
    SysBusDevice parent;
    MemoryRegion gpio, rmt, i2c, i2s, ledc, sens;
    qemu_irq gpio_irq, rmt_irq, i2c_irq, i2s_irq, ledc_irq, sens_irq;
    ESPGdmaState *gdma;
    CharBackend chr;
    char line[128];
    unsigned line_length;

    uint32_t gpio_regs[0x800 / 4], g_out[2], g_enable[2], g_in[2], g_status[2], g_int[2];

    uint32_t rmt_regs[0xe00 / 4], rmt_raw, rmt_busy, ring_bytes, rmt_frames;
    uint8_t ring[192];
    QEMUTimer *rmt_timer;

    uint32_t i2c_regs[0x200 / 4], i2c_raw;
    uint8_t rx[32], tx[32];
    uint32_t rx_count, tx_count;
    bool i2c_addressed, i2c_is_first, i2c_selected, codec_present;
    uint8_t codec[256], codec_pointer;

    uint32_t i2s_regs[0x100 / 4], i2s_desc, i2s_part, i2s_channel, bytes_per_second;
    bool i2s_running, i2s_has_part;
    int64_t i2s_next;
    uint64_t i2s_bytes;
    QEMUTimer *i2s_timer;
    char *pcm_file;
    FILE *pcm;

    uint32_t ledc_regs[0x100 / 4];
    uint32_t sens_regs[0x200 / 4];
    uint32_t adc[12], touch[15];
} Esp32s3BoardState;
