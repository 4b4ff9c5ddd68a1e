/** JSON Patch (RFC 6902): what changes in a document. Of a patch either all is done or nothing. */

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** Why it cannot be applied, in words. */
export class PatchFailed extends Error {}

type Holder = Record<string, unknown>;

/** The document as it is afterwards; the one given stays as it is. One operation, or an array. */
export function applied(document: unknown, patch: unknown): unknown {
  const operations = Array.isArray(patch) ? patch : [patch];
  const whole: Holder = { "": structuredClone(document) }; // so that the root has a parent too
  for (const each of operations) {
    if (!isObject(each)) throw new PatchFailed("an operation is a JSON object");
    apply(whole, each);
  }
  return whole[""];
}

function apply(whole: Holder, told: Holder): void {
  const path = pathOf(told, "path");
  switch (told["op"]) {
    case "add":
      return add(whole, path, structuredClone(valueOf(told)));
    case "remove":
      return remove(whole, path);
    case "replace":
      get(whole, path);
      return put(whole, path, structuredClone(valueOf(told)));
    case "move": {
      const source = pathOf(told, "from");
      const inside = source.every((part, at) => part === path[at]);
      const stays = inside && source.length === path.length;
      if (inside && !stays) throw new PatchFailed("nothing can be moved into itself");
      const moved = get(whole, source);
      if (!stays) {
        remove(whole, source);
        add(whole, path, moved);
      }
      return;
    }
    case "copy":
      return add(whole, path, structuredClone(get(whole, pathOf(told, "from"))));
    case "test":
      if (!same(get(whole, path), valueOf(told))) {
        throw new PatchFailed(`'${String(told["path"])}' is another value`);
      }
      return;
    default:
      throw new PatchFailed("there is no such operation");
  }
}

function valueOf(told: Holder): unknown {
  if (!Object.hasOwn(told, "value")) throw new PatchFailed("the operation has no 'value'");
  return told["value"];
}

/** A JSON Pointer (RFC 6901), from the root's parent on. */
function pathOf(told: Holder, field: string): string[] {
  const raw = Object.hasOwn(told, field) ? told[field] : undefined;
  if (typeof raw !== "string" || (raw !== "" && !raw.startsWith("/")) || /~(?![01])/.test(raw)) {
    throw new PatchFailed(`'${field}' is no JSON Pointer`);
  }
  return raw.split("/").map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function get(whole: unknown, path: readonly string[]): unknown {
  let found = whole;
  for (const part of path) {
    if (Array.isArray(found)) found = found[indexOf(part, found.length - 1)];
    else if (isObject(found) && Object.hasOwn(found, part)) found = found[part];
    else throw new PatchFailed(`there is no '${path.join("/")}'`);
  }
  return found;
}

function indexOf(part: string, most: number): number {
  if (!/^(0|[1-9][0-9]{0,9})$/.test(part) || Number(part) > most) {
    throw new PatchFailed(`there is no place '${part.slice(0, 20)}' in the array`);
  }
  return Number(part);
}

/** What holds it, and under which name. */
function parentOf(whole: Holder, path: readonly string[]): [unknown, string] {
  return [get(whole, path.slice(0, -1)), path.at(-1)!];
}

function add(whole: Holder, path: readonly string[], value: unknown): void {
  const [parent, last] = parentOf(whole, path);
  if (Array.isArray(parent)) {
    const at = last === "-" ? parent.length : indexOf(last, parent.length);
    parent.splice(at, 0, value);
  } else if (isObject(parent)) {
    set(parent, last, value);
  } else {
    throw new PatchFailed(`there is nothing around '${path.join("/")}'`);
  }
}

/** Also for a member that is called `__proto__`: it is one like any other. */
function set(parent: Holder, name: string, value: unknown): void {
  Object.defineProperty(parent, name, {
    value,
    writable: true,
    enumerable: true,
    configurable: true,
  });
}

function put(whole: Holder, path: readonly string[], value: unknown): void {
  const [parent, last] = parentOf(whole, path);
  if (Array.isArray(parent)) parent[Number(last)] = value;
  else set(parent as Holder, last, value);
}

function remove(whole: Holder, path: readonly string[]): void {
  get(whole, path);
  const [parent, last] = parentOf(whole, path);
  if (path.length === 1) whole[""] = null;
  else if (Array.isArray(parent)) parent.splice(Number(last), 1);
  else delete (parent as Holder)[last];
}

/** Equal as RFC 6902 has it. */
function same(one: unknown, other: unknown): boolean {
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((each, at) => same(each, other[at]));
  }
  if (isObject(one) && isObject(other)) {
    const names = Object.keys(one);
    return (
      names.length === Object.keys(other).length &&
      names.every((name) => Object.hasOwn(other, name) && same(one[name], other[name]))
    );
  }
  return one === other;
}

export function isObject(value: unknown): value is Holder {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
