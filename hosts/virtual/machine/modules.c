/*
 * The program: one file with every module's JavaScript and source map, written by hosts/virtual/node/build.ts. Names are resolved
 * as by Moddable: relative ones against the importer's name, ".js" dropped, all others unchanged. XS gets TypeScript files and
 * lines from the map.
 */
#include "machine.h"
#include <fcntl.h>
#include <sys/mman.h>

/*
 * The file: "XSPROGR1", u32 count of modules, then for each: u32 lengths of name, source and map, and those three
 * texts. Integers little-endian. The first module is main.
 */
#define MAGIC "XSPROGR1"

struct text { const char* bytes; size_t length; };
struct module { char* name; struct text source; struct text map; };
struct stream { const char* next; const char* end; };

static struct module* modules = NULL;
static size_t module_count = 0;
static char* config_source = NULL;
static const char* program = NULL;
static size_t program_length = 0;

/* Functions in C, in XS's own syntax, compiled like any other module. */
#define NATIVES_NAME "virtual/natives"

static const struct { const char* name; const char* parameters; txCallback callback; } natives[] = {
	{ "open", "header, onFrame", native_open },
	{ "post", "channel, header, buffer, offset, length", native_post },
	{ "call", "channel, header, buffer, offset, length", native_call },
	{ "close", "channel", native_close },
	{ "copyBytes", "target, targetOffset, source, sourceOffset, length", native_copy_bytes },
	{ "latin1", "buffer, offset, length", native_latin1 },
	{ "setTimer", "callback, interval, repeat", native_timer_set },
	{ "scheduleTimer", "timer, interval, repeat", native_timer_schedule },
	{ "clearTimer", "timer", native_timer_clear },
	{ "delay", "milliseconds", native_delay },
	{ "ticks", "", native_ticks },
	{ "microseconds", "", native_microseconds },
	{ "uptime", "", native_uptime },
	{ "setWallClock", "seconds", native_set_wall_clock },
	{ "heap", "", native_heap },
	{ "exit", "reason", native_exit },
};
#define NATIVE_COUNT (sizeof(natives) / sizeof(natives[0]))

static char natives_source[4096];

static NO_RETURN void bad_program(const char* path, const char* why)
{
	report_end(NULL, REASON_BAD_PROGRAM, NULL, "%s: %s", path, why);
}

static uint32_t read_u32(const char* bytes)
{
	const uint8_t* b = (const uint8_t*)bytes;
	return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/** Maps the file instead of reading it: its pages are shared by all devices, and unmapped once loaded. */
static const char* map_file(const char* path, size_t* length)
{
	struct stat status;
	int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	if (descriptor < 0 || fstat(descriptor, &status) != 0)
		bad_program(path, strerror(errno));
	if (status.st_size == 0)
		bad_program(path, "is empty");
	*length = (size_t)status.st_size;
	void* bytes = mmap(NULL, *length, PROT_READ, MAP_PRIVATE, descriptor, 0);
	if (bytes == MAP_FAILED)
		bad_program(path, strerror(errno));
	close(descriptor);
	return bytes;
}

/** Cuts `length` bytes off the front of the rest of the program. */
static const char* take(const char* path, struct stream* rest, size_t length)
{
	if ((size_t)(rest->end - rest->next) < length)
		bad_program(path, "is cut short");
	const char* bytes = rest->next;
	rest->next += length;
	return bytes;
}

void modules_open(const char* path)
{
	program = map_file(path, &program_length);
	struct stream rest = { program, program + program_length };
	if (memcmp(take(path, &rest, 8), MAGIC, 8) != 0)
		bad_program(path, "is no program");
	module_count = read_u32(take(path, &rest, 4));
	if (module_count == 0 || module_count > program_length / 12)
		bad_program(path, "has no modules");
	modules = calloc(module_count, sizeof(struct module));
	if (!modules)
		abort();
	for (size_t i = 0; i < module_count; i++) {
		const char* lengths = take(path, &rest, 12);
		size_t name_length = read_u32(lengths);
		struct module* module = &modules[i];
		module->source.length = read_u32(lengths + 4);
		module->map.length = read_u32(lengths + 8);
		module->name = strndup(take(path, &rest, name_length), name_length);
		module->source.bytes = take(path, &rest, module->source.length);
		module->map.bytes = take(path, &rest, module->map.length);
	}
}

void modules_close(void)
{
	for (size_t i = 0; i < module_count; i++)
		modules[i].source = modules[i].map = (struct text){ NULL, 0 };
	munmap((void*)(uintptr_t)program, program_length);
}

size_t modules_count(void)
{
	return module_count;
}

const char* modules_name(size_t index)
{
	return modules[index].name;
}

void modules_set_config(const char* json)
{
	static const char format[] = "export default Object.freeze(%s, true);";
	size_t size = sizeof(format) + strlen(json);
	config_source = malloc(size);
	if (!config_source)
		abort();
	snprintf(config_source, size, format, json);
}

/** The text of a module; false if there is none of that name. */
static bool find_text(const char* name, struct text* source, struct text* map)
{
	*map = (struct text){ NULL, 0 };
	if (strcmp(name, "mc/config") == 0 && config_source) {
		*source = (struct text){ config_source, strlen(config_source) };
		return true;
	}
	if (strcmp(name, NATIVES_NAME) == 0) {
		*source = (struct text){ natives_source, strlen(natives_source) };
		return true;
	}
	for (size_t i = 0; i < module_count; i++) {
		if (strcmp(modules[i].name, name) == 0) {
			*source = modules[i].source;
			*map = modules[i].map;
			return true;
		}
	}
	return false;
}

static void write_natives_source(void)
{
	size_t length = 0;
	for (size_t i = 0; i < NATIVE_COUNT; i++)
		length += (size_t)snprintf(natives_source + length, sizeof(natives_source) - length,
			"export function %s(%s) @ \"%s\";\n", natives[i].name, natives[i].parameters, natives[i].name);
}

/** Called by XS with the module of the natives: returns their functions, in the order of its text. */
static void build_natives(txMachine* the)
{
	txHostFunctionBuilder builders[NATIVE_COUNT];
	for (size_t i = 0; i < NATIVE_COUNT; i++) {
		builders[i].callback = natives[i].callback;
		builders[i].length = 0;
		builders[i].id = fxID(the, (txString)(uintptr_t)natives[i].name);
	}
	fxBuildHosts(the, NATIVE_COUNT, builders);
	mxPullSlot(mxResult);
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
			report_end(the, REASON_BAD_PROGRAM, NULL, "module %s imports %s, which is not in the program",
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

static txScript* parse(txMachine* the, const char* name, const struct text* source, const struct text* map,
	txUnsigned flags)
{
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
		report_end(the, REASON_BAD_PROGRAM, NULL, "module %s, line %d: %s", name, (int)parser->line,
			parser->errorMessage ? parser->errorMessage : "syntax error");
	fxTerminateParser(parser);
	return script;
}

void fxLoadModule(txMachine* the, txSlot* module, txID moduleID)
{
	const char* name = fxGetKeyName(the, moduleID);
	struct text source, map;
	txUnsigned flags = mxStrictFlag | mxDebugFlag;
	bool is_natives = strcmp(name, NATIVES_NAME) == 0;
	if (is_natives) {
		write_natives_source();
		flags |= mxCFlag;
	}
	if (!find_text(name, &source, &map))
		return;
	txScript* script = parse(the, name, &source, &map, flags);
	if (!script)
		return;
	if (is_natives)
		script->callback = build_natives;
	fxResolveModule(the, module, moduleID, script, NULL, NULL);
}
