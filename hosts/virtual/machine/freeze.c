/*
 * What preloading into ROM does to a heap, by the SDK's rules (documentation/xs/preload.md, XS linker warnings.md):
 * built-ins and functions are frozen; instances of Map, ArrayBuffer, Error and their like cannot change; plain
 * objects, arrays, instances of classes and module variables can, through an alias in RAM. Firmware that breaks a
 * rule must fail here, not first on a board.
 *
 * XS 13.3 has a pass of its own (fxShare), but it numbers aliases from 0, which means "none", and leaves values
 * whose memory the clone's collector would try to move. So this one runs after it and does both again.
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

/** The items of an array; how many there are goes to `count`. */
static txSlot* items_of(const txSlot* array, size_t* count)
{
	txSlot* items = array->value.array.address;
	*count = items ? (size_t)((txChunk*)((txByte*)items - sizeof(txChunk)))->size / sizeof(txSlot) : 0;
	return items;
}

/* The built-ins: all instances there are before the first module is loaded. */

static void note_instance(txMachine* the, txSlot* slot, void* context)
{
	struct builtins* builtins = context;
	(void)the;
	if (slot->kind != XS_INSTANCE_KIND)
		return;
	if (builtins->instances)
		builtins->instances[builtins->count] = slot;
	builtins->count++;
}

static int compare_pointers(const void* a, const void* b)
{
	uintptr_t left = (uintptr_t)*(txSlot* const*)a, right = (uintptr_t)*(txSlot* const*)b;
	return left < right ? -1 : left > right;
}

void freeze_note_builtins(txMachine* root, struct builtins* builtins)
{
	*builtins = (struct builtins){ NULL, 0 };
	visit_heap(root, note_instance, builtins);
	builtins->instances = calloc(builtins->count, sizeof(txSlot*));
	if (!builtins->instances)
		abort();
	builtins->count = 0;
	visit_heap(root, note_instance, builtins);
	qsort(builtins->instances, builtins->count, sizeof(txSlot*), compare_pointers);
}

static bool is_builtin(const struct builtins* builtins, const txSlot* instance)
{
	return bsearch(&instance, builtins->instances, builtins->count, sizeof(txSlot*), compare_pointers) != NULL;
}

/* What cannot live in ROM. */

static void find_refused(txMachine* the, txSlot* slot, void* context)
{
	const char** refused = context;
	if (slot->kind != XS_INSTANCE_KIND)
		return;
	txSlot* internal = internal_of(slot);
	if (!internal)
		return;
	if (internal->kind == XS_REGEXP_KIND && slot != mxRegExpPrototype.value.reference)
		*refused = "a regular expression";
	else if (internal->kind == XS_STACK_KIND && internal->value.array.address)
		*refused = "a generator or an async function that has not ended";
}

