/*
 * Program, packed by hosts/virtual/node/build.ts: name, source map and JavaScript of each module, separated by NUL. The first module is
 * main. The maps provide TypeScript files and lines.
 */
#include "machine.h"

struct module { char* name; const char* map; const char* source; };

static struct module* modules = NULL;
static size_t module_count = 0;

/** Consumes a text up to its NUL. */
static const char* read_text(const char** next, const char* end)
{
	const char* text = *next;
	if (text > end)
		report_end(NULL, REASON_BAD_PROGRAM, "the program is truncated");
	*next += strlen(text) + 1;
	return text;
}

void modules_open(const void* program, size_t length)
{
	const char* next = program;
	const char* end = next + length;
	do {
		modules = realloc(modules, (module_count + 1) * sizeof(struct module));
		if (!modules)
			abort();
		struct module* module = &modules[module_count++];
		module->name = strdup(read_text(&next, end));
		module->map = read_text(&next, end);
		module->source = read_text(&next, end);
	} while (next < end);
}

void modules_close(void)
{
	for (size_t i = 0; i < module_count; i++)
		modules[i].source = modules[i].map = NULL;
}

size_t modules_count(void)
{
	return module_count;
}

const char* modules_name(size_t index)
{
	return modules[index].name;
}

/** Returns NULL if there is no such module. */
static const struct module* find_module(const char* name)
{
	for (size_t i = 0; i < module_count; i++) {
		if (strcmp(modules[i].name, name) == 0)
			return &modules[i];
	}
	return NULL;
}

txID fxFindModule(txMachine* the, txSlot* realm, txID moduleID, txSlot* slot)
{
	char name[256];
	(void)realm;
	fxToStringBuffer(the, slot, name, sizeof(name));
	if (find_module(name))
		return fxNewNameC(the, name);
	if (machine_is_loading())
		report_end(the, REASON_BAD_PROGRAM, "module %s imports %s, which is not in the program",
			moduleID == XS_NO_ID ? "(host)" : fxGetKeyName(the, moduleID), name);
	return XS_NO_ID;
}

static int next_character(void* it)
{
	const char** next = it;
	return **next ? (unsigned char)*(*next)++ : EOF;
}

static txScript* parse(txMachine* the, const struct module* module)
{
	static const txUnsigned flags = mxStrictFlag | mxDebugFlag;
	txParser parser_storage;
	txParser* parser = &parser_storage;
	txParserJump jump;
	txScript* volatile script = NULL; /* outlives the parser's longjmp */
	txString map_name = NULL;
	const char* source = module->source;
	const char* map = module->map;
	fxInitializeParser(parser, the, the->parserBufferSize, the->parserTableModulo);
	parser->firstJump = &jump;
	if (c_setjmp(jump.jmp_buf) == 0) {
		parser->path = fxNewParserSymbol(parser, (txString)(uintptr_t)module->name);
		fxParserTree(parser, &source, next_character, flags, &map_name);
		if (map[0]) {
			fxParserSourceMap(parser, &map, next_character, flags, &map_name);
			if (parser->errorCount == 0 && map_name)
				parser->path = fxNewParserSymbol(parser, map_name);
		}
		fxParserHoist(parser);
		fxParserBind(parser);
		script = fxParserCode(parser);
	}
	if (parser->errorCount > 0)
		report_end(the, REASON_BAD_PROGRAM, "module %s, line %d: %s", module->name, (int)PARSER_LINE(parser),
			parser->errorMessage ? parser->errorMessage : "syntax error");
	fxTerminateParser(parser);
	return script;
}

void fxLoadModule(txMachine* the, txSlot* module, txID moduleID)
{
	const struct module* found = find_module(fxGetKeyName(the, moduleID));
	txScript* script = found ? parse(the, found) : NULL;
	if (script)
		fxResolveModule(the, module, moduleID, script, NULL, NULL);
}
