/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Peripherals of the ESP32-S3 and the parts of a board behind them: GPIO with interrupts, RMT with a ring of WS2812, I2C with an
 * ES8311, I2S into a file, LEDC, the one-shot ADC1 and touch pads. Events and inputs are JSON lines on a character device.
 *
 * Output: {"gpio":14,"level":1}  {"ring":"00ff00…"} (bytes in wire order)  {"codec":[50,191]}  {"i2s":true}  {"pwm":0,"duty":0.5}
 * Input:  {"gpio":39,"level":0}  {"adc":4,"value":2000} (ADC1 channel)  {"touch":4,"value":20000}  {"codec":false}
 */
#include "qemu/osdep.h"
#include "qemu/log.h"
#include "qemu/module.h"
#include "qemu/timer.h"
#include "qapi/error.h"
#include "exec/address-spaces.h"
#include "hw/hw.h"
#include "hw/sysbus.h"
#include "hw/irq.h"
#include "hw/qdev-properties.h"
#include "hw/qdev-properties-system.h"
#include "hw/misc/esp32s3_board.h"

static void G_GNUC_PRINTF(2, 3) tell(Esp32s3BoardState *s, const char *format, ...)
{
    char line[512];
    va_list list;
    va_start(list, format);
    int n = vsnprintf(line, sizeof(line), format, list);
    va_end(list);
    if (qemu_chr_fe_backend_connected(&s->chr)) {
        qemu_chr_fe_write_all(&s->chr, (uint8_t *)line, MIN(n, (int)sizeof(line) - 1));
    }
}

/* ---- GPIO: OUT, ENABLE, IN, STATUS, PINn ---- */

enum { G_OUT = 0x04, G_ENABLE = 0x20, G_STRAP = 0x38, G_IN = 0x3c, G_STATUS = 0x44, G_PCPU = 0x5c, G_PCPU1 = 0x68, G_PIN0 = 0x74,
       G_PINS = 49, G_END = 0x800 };

static void gpio_update(Esp32s3BoardState *s)
{
    s->g_int[0] = s->g_int[1] = 0;
    for (int i = 0; i < G_PINS; i++) {
        if ((s->g_status[i / 32] >> (i % 32)) & 1 && (s->gpio_regs[(G_PIN0 + 4 * i) / 4] >> 13) & 1) {
            s->g_int[i / 32] |= 1u << (i % 32);
        }
    }
    qemu_set_irq(s->gpio_irq, s->g_int[0] || s->g_int[1]);
}

static void gpio_input(Esp32s3BoardState *s, unsigned pin, bool level)
{
    if (pin >= G_PINS) {
        return;
    }
    uint32_t bit = 1u << (pin % 32);
    bool old = s->g_in[pin / 32] & bit;
    s->g_in[pin / 32] = level ? s->g_in[pin / 32] | bit : s->g_in[pin / 32] & ~bit;
    unsigned type = (s->gpio_regs[(G_PIN0 + 4 * pin) / 4] >> 7) & 7;
    if ((type == 1 && level && !old) || (type == 2 && !level && old) || (type == 3 && level != old) || (type == 4 && !level) ||
        (type == 5 && level)) {
        s->g_status[pin / 32] |= bit;
        gpio_update(s);
    }
}

static uint64_t gpio_read(void *opaque, hwaddr addr, unsigned size)
{
    Esp32s3BoardState *s = opaque;
    switch (addr) {
    case G_STRAP: return 0x08; /* boot from flash */
    case G_OUT: return s->g_out[0];
    case G_OUT + 0xc: return s->g_out[1];
    case G_ENABLE: return s->g_enable[0];
    case G_ENABLE + 0xc: return s->g_enable[1];
    case G_IN: return (s->g_in[0] & ~s->g_enable[0]) | (s->g_out[0] & s->g_enable[0]);
    case G_IN + 4: return (s->g_in[1] & ~s->g_enable[1]) | (s->g_out[1] & s->g_enable[1]);
    case G_STATUS: return s->g_status[0];
    case G_STATUS + 0xc: return s->g_status[1];
    case G_PCPU: return s->g_int[0];
    case G_PCPU1: return s->g_int[1];
    default: return addr < G_END ? s->gpio_regs[addr / 4] : 0;
    }
}

static void change(uint32_t *reg, unsigned how, uint32_t value)
{
    *reg = how == 0 ? value : how == 1 ? *reg | value : *reg & ~value;
}