const char* freeze_refusal(txMachine* root)
{
	const char* refused = NULL;
	txMachine* the = root;
	if (mxPendingJobs.value.reference->next)
		refused = "a promise whose jobs have not run";
	visit_heap(root, find_refused, &refused);
	return refused;
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
		/* Private fields need nothing: XS writes to none that is in a shared heap. */
		if (property->kind == XS_PRIVATE_KIND)
			continue;
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
			/* Their methods look at this flag before they write. */
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

/** A scope: its variables have aliases, it needs none itself. */
static bool is_scope(const txSlot* instance)
{
	txSlot* internal = internal_of(instance);
	return internal && internal->ID == XS_ENVIRONMENT_BEHAVIOR && (instance->flag & XS_EXOTIC_FLAG);
}

/** Whether the SDK keeps instances of this kind in ROM without an alias. */
static bool is_rom_kind(const txSlot* instance)
{
	txSlot* internal = internal_of(instance);
	return internal && !is_array(internal) && internal->kind != XS_PRIVATE_KIND && !is_scope(instance);
}

static void freeze_if_rom(txMachine* the, txSlot* slot, void* context)
{
	(void)the;
	if (slot->kind == XS_INSTANCE_KIND && !is_scope(slot) && (is_rom_kind(slot) || is_builtin(context, slot)))
		freeze_instance(slot);
}

/* Aliases. */

static bool is_frozen_property(const txSlot* property)
{
	return (property->kind == XS_ACCESSOR_KIND || (property->flag & XS_DONT_SET_FLAG)) &&
		(property->flag & XS_DONT_DELETE_FLAG);
}

static bool is_frozen(const txSlot* instance)
{
	if (!(instance->flag & XS_DONT_PATCH_FLAG))
		return false;
	for (const txSlot* property = instance->next; property; property = property->next) {
		if (property->kind == XS_PRIVATE_KIND)
			return false;
		if (is_array(property)) {
			size_t count;
			for (const txSlot* item = items_of(property, &count); count > 0; item++, count--) {
				if (!is_frozen_property(item))
					return false;
			}
		}
		else if (!is_frozen_property(property))
			return false;
	}
	return true;
}

/** The variable that a slot refers to; NULL if it refers to none. */
static txSlot* variable_of(const txSlot* slot)
{
	if (slot->kind == XS_CLOSURE_KIND)
		return slot->value.closure;
	if (slot->kind == XS_EXPORT_KIND)
		return slot->value.export.closure;
	return NULL;
}

static void forget_alias(txMachine* the, txSlot* slot, void* context)
{
	txSlot* variable = variable_of(slot);
	(void)the;
	(void)context;
	if (variable)
		variable->ID = XS_NO_ID;
	else if (slot->kind == XS_INSTANCE_KIND)
		slot->ID = XS_NO_ID;
}

static void number_alias(txMachine* the, txSlot* slot, void* context)
{
	const struct builtins* builtins = context;
	txSlot* variable = variable_of(slot);
	if (variable) {
		if (!(variable->flag & XS_DONT_SET_FLAG) && variable->ID == XS_NO_ID)
			variable->ID = the->aliasCount++;
	}
	else if (slot->kind == XS_INSTANCE_KIND && !is_scope(slot) && !is_rom_kind(slot) && !is_builtin(builtins, slot) &&
			!is_frozen(slot))
		slot->ID = the->aliasCount++;
}

/* Memory that the clone's collector must leave alone. */

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
	if (is_array(slot)) {
		size_t count;
		for (txSlot* item = items_of(slot, &count); count > 0; item++, count--)
			pin(item);
	}
}

/** XS 13.3 does not check the flag here, unlike in all of Date's other methods. */
void native_date_set_time(txMachine* the)
{
	txSlot* internal = mxThis->kind == XS_REFERENCE_KIND ? mxThis->value.reference->next : NULL;
	if (internal && internal->kind == XS_DATE_KIND && (internal->flag & XS_DONT_SET_FLAG))
		mxTypeError("Date instance is read-only");
	fx_Date_prototype_setTime(the);
}

void freeze_share(txMachine* root, const struct builtins* builtins)
{
	fxShareMachine(root);
	visit_heap(root, freeze_if_rom, (void*)(uintptr_t)builtins);
	visit_heap(root, forget_alias, NULL);
	root->aliasCount = 1;
	visit_heap(root, number_alias, (void*)(uintptr_t)builtins);
	visit_heap(root, pin_values, NULL);
	for (txSlot* slot = root->stack; slot < root->stackTop; slot++)
		pin(slot);
}

static void wake_if_private(txMachine* the, txSlot* slot, void* context)
{
	(void)the;
	if (slot->kind != XS_INSTANCE_KIND || slot->ID == XS_NO_ID)
		return;
	for (txSlot* property = slot->next; property; property = property->next) {
		if (property->kind == XS_PRIVATE_KIND) {
			fxAliasInstance(context, slot);
			return;
		}
	}
}

void freeze_wake(txMachine* the, txMachine* root)
{
	visit_heap(root, wake_if_private, the);
}
