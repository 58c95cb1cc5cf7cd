/*
 * Simulates the effect of preloading into ROM on a heap, following the SDK (documentation/xs/preload.md, XS linker warnings.md):
 * built-ins and functions are frozen; instances of Map, ArrayBuffer, Error and similar classes are immutable; plain objects, arrays,
 * class instances and module variables remain mutable through an alias in RAM. Firmware that breaks a rule must fail here, not first
 * on a board.
 *
 * XS has a similar pass (fxShare), which gives each unfrozen object an alias. It freezes nothing, and leaves values in memory that
 * the clone's collector would try to move.
 */
#include "machine.h"

typedef void (*visitor)(txMachine* the, txSlot* slot, void* context);

static void visit_heap(txMachine* the, visitor visit, void* context)
{
	for (txSlot* heap = the->firstHeap; heap; heap = heap->next) {
		for (txSlot* slot = heap + 1; slot < heap->value.reference; slot++)
			visit(the, slot, context);
	}
}

static txSlot* internal_of(const txSlot* instance)
{
	txSlot* first = instance->next;
	return first && (first->flag & XS_INTERNAL_FLAG) ? first : NULL;
}

static bool is_array(const txSlot* slot)
{
	return slot->kind == XS_ARRAY_KIND || slot->kind == XS_ARGUMENTS_SLOPPY_KIND ||
		slot->kind == XS_ARGUMENTS_STRICT_KIND;
}

/** Returns the items of an array and stores their number in `count`. */
static txSlot* items_of(const txSlot* array, size_t* count)
{
	txSlot* items = array->value.array.address;
	*count = items ? (size_t)((txChunk*)((txByte*)items - sizeof(txChunk)))->size / sizeof(txSlot) : 0;
	return items;
}

/* Freezing. */

static void freeze_property(txSlot* property)
{
	if (property->kind != XS_ACCESSOR_KIND)
		property->flag |= XS_DONT_SET_FLAG;
	property->flag |= XS_DONT_DELETE_FLAG;
}

static void freeze_instance(txSlot* instance)
{
	instance->flag |= XS_DONT_PATCH_FLAG;
	for (txSlot* property = instance->next; property; property = property->next) {
		if (is_array(property)) {
			size_t count;
			for (txSlot* item = items_of(property, &count); count > 0; item++, count--)
				freeze_property(item);
			freeze_property(property);
		}
		else if (!(property->flag & XS_INTERNAL_FLAG))
			freeze_property(property);
		else {
			switch (property->kind) {
			/* Their methods check this flag before they write. */
			case XS_ARRAY_BUFFER_KIND:
			case XS_DATE_KIND:
			case XS_FINALIZATION_REGISTRY_KIND:
			case XS_MAP_KIND:
			case XS_SET_KIND:
			case XS_WEAK_MAP_KIND:
			case XS_WEAK_SET_KIND:
				property->flag |= XS_DONT_SET_FLAG;
				break;
			default:
				break;
			}
		}
	}
}

/** Whether an instance is a scope, whose variables have aliases while the scope itself needs none. */
static bool is_scope(const txSlot* instance)
{
	txSlot* internal = internal_of(instance);
	return internal && internal->ID == XS_ENVIRONMENT_BEHAVIOR && (instance->flag & XS_EXOTIC_FLAG);
}

/**
 * Whether an instance is in ROM without an alias: the kinds of the SDK, and instances with private fields, since the first write to such
 * a field would corrupt the heap.
 */
static bool is_rom_kind(const txSlot* instance)
{
	const txSlot* internal = internal_of(instance);
	if (internal && !is_array(internal))
		return true;
	for (const txSlot* property = instance->next; property; property = property->next) {
		if (property->kind == XS_PRIVATE_KIND)
			return true;
	}
	return false;
}

/** Excludes internal lists of the engine, such as the module list, which have no prototype and still grow. */
static bool is_builtin(txMachine* the, const txSlot* instance)
{
	return instance->value.instance.prototype || instance == mxObjectPrototype.value.reference;
}

/** @param context not NULL if the heap contains only built-ins */
static void freeze(txMachine* the, txSlot* slot, void* context)
{
	if (slot->kind == XS_INSTANCE_KIND && !is_scope(slot) && (context ? is_builtin(the, slot) : is_rom_kind(slot)))
		freeze_instance(slot);
}

void freeze_builtins(txMachine* root)
{
	fxCollectGarbage(root);
	visit_heap(root, freeze, root);
}

/* Marks memory that the clone's collector must not move. */

static void pin(txSlot* slot)
{
	switch (slot->kind) {
	case XS_STRING_KIND: slot->kind = XS_STRING_X_KIND; break;
	case XS_BIGINT_KIND: slot->kind = XS_BIGINT_X_KIND; break;
	case XS_KEY_KIND: slot->kind = XS_KEY_X_KIND; break;
	case XS_CODE_KIND: slot->kind = XS_CODE_X_KIND; break;
	default: break;
	}
}

static void pin_values(txMachine* the, txSlot* slot, void* context)
{
	(void)the;
	(void)context;
	pin(slot);
	/* Without an alias it cannot be changed. */
	if (slot->kind == XS_INSTANCE_KIND && !is_scope(slot) && is_rom_kind(slot))
		slot->ID = XS_NO_ID;
	if (is_array(slot)) {
		size_t count;
		for (txSlot* item = items_of(slot, &count); count > 0; item++, count--)
			pin(item);
	}
}

void freeze_share(txMachine* root)
{
	fxCollectGarbage(root);
	visit_heap(root, freeze, NULL);
	fxShareMachine(root);
	visit_heap(root, pin_values, NULL);
	for (txSlot* slot = root->stack; slot < root->stackTop; slot++)
		pin(slot);
}