static void gpio_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
    Esp32s3BoardState *s = opaque;
    uint32_t before[2] = { s->g_out[0] & s->g_enable[0], s->g_out[1] & s->g_enable[1] };
    uint32_t enabled[2] = { s->g_enable[0], s->g_enable[1] };
    if (addr >= G_OUT && addr < G_OUT + 0x18) {
        change(&s->g_out[(addr - G_OUT) / 0xc], ((addr - G_OUT) % 0xc) / 4, value);
    } else if (addr >= G_ENABLE && addr < G_ENABLE + 0x18) {
        change(&s->g_enable[(addr - G_ENABLE) / 0xc], ((addr - G_ENABLE) % 0xc) / 4, value);
    } else if (addr >= G_STATUS && addr < G_STATUS + 0x18) {
        change(&s->g_status[(addr - G_STATUS) / 0xc], ((addr - G_STATUS) % 0xc) / 4, value);
        gpio_update(s);
    } else if (addr < G_END) {
        s->gpio_regs[addr / 4] = value;
        if (addr >= G_PIN0 && addr < G_PIN0 + 4 * G_PINS) {
            gpio_update(s);
        }
    }
    for (int i = 0; i < G_PINS; i++) {
        uint32_t bit = 1u << (i % 32), now = s->g_out[i / 32] & s->g_enable[i / 32];
        if (((now ^ before[i / 32]) | (s->g_enable[i / 32] ^ enabled[i / 32])) & bit & s->g_enable[i / 32]) {
            tell(s, "{\"gpio\":%d,\"level\":%d}\n", i, !!(now & bit));
        }
    }
}

static const MemoryRegionOps gpio_ops = { .read = gpio_read, .write = gpio_write, .endianness = DEVICE_LITTLE_ENDIAN };

/* ---- RMT: transmission on channels 0 to 3, decoded as WS2812 ---- */

enum { R_CONF0 = 0x20, R_INT_RAW = 0x70, R_INT_ST = 0x74, R_INT_ENA = 0x78, R_INT_CLR = 0x7c, R_RAM = 0x800, R_WORDS = 48, R_END = 0xe00 };

static void rmt_update(Esp32s3BoardState *s)
{
    qemu_set_irq(s->rmt_irq, !!(s->rmt_raw & s->rmt_regs[R_INT_ENA / 4]));
}

static void rmt_done(void *opaque)
{
    Esp32s3BoardState *s = opaque;
    s->rmt_raw |= s->rmt_busy;
    s->rmt_busy = 0;
    rmt_update(s);
}

static void rmt_start(Esp32s3BoardState *s, unsigned channel)
{
    static uint32_t symbol[16384];
    uint32_t count = 0, part, desc = 0, gdma_channel;
    if (s->rmt_regs[(R_CONF0 + 4 * channel) / 4] & (1u << 25)) {
        bool found = esp_gdma_get_channel_periph(s->gdma, GDMA_RMT, ESP_GDMA_OUT_IDX, &gdma_channel);
        /* A ring of descriptors, ended by an empty symbol or the owner's bit. */
        for (int i = 0; found && i < 64; i++) {
            if (!esp_gdma_out_descriptor(s->gdma, gdma_channel, &desc, (uint8_t *)(symbol + count), sizeof(symbol) - 4 * count, &part)) {
                break;
            }
            count += part / 4;
            bool ended = desc == 0;
            for (uint32_t k = count - part / 4; k < count && !ended; k++) {
                ended = !(symbol[k] & 0x7fff) || !(symbol[k] >> 16 & 0x7fff);
            }
            if (ended || count >= ARRAY_SIZE(symbol) - 1100) {
                break;
            }
        }
    } else {
        memcpy(symbol, &s->rmt_regs[(R_RAM + 4 * R_WORDS * channel) / 4], 4 * R_WORDS);
        count = R_WORDS;
    }
    uint8_t bytes[192] = { 0 };
    uint32_t bits = 0, ticks = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t high = symbol[i] & 0x7fff, low = symbol[i] >> 16 & 0x7fff;
        if (!high || !low) {
            break;
        }
        ticks += high + low;
        if (bits < sizeof(bytes) * 8) {
            bytes[bits / 8] |= (high > low) << (7 - bits % 8);
            bits++;
        }
    }
    if (bits / 8 != s->ring_bytes || memcmp(bytes, s->ring, bits / 8)) {
        char text[2 * sizeof(bytes) + 1] = "";
        for (uint32_t i = 0; i < bits / 8; i++) {
            sprintf(text + 2 * i, "%02x", bytes[i]);
        }
        tell(s, "{\"ring\":\"%s\"}\n", text);
        memcpy(s->ring, bytes, sizeof(bytes));
        s->ring_bytes = bits / 8;
    }
    s->rmt_frames++;
    s->rmt_busy |= 1u << channel;
    /* 20 MHz */
    timer_mod(s->rmt_timer, qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + ticks * 50 + 1000);
}

