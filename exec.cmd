@rem For npm on Windows: cmd.exe, which runs package.json's scripts there, has no `exec` as sh has. Each of
@rem ours begins with it, so that npm's signals reach Node and not a shell that ends alone and leaves Node behind.
@rem The goto without a label ends this batch file but not its line: Ctrl-C then asks nothing (npm's own shims do the same).
@goto #_undefined_# 2>NUL || title %COMSPEC% & %*
