/* XS bindings of patch-decoder.c for patch.ts. */

#include "xsmc.h"
#include "xsHost.h"
#include "mc.xs.h"

#include "app_update/include/esp_ota_ops.h"
#include "esp_partition.h"
#include "patch-decoder.h"

bool patch_source_read(uint32_t position, uint8_t *buffer, uint32_t count)
{
	return ESP_OK == esp_partition_read(esp_ota_get_running_partition(), position, buffer, count);
}

/** No-op: the decoder is a chunk in the XS heap. */
void xs_board_patch_destructor(void *data)
{
	(void)data;
}

void xs_board_patch(xsMachine *the)
{
	xsIntegerValue source_bytes = xsmcToInteger(xsArg(0));
	xsIntegerValue result_bytes = xsmcToInteger(xsArg(1));
	if (source_bytes < 0 || (uint32_t)source_bytes > esp_ota_get_running_partition()->size || result_bytes < 0)
		xsRangeError("length out of range");
	struct patch_decoder *decoder = xsmcSetHostChunk(xsThis, NULL, sizeof(*decoder));
	patch_decoder_start(decoder, (uint32_t)source_bytes, (uint32_t)result_bytes);
}

void xs_board_patch_decode(xsMachine *the)
{
	void *piece, *input;
	xsUnsignedValue piece_bytes, input_bytes;
	const char *problem = "";
	xsIntegerValue offset = xsmcToInteger(xsArg(2));
	xsmcGetBufferWritable(xsArg(0), &piece, &piece_bytes);
	xsmcGetBufferReadable(xsArg(1), &input, &input_bytes);
	if (offset < 0 || (xsUnsignedValue)offset > input_bytes)
		xsRangeError("offset out of range");
	struct patch_decoder *decoder = xsmcGetHostChunkValidate(xsThis, (void *)xs_board_patch_destructor);
	int32_t next = patch_decoder_decode(decoder, piece, piece_bytes, input, input_bytes, (uint32_t)offset, &problem);
	if (PATCH_CANNOT_READ == next)
		xsUnknownError("Reading the running firmware failed.");
	if (PATCH_IS_DAMAGED == next)
		xsUnknownError("The patch is damaged: %s.", problem);
	xsmcSetInteger(xsResult, next);
}