static uint64_t rmt_read(void *opaque, hwaddr addr, unsigned size)
{
    Esp32s3BoardState *s = opaque;
    return addr == R_INT_RAW ? s->rmt_raw : addr == R_INT_ST ? s->rmt_raw & s->rmt_regs[R_INT_ENA / 4] : s->rmt_regs[addr / 4];
}

static void rmt_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
    Esp32s3BoardState *s = opaque;
    if (addr == R_INT_CLR) {
        s->rmt_raw &= ~value;
        rmt_update(s);
        return;
    }
    s->rmt_regs[addr / 4] = value;
    if (addr == R_INT_ENA) {
        rmt_update(s);
    } else if (addr >= R_CONF0 && addr < R_CONF0 + 16) {
        unsigned channel = (addr - R_CONF0) / 4;
        /* Self-clearing bits. */
        s->rmt_regs[addr / 4] &= ~(1u | 1u << 7 | 1u << 24);
        if (value & 1u << 7) { /* tx_stop */
            s->rmt_busy &= ~(1u << channel);
            s->rmt_raw |= 1u << channel;
            rmt_update(s);
        }
        if (value & 1) {
            rmt_start(s, channel);
        }
    }
}

static const MemoryRegionOps rmt_ops = { .read = rmt_read, .write = rmt_write, .endianness = DEVICE_LITTLE_ENDIAN };

/* ---- I2C master with an ES8311 at 0x18 ---- */

enum { I_CTR = 0x04, I_SR = 0x08, I_FIFO = 0x18, I_DATA = 0x1c, I_RAW = 0x20, I_CLR = 0x24, I_ENA = 0x28, I_ST = 0x2c, I_CMD0 = 0x58,
       I_SP = 0x80, I_END = 0x200 };
enum { I_END_DETECT = 1 << 3, I_COMPLETE = 1 << 7, I_NACK = 1 << 10 };

static void i2c_update(Esp32s3BoardState *s)
{
    qemu_set_irq(s->i2c_irq, !!(s->i2c_raw & s->i2c_regs[I_ENA / 4]));
}

static void codec_reset(Esp32s3BoardState *s)
{
    memset(s->codec, 0, sizeof(s->codec));
    s->codec[0xfd] = 0x83;
    s->codec[0xfe] = 0x11;
}

/* One byte to the selected device. @returns whether it acknowledges */
static bool i2c_send_byte(Esp32s3BoardState *s, uint8_t byte)
{
    if (!s->i2c_addressed) {
        s->i2c_addressed = true;
        s->i2c_is_first = true;
        s->i2c_selected = (byte >> 1) == 0x18 && s->codec_present;
    } else if (s->i2c_selected && s->i2c_is_first) {
        s->codec_pointer = byte;
        s->i2c_is_first = false;
    } else if (s->i2c_selected) {
        if (s->codec_pointer != 0xfd && s->codec_pointer != 0xfe) {
            if (s->codec[s->codec_pointer] != byte) {
                tell(s, "{\"codec\":[%d,%d]}\n", s->codec_pointer, byte);
            }
            s->codec[s->codec_pointer] = byte;
        }
        s->codec_pointer++;
    }
    return s->i2c_selected;
}

static void i2c_run(Esp32s3BoardState *s)
{
    for (int i = 0; i < 8; i++) {
        uint32_t *command = &s->i2c_regs[I_CMD0 / 4 + i];
        unsigned count = *command & 0xff, opcode = *command >> 11 & 7;
        *command |= 1u << 31;
        if (opcode == 6) { /* RESTART */
            s->i2c_addressed = false;
        } else if (opcode == 1) { /* WRITE */
            for (; count > 0; count--) {
                uint8_t byte = s->tx_count ? s->tx[0] : 0;
                if (s->tx_count) {
                    memmove(s->tx, s->tx + 1, --s->tx_count);
                }
                if (!i2c_send_byte(s, byte) && *command & 1u << 8) {
                    s->i2c_raw |= I_NACK;
                    s->i2c_addressed = false;
                    i2c_update(s);
                    return;
                }
            }
        } else if (opcode == 3) { /* READ */
            for (; count > 0 && s->rx_count < sizeof(s->rx); count--) {
                s->rx[s->rx_count++] = s->i2c_selected ? s->codec[s->codec_pointer++] : 0xff;
            }
        } else if (opcode == 2) { /* STOP */
            s->i2c_addressed = false;
            s->i2c_raw |= I_COMPLETE;
            break;
        } else { /* END */
            s->i2c_raw |= I_END_DETECT;
            break;
        }
    }
    i2c_update(s);
}

