/*
 * Program: JavaScript and source map of each module, packed by hosts/virtual/node/build.ts. The maps provide TypeScript files and lines.
 */
#include "machine.h"

/*
 * Format: "XSPROGR1", u32 number of modules; per module: u32 lengths of name, source and map, followed by these texts. Integers are
 * little-endian. The first module is main.
 */
#define MAGIC "XSPROGR1"

struct text { const char* bytes; size_t length; };
struct module { char* name; struct text source; struct text map; };
struct stream { const char* next; const char* end; };

static struct module* modules = NULL;
static size_t module_count = 0;

static NO_RETURN void bad_program(const char* why)
{
	report_end(NULL, REASON_BAD_PROGRAM, "the program %s", why);
}

/** Consumes `length` bytes. */
static const char* read_bytes(struct stream* rest, size_t length)
{
	if ((size_t)(rest->end - rest->next) < length)
		bad_program("is truncated");
	const char* bytes = rest->next;
	rest->next += length;
	return bytes;
}

static uint32_t read_u32(struct stream* rest)
{
	uint32_t value;
	memcpy(&value, read_bytes(rest, sizeof(value)), sizeof(value));
	return value;
}

void modules_open(const void* program, size_t length)
{
	struct stream rest = { program, (const char*)program + length };
	if (memcmp(read_bytes(&rest, 8), MAGIC, 8) != 0)
		bad_program("has an unknown format");
	module_count = read_u32(&rest);
	if (module_count == 0 || module_count > length / 12)
		bad_program("has no modules");
	modules = calloc(module_count, sizeof(struct module));
	if (!modules)
		abort();
	for (size_t i = 0; i < module_count; i++) {
		struct module* module = &modules[i];
		size_t name_length = read_u32(&rest);
		module->source.length = read_u32(&rest);
		module->map.length = read_u32(&rest);
		module->name = strndup(read_bytes(&rest, name_length), name_length);
		module->source.bytes = read_bytes(&rest, module->source.length);
		module->map.bytes = read_bytes(&rest, module->map.length);
	}
}

void modules_close(void)
{
	for (size_t i = 0; i < module_count; i++)
		modules[i].source = modules[i].map = (struct text){ NULL, 0 };
}

size_t modules_count(void)
{
	return module_count;
}

const char* modules_name(size_t index)
{
	return modules[index].name;
}

/** Finds source and map of a module. Returns false if there is no such module. */
static bool find_text(const char* name, struct text* source, struct text* map)
{
	for (size_t i = 0; i < module_count; i++) {
		if (strcmp(modules[i].name, name) == 0) {
			*source = modules[i].source;
			*map = modules[i].map;
			return true;
		}
	}
	return false;
}

txID fxFindModule(txMachine* the, txSlot* realm, txID moduleID, txSlot* slot)
{
	char name[256];
	struct text source, map;
	(void)realm;
	fxToStringBuffer(the, slot, name, sizeof(name));
	if (find_text(name, &source, &map))
		return fxNewNameC(the, name);
	if (machine_is_loading())
		report_end(the, REASON_BAD_PROGRAM, "module %s imports %s, which is not in the program",
			moduleID == XS_NO_ID ? "(host)" : fxGetKeyName(the, moduleID), name);
	return XS_NO_ID;
}

static int next_character(void* it)
{
	struct stream* stream = it;
	return stream->next < stream->end ? (unsigned char)*stream->next++ : EOF;
}

static txScript* parse(txMachine* the, const char* name, const struct text* source, const struct text* map)
{
	static const txUnsigned flags = mxStrictFlag | mxDebugFlag;
	txParser parser_storage;
	txParser* parser = &parser_storage;
	txParserJump jump;
	txScript* volatile script = NULL; /* outlives the parser's longjmp */
	txString map_name = NULL;
	struct stream text = { source->bytes, source->bytes + source->length };
	fxInitializeParser(parser, the, the->parserBufferSize, the->parserTableModulo);
	parser->firstJump = &jump;
	if (c_setjmp(jump.jmp_buf) == 0) {
		parser->path = fxNewParserSymbol(parser, (txString)(uintptr_t)name);
		fxParserTree(parser, &text, next_character, flags, &map_name);
		if (map->length > 0) {
			struct stream map_text = { map->bytes, map->bytes + map->length };
			fxParserSourceMap(parser, &map_text, next_character, flags, &map_name);
			if (parser->errorCount == 0 && map_name)
				parser->path = fxNewParserSymbol(parser, map_name);
		}
		fxParserHoist(parser);
		fxParserBind(parser);
		script = fxParserCode(parser);
	}
	if (parser->errorCount > 0)
		report_end(the, REASON_BAD_PROGRAM, "module %s, line %d: %s", name, (int)PARSER_LINE(parser),
			parser->errorMessage ? parser->errorMessage : "syntax error");
	fxTerminateParser(parser);
	return script;
}

void fxLoadModule(txMachine* the, txSlot* module, txID moduleID)
{
	const char* name = fxGetKeyName(the, moduleID);
	struct text source, map;
	if (!find_text(name, &source, &map))
		return;
	txScript* script = parse(the, name, &source, &map);
	if (script)
		fxResolveModule(the, module, moduleID, script, NULL, NULL);
}
