/*
 * The program: every module's JavaScript and source map, packed by hosts/virtual/node/build.ts. Names are resolved as by Moddable:
 * relative ones against the importer's name, ".js" dropped, all others unchanged. XS gets TypeScript files and lines from the map.
 */
#include "machine.h"

/*
 * "XSPROGR1", u32 count of modules, then for each: u32 lengths of name, source and map, and those three texts. Integers
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

/** Cuts `length` bytes off the front of the rest of the program. */
static const char* take(struct stream* rest, size_t length)
{
	if ((size_t)(rest->end - rest->next) < length)
		bad_program("is cut short");
	const char* bytes = rest->next;
	rest->next += length;
	return bytes;
}

static uint32_t take_u32(struct stream* rest)
{
	uint32_t value;
	memcpy(&value, take(rest, sizeof(value)), sizeof(value));
	return value;
}

void modules_open(const void* program, size_t length)
{
	struct stream rest = { program, (const char*)program + length };
	if (memcmp(take(&rest, 8), MAGIC, 8) != 0)
		bad_program("has another format");
	module_count = take_u32(&rest);
	if (module_count == 0 || module_count > length / 12)
		bad_program("has no modules");
	modules = calloc(module_count, sizeof(struct module));
	if (!modules)
		abort();
	for (size_t i = 0; i < module_count; i++) {
		struct module* module = &modules[i];
		size_t name_length = take_u32(&rest);
		module->source.length = take_u32(&rest);
		module->map.length = take_u32(&rest);
		module->name = strndup(take(&rest, name_length), name_length);
		module->source.bytes = take(&rest, module->source.length);
		module->map.bytes = take(&rest, module->map.length);
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

/** The text of a module; false if there is none of that name. */
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

/** Writes `specifier`, seen from module `importer`, as a module's name into `name`; false if it leaves the root. */
static bool resolve(const char* importer, const char* specifier, char* name, size_t size)
{
	size_t length = 0;
	const char* rest = specifier;
	if (strncmp(rest, "./", 2) == 0 || strncmp(rest, "../", 3) == 0) {
		const char* slash = strrchr(importer, '/');
		length = slash ? (size_t)(slash - importer) : 0;
		for (;;) {
			if (strncmp(rest, "./", 2) == 0)
				rest += 2;
			else if (strncmp(rest, "../", 3) == 0) {
				if (length == 0)
					return false;
				while (length > 0 && importer[--length] != '/')
					;
				rest += 3;
			}
			else
				break;
		}
	}
	int written = snprintf(name, size, "%.*s%s%s", (int)length, importer, length > 0 ? "/" : "", rest);
	if (written < 0 || (size_t)written >= size)
		return false;
	char* dot = strrchr(name, '.');
	if (dot && strcmp(dot, ".js") == 0)
		*dot = 0;
	return true;
}

txID fxFindModule(txMachine* the, txSlot* realm, txID moduleID, txSlot* slot)
{
	char specifier[256], name[512];
	struct text source, map;
	const char* importer = moduleID == XS_NO_ID ? "" : fxGetKeyName(the, moduleID);
	(void)realm;
	fxToStringBuffer(the, slot, specifier, sizeof(specifier));
	if (!resolve(importer, specifier, name, sizeof(name)) || !find_text(name, &source, &map)) {
		if (machine_is_loading())
			report_end(the, REASON_BAD_PROGRAM, "module %s imports %s, which is not in the program",
				*importer ? importer : "(host)", specifier);
		return XS_NO_ID;
	}
	return fxNewNameC(the, name);
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
		report_end(the, REASON_BAD_PROGRAM, "module %s, line %d: %s", name, (int)parser->line,
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