static uint64_t i2c_read(void *opaque, hwaddr addr, unsigned size)
{
    Esp32s3BoardState *s = opaque;
    switch (addr) {
    case I_SR: return s->rx_count << 8 | s->tx_count << 18;
    case I_RAW: return s->i2c_raw;
    case I_ST: return s->i2c_raw & s->i2c_regs[I_ENA / 4];
    case I_DATA: {
        uint8_t byte = s->rx_count ? s->rx[0] : 0;
        if (s->rx_count) {
            memmove(s->rx, s->rx + 1, --s->rx_count);
        }
        return byte;
    }
    default: return s->i2c_regs[addr / 4];
    }
}

static void i2c_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
    Esp32s3BoardState *s = opaque;
    switch (addr) {
    case I_DATA:
        if (s->tx_count < sizeof(s->tx)) {
            s->tx[s->tx_count++] = value;
        }
        return;
    case I_CLR:
        s->i2c_raw &= ~value;
        i2c_update(s);
        return;
    case I_FIFO:
        if (value & 1u << 12) {
            s->rx_count = 0;
        }
        if (value & 1u << 13) {
            s->tx_count = 0;
        }
        break;
    case I_SP:
        value &= ~1ull; /* clearing the bus is done */
        break;
    }
    s->i2c_regs[addr / 4] = value;
    if (addr == I_ENA) {
        i2c_update(s);
    } else if (addr == I_CTR) {
        s->i2c_regs[addr / 4] &= ~(1u << 5 | 1u << 10 | 1u << 11);
        if (value & 1u << 10) {
            s->i2c_addressed = false;
        }
        if (value & 1u << 5) {
            i2c_run(s);
        }
    }
}

static const MemoryRegionOps i2c_ops = { .read = i2c_read, .write = i2c_write, .endianness = DEVICE_LITTLE_ENDIAN };

/* ---- I2S transmitter: each descriptor takes its time and goes to the file ---- */

enum { S_RX_CONF = 0x20, S_TX_CONF = 0x24, S_END = 0x100 };

static void i2s_tick(void *opaque)
{
    Esp32s3BoardState *s = opaque;
    static uint8_t buffer[4096];
    uint32_t channel, length = 0;
    if (!s->i2s_running) {
        return;
    }
    if (s->i2s_has_part) {
        esp_gdma_out_eof(s->gdma, s->i2s_channel, s->i2s_part);
    }
    s->i2s_has_part = false;
    if (esp_gdma_get_channel_periph(s->gdma, GDMA_I2S0, ESP_GDMA_OUT_IDX, &channel)) {
        s->i2s_part = s->i2s_desc ? s->i2s_desc : esp_gdma_out_head(s->gdma, channel);
        s->i2s_channel = channel;
        s->i2s_has_part = esp_gdma_out_descriptor(s->gdma, channel, &s->i2s_desc, buffer, sizeof(buffer), &length);
        if (s->pcm && length) {
            fwrite(buffer, 1, length, s->pcm);
            fflush(s->pcm);
        }
        s->i2s_bytes += length;
    }
    s->i2s_next += (length ? length : 320) * (int64_t)NANOSECONDS_PER_SECOND / s->bytes_per_second;
    timer_mod(s->i2s_timer, s->i2s_next);
}

static uint64_t i2s_read(void *opaque, hwaddr addr, unsigned size)
{
    Esp32s3BoardState *s = opaque;
    return s->i2s_regs[addr / 4];
}

static void i2s_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
    Esp32s3BoardState *s = opaque;
    if (addr == S_RX_CONF || addr == S_TX_CONF) {
        value &= ~(1ull | 1ull << 1 | 1ull << 8); /* resets and the update are done */
    }
    s->i2s_regs[addr / 4] = value;
    if (addr == S_TX_CONF && s->i2s_running != !!(value & 4)) {
        s->i2s_running = value & 4;
        s->i2s_desc = 0;
        s->i2s_has_part = false;
        tell(s, "{\"i2s\":%s,\"bytes\":%" PRIu64 "}\n", s->i2s_running ? "true" : "false", s->i2s_bytes);
        if (s->i2s_running) {
            s->i2s_next = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
            timer_mod(s->i2s_timer, s->i2s_next);
        } else {
            timer_del(s->i2s_timer);
        }
    }
}

