import type { Plugin } from "vite";

export function used(): string[];
export function entries(language: string): Map<string, string>;
export function catalogue(): Plugin;
