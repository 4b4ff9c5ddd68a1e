"""A language model on this machine: a GGUF file, run by llama.cpp in a child process."""