static const MemoryRegionOps i2s_ops = { .read = i2s_read, .write = i2s_write, .endianness = DEVICE_LITTLE_ENDIAN };

/* ---- LEDC ---- */

enum { L_TIMER0 = 0xa0, L_END = 0x100 };

static uint64_t ledc_read(void *opaque, hwaddr addr, unsigned size)
{
    Esp32s3BoardState *s = opaque;
    if (addr < L_TIMER0 && addr % 0x14 == 0x10) {
        return s->ledc_regs[(addr - 8) / 4]; /* DUTY_R */
    }
    return s->ledc_regs[addr / 4];
}

static void ledc_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
    Esp32s3BoardState *s = opaque;
    s->ledc_regs[addr / 4] = value;
    if (addr < L_TIMER0 && addr % 0x14 == 0x0c && value & 1u << 31) {
        unsigned channel = addr / 0x14, conf0 = s->ledc_regs[channel * 5];
        unsigned bits = s->ledc_regs[(L_TIMER0 + 8 * (conf0 & 3)) / 4] & 0xf;
        tell(s, "{\"pwm\":%u,\"duty\":%.4f}\n", channel, (s->ledc_regs[channel * 5 + 2] >> 4) / (double)(1u << bits));
        s->ledc_regs[addr / 4] &= ~(1u << 31);
    }
}

static const MemoryRegionOps ledc_ops = { .read = ledc_read, .write = ledc_write, .endianness = DEVICE_LITTLE_ENDIAN };

/* ---- SENS: one-shot conversions of ADC1, channel = GPIO - 1; counts of touch pads, which are always measured ---- */

enum { A_MEAS1 = 0x0c, A_MEAS2 = 0x30, A_TOUCH_CHN_ST = 0x9c, A_TOUCH_STATUS0 = 0xa0, A_END = 0x200 };

static uint64_t sens_read(void *opaque, hwaddr addr, unsigned size)
{
    Esp32s3BoardState *s = opaque;
    uint32_t r = s->sens_regs[addr / 4];
    if (addr == A_MEAS1 || addr == A_MEAS2) {
        unsigned pads = r >> 19 & 0xfff;
        r = (r & ~0x1ffffu) | 1u << 16 | (addr == A_MEAS1 && pads ? s->adc[ctz32(pads)] : 0);
    } else if (addr == A_TOUCH_CHN_ST) {
        r = 1u << 31; /* TOUCH_MEAS_DONE */
    } else if (addr > A_TOUCH_STATUS0 && addr < A_TOUCH_STATUS0 + 4 * ARRAY_SIZE(s->touch)) {
        r = s->touch[(addr - A_TOUCH_STATUS0) / 4];
    }
    return r;
}

static void sens_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
    Esp32s3BoardState *s = opaque;
    s->sens_regs[addr / 4] = value;
}

static const MemoryRegionOps sens_ops = { .read = sens_read, .write = sens_write, .endianness = DEVICE_LITTLE_ENDIAN };

/* ---- Lines ---- */

static int can_receive(void *opaque)
{
    return 64;
}

static void receive(void *opaque, const uint8_t *bytes, int count)
{
    Esp32s3BoardState *s = opaque;
    for (int i = 0; i < count; i++) {
        unsigned number, value;
        if (bytes[i] != '\n') {
            if (s->line_length < sizeof(s->line) - 1) {
                s->line[s->line_length++] = bytes[i];
            }
            continue;
        }
        s->line[s->line_length] = 0;
        s->line_length = 0;
        if (sscanf(s->line, " {\"gpio\":%u,\"level\":%u", &number, &value) == 2) {
            gpio_input(s, number, value);
        } else if (sscanf(s->line, " {\"adc\":%u,\"value\":%u", &number, &value) == 2 && number < ARRAY_SIZE(s->adc)) {
            s->adc[number] = value & 0xfff;
        } else if (sscanf(s->line, " {\"touch\":%u,\"value\":%u", &number, &value) == 2 && number < ARRAY_SIZE(s->touch)) {
            s->touch[number] = value & 0x3fffff;
        } else if (strstr(s->line, "\"codec\":")) {
            s->codec_present = strstr(s->line, "true");
        }
    }
}

