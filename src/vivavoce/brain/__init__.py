"""Language models behind one port: any chat endpoint, a local GGUF file, a script."""
