/*
 * ESP-IDF port of the TCP socket: FreeRTOS for task and lock, and lwIP's own functions instead of the VFS. tcp_port_post() is in
 * tcp-binding.c.
 */

#include "tcp-port.h"

#include "esp_netif.h"
#include "esp_timer.h"
#include "freertos/FreeRTOS.h"
#include "freertos/semphr.h"
#include "freertos/task.h"
#include "lwip/sockets.h"

/* lwip_select() and lwip_close() need less than half of it. */
#define STACK_BYTES 2560
/* Above the script's task (4), far below lwIP's (18). */
#define PRIORITY 5

static SemaphoreHandle_t lock;
static StaticSemaphore_t lock_memory;

static void task(void *run)
{
	((void (*)(void))run)();
}

bool tcp_port_has_network(void)
{
	return esp_netif_get_default_netif() != NULL;
}

bool tcp_port_start(void (*run)(void))
{
	lock = xSemaphoreCreateMutexStatic(&lock_memory);
	return xTaskCreate(task, "tcp", STACK_BYTES, (void *)run, PRIORITY, NULL) == pdPASS;
}

void tcp_port_lock(void)
{
	xSemaphoreTake(lock, portMAX_DELAY);
}

void tcp_port_unlock(void)
{
	xSemaphoreGive(lock);
}

int tcp_port_select(int count, fd_set *readable, fd_set *writable, struct timeval *timeout)
{
	return lwip_select(count, readable, writable, NULL, timeout);
}

void tcp_port_close(int descriptor)
{
	(void)lwip_close(descriptor);
}

bool tcp_port_set_nonblocking(int descriptor)
{
	int one = 1;
	return lwip_ioctl(descriptor, FIONBIO, &one) == 0;
}

/* Requires CONFIG_LWIP_SO_RCVBUF. */
uint32_t tcp_port_unread(int descriptor)
{
	int count = 0;
	if (lwip_ioctl(descriptor, FIONREAD, &count) != 0 || count < 0)
		return 0;
	return (uint32_t)count;
}

uint32_t tcp_port_milliseconds(void)
{
	return (uint32_t)(esp_timer_get_time() / 1000);
}

void tcp_port_sleep(uint32_t milliseconds)
{
	vTaskDelay(pdMS_TO_TICKS(milliseconds));
}