static void esp32s3_board_reset_hold(Object *obj, ResetType type)
{
    Esp32s3BoardState *s = ESP32S3_BOARD(obj);
    memset(s->gpio_regs, 0, sizeof(s->gpio_regs));
    memset(s->g_out, 0, sizeof(s->g_out));
    memset(s->g_enable, 0, sizeof(s->g_enable));
    memset(s->g_status, 0, sizeof(s->g_status));
    memset(s->g_int, 0, sizeof(s->g_int));
    memset(s->rmt_regs, 0, sizeof(s->rmt_regs));
    memset(s->i2c_regs, 0, sizeof(s->i2c_regs));
    memset(s->i2s_regs, 0, sizeof(s->i2s_regs));
    memset(s->ledc_regs, 0, sizeof(s->ledc_regs));
    memset(s->sens_regs, 0, sizeof(s->sens_regs));
    s->rmt_raw = s->rmt_busy = s->i2c_raw = 0;
    s->rx_count = s->tx_count = 0;
    s->i2c_addressed = s->i2s_running = s->i2s_has_part = false;
    timer_del(s->rmt_timer);
    timer_del(s->i2s_timer);
}

/* util/main-loop.c: this fork of QEMU does not use GLib's default context. */
extern GMainContext *g_main_context_default_l;

static void esp32s3_board_realize(DeviceState *dev, Error **errp)
{
    Esp32s3BoardState *s = ESP32S3_BOARD(dev);
    s->rmt_timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, rmt_done, s);
    s->i2s_timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, i2s_tick, s);
    s->pcm = s->pcm_file ? fopen(s->pcm_file, "wb") : NULL;
    qemu_chr_fe_set_handlers(&s->chr, can_receive, receive, NULL, NULL, s, g_main_context_default_l, true);
}

static void esp32s3_board_init(Object *obj)
{
    Esp32s3BoardState *s = ESP32S3_BOARD(obj);
    SysBusDevice *sbd = SYS_BUS_DEVICE(obj);
    const struct { MemoryRegion *mr; const MemoryRegionOps *ops; const char *name; unsigned size; qemu_irq *irq; } parts[] = {
        { &s->gpio, &gpio_ops, "board.gpio", G_END, &s->gpio_irq },
        { &s->rmt, &rmt_ops, "board.rmt", R_END, &s->rmt_irq },
        { &s->i2c, &i2c_ops, "board.i2c", I_END, &s->i2c_irq },
        { &s->i2s, &i2s_ops, "board.i2s", S_END, &s->i2s_irq },
        { &s->ledc, &ledc_ops, "board.ledc", L_END, &s->ledc_irq },
        { &s->sens, &sens_ops, "board.sens", A_END, &s->sens_irq },
    };
    for (int i = 0; i < ARRAY_SIZE(parts); i++) {
        memory_region_init_io(parts[i].mr, obj, parts[i].ops, s, parts[i].name, parts[i].size);
        sysbus_init_mmio(sbd, parts[i].mr);
        sysbus_init_irq(sbd, parts[i].irq);
    }
    s->g_in[0] = s->g_in[1] = UINT32_MAX;
    s->codec_present = true;
    codec_reset(s);
    for (int i = 0; i < ARRAY_SIZE(s->adc); i++) {
        s->adc[i] = 1500;
    }
    for (int i = 0; i < ARRAY_SIZE(s->touch); i++) {
        s->touch[i] = 20000;
    }
}

static Property esp32s3_board_properties[] = {
    DEFINE_PROP_CHR("chardev", Esp32s3BoardState, chr),
    DEFINE_PROP_STRING("pcm", Esp32s3BoardState, pcm_file),
    DEFINE_PROP_UINT32("bytes-per-second", Esp32s3BoardState, bytes_per_second, 32000),
    DEFINE_PROP_END_OF_LIST(),
};

static void esp32s3_board_class_init(ObjectClass *klass, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    RESETTABLE_CLASS(klass)->phases.hold = esp32s3_board_reset_hold;
    dc->realize = esp32s3_board_realize;
    device_class_set_props(dc, esp32s3_board_properties);
}

static const TypeInfo esp32s3_board_info = {
    .name = TYPE_ESP32S3_BOARD,
    .parent = TYPE_SYS_BUS_DEVICE,
    .instance_size = sizeof(Esp32s3BoardState),
    .instance_init = esp32s3_board_init,
    .class_init = esp32s3_board_class_init,
};

static void esp32s3_board_register(void)
{
    type_register_static(&esp32s3_board_info);
}

type_init(esp32s3_board_register)
